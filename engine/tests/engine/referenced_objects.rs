//! Components of type `ref-objects`: the objects of the snapshot take the place of references, and mistakes have their lines.

use serde_json::{Value as Json, json};
use vela_engine::reference::{Reference, Referenced, ReferencedKind};
use vela_engine::render::{Inputs, State};
use vela_engine::{Bounds, Document, Snapshot, Templates, manifest, parse, plan, render, revision};

fn snapshot(bounds: Bounds, found: &[(&str, Referenced)]) -> Snapshot {
    let mut snapshot = Snapshot::default().within(bounds);
    let built_in = vela_definitions::find(vela_definitions::Kind::Component, "ref-objects").unwrap();
    snapshot.insert_definition_object(built_in.manifest("vela-system")).unwrap();
    for (name, found) in found {
        let kind = ReferencedKind::Resource("configmap".to_owned(), None);
        let (namespace, name) = ("default".to_owned(), (*name).to_owned());
        let reference = Reference { kind, namespace, name, labels: Default::default() };
        snapshot.insert_referenced(reference, found.clone());
    }
    snapshot
}

fn app(properties: &str) -> Document {
    let text = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop}}\nspec:\n  components:\n  \
         - name: words\n    type: ref-objects\n    properties: {properties}\n"
    );
    manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone()
}

fn rendered(application: &Document, snapshot: &Snapshot) -> Result<State, String> {
    let made = || {
        let app_file = parse::parse(application, snapshot)?;
        let plan = plan::plan(revision::revision(app_file, None))?;
        render::render(&plan, &Templates::new(), &Inputs::default())
    };
    made().map(|made| made.components()[0].state.clone()).map_err(|errors| errors.to_string())
}

fn words(name: &str) -> Json {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": name},
        "metadata": {"name": name, "namespace": "default", "uid": "u", "resourceVersion": "7"},
    })
}

fn there(name: &str) -> Referenced {
    Referenced::Objects(vec![words(name)])
}

#[test]
fn objects_take_the_place_of_their_references() {
    let application = app("{objects: [{resource: configmap}, {resource: ConfigMap, name: more}]}");
    let found = snapshot(Bounds::SAFE, &[("words", there("words")), ("more", there("more"))]);
    let state = rendered(&application, &found);
    let Ok(State::Ready(objects)) = state else { panic!("{state:?}") };
    let names: Vec<&Json> = objects.iter().map(|object| &object.object["metadata"]["name"]).collect();
    assert_eq!(names, ["words", "more"]);
    for object in &objects {
        let metadata = &object.object["metadata"];
        assert!(metadata["uid"].is_null() && metadata["resourceVersion"].is_null(), "{metadata}");
        assert_eq!(metadata["labels"]["app.oam.dev/component"], "words");
    }
    let asked = parse::referenced(&application, Bounds::SAFE);
    assert_eq!(
        asked.iter().map(|asked| asked.to_string()).collect::<Vec<_>>(),
        ["configmap default/more", "configmap default/words"]
    );
}

#[test]
fn without_a_cluster_the_component_waits() {
    let state = rendered(&app("{objects: [{resource: configmap}]}"), &snapshot(Bounds::SAFE, &[]));
    let Ok(State::Pending(why)) = state else { panic!("{state:?}") };
    assert_eq!(why, ["configmap default/words is known only to a cluster, and none was asked"]);
    let withheld = snapshot(Bounds::SAFE, &[("words", Referenced::Withheld)]);
    let state = rendered(&app("{objects: [{resource: configmap}]}"), &withheld);
    let Ok(State::Pending(why)) = state else { panic!("{state:?}") };
    assert!(why[0].contains("is not read for a preview"), "{why:?}");
}

#[test]
fn mistakes_of_references_have_their_lines() {
    let refused = Referenced::Refused("Node words: not yours".to_owned(), "ask".to_owned());
    for (properties, found, words) in [
        ("{}", None, "app.yaml:8:17: error[missing_field]"),
        ("{objects: []}", None, "refers to no object"),
        ("{objects: [{name: a}]}", None, "names no kind"),
        ("{objects: [{resource: 7}]}", None, "app.yaml:8:39"),
        ("{objects: [{resource: ../x}]}", None, "cannot be part of the name of a kind"),
        ("{objects: [{resource: configmap, name: A_B}]}", None, "is not the name of an object"),
        ("{objects: [{resource: configmap, namespace: A_B}]}", None, "is not the name of a namespace"),
        ("{objects: [{resource: configmap, naem: a}]}", None, "did you mean \"name\""),
        ("{objects: [{resource: configmap, cluster: far}]}", None, "other clusters are not supported yet"),
        ("{objects: [{resource: configmap, name: a, labelSelector: {a: b}}]}", None, "exclude each other"),
        ("{objects: [{resource: configmap, labelSelector: {a: 7}}]}", None, "label \"a\": expected a string"),
        ("{objects: [{resource: configmap, labelSelector: {'a b': c}}]}", None, "label \"a b\""),
        ("{objects: [{resource: configmap, namespace: other}]}", None, "own namespace"),
        ("{urls: [7]}", None, "expected a URL"),
        ("{urls: words}", None, "app.yaml:8:"),
        ("{urls: [words.yaml]}", None, "expected a URL"),
        ("{urls: ['ftp://x/y']}", None, "ftp://x/y: only URLs of http and https"),
        ("{urls: ['https://me:hidden@x/y?hidden']}", None, "https://x/y: a URL with a user or a password"),
        (
            "{urls: ['https://a', 'https://b', 'https://c', 'https://d', 'https://e', 'https://f']}",
            None,
            "6 URLs; the limit of an application is 5",
        ),
        ("{objects: [{resource: configmap}]}", Some(Referenced::UnknownKind), "the cluster has no such kind"),
        ("{objects: [{resource: configmap}]}", Some(Referenced::TooMany), "more than 500 objects"),
        ("{objects: [{resource: configmap}]}", Some(refused), "not yours"),
        ("{objects: [{resource: configmap}]}", Some(Referenced::Objects(Vec::new())), "does not exist"),
    ] {
        let found: Vec<(&str, Referenced)> = found.map(|found| ("words", found)).into_iter().collect();
        let errors = rendered(&app(properties), &snapshot(Bounds::SAFE, &found)).unwrap_err();
        assert!(errors.contains("app.yaml:8:") && errors.contains(words), "{properties}: {errors}");
        assert!(!errors.contains("hidden"), "{errors}");
    }
}

const URL: &str = "https://me.example.com/words.yaml?token=hidden";

fn loaded(answer: &[u8]) -> Snapshot {
    let mut snapshot = snapshot(Bounds::SAFE, &[("words", there("words"))]);
    snapshot.insert_manifests(URL, parse::manifests(URL, answer));
    snapshot
}

#[test]
fn objects_of_urls_stand_beside_referenced_ones() {
    let properties = format!("{{objects: [{{resource: configmap}}], urls: ['{URL}']}}");
    let application = app(&properties);
    assert_eq!(
        parse::manifest_urls(&application).into_iter().collect::<Vec<_>>(),
        [(URL.to_owned(), "words".to_owned())]
    );
    let answer = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a, finalizers: [x/y]}}\n";
    let Ok(State::Ready(objects)) = rendered(&application, &loaded(answer.as_bytes())) else { panic!() };
    let kinds: Vec<&Json> = objects.iter().map(|object| &object.object["kind"]).collect();
    assert_eq!(kinds, ["ConfigMap", "Secret"]);
    let state = rendered(&application, &snapshot(Bounds::SAFE, &[("words", there("words"))]));
    let Ok(State::Pending(why)) = state else { panic!("{state:?}") };
    assert_eq!(why, ["https://me.example.com/words.yaml was not asked"]);
}

#[test]
fn mistakes_of_a_server_name_component_and_url() {
    let many = "{apiVersion: v1, kind: Secret, metadata: {name: a}}\n---\n".repeat(501);
    let large = vec![b' '; (2 << 20) + 1];
    let own = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\n";
    let application = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\n";
    for (answer, words) in [
        (b"<!DOCTYPE html>".as_slice(), "found a web page"),
        (b"\xff\xfe", "bytes that are no text"),
        (b"a: [", "(line 1, column"),
        (b"# nothing", "found no document"),
        (b"words", "document 1 without an apiVersion"),
        (b"kind: Secret\nmetadata: {name: a}", "document 1 without an apiVersion"),
        (
            b"{apiVersion: v1, kind: Secret, metadata: {generateName: a}}",
            "without an apiVersion, a kind or a metadata.name",
        ),
        (application.as_bytes(), "does not load applications (Application shop)"),
        (many.as_bytes(), "501 objects; the limit is 500"),
        (&large, "is larger than 2097152 bytes"),
        (format!("{own}---\n{own}").as_bytes(), "documents 1 and 2 are both ConfigMap words"),
        (own.as_bytes(), "ConfigMap default/words is loaded twice"),
    ] {
        let application = app(&format!("{{objects: [{{resource: configmap}}], urls: ['{URL}']}}"));
        let errors = rendered(&application, &loaded(answer)).unwrap_err();
        assert!(errors.contains("app.yaml:8:") && errors.contains(words), "{words}: {errors}");
        let is_of_both = errors.contains("loaded twice");
        let shown = "component \"words\": https://me.example.com/words.yaml: ";
        assert!(is_of_both || errors.contains(shown) && errors.contains("properties.urls[0]"), "{errors}");
        assert!(!errors.contains("hidden"), "{errors}");
    }
}

#[test]
fn an_override_policy_may_refer_to_another_object() {
    let mut application = app("{objects: [{resource: configmap}]}").value().clone();
    application["spec"]["policies"] = json!([{"name": "other", "type": "override", "properties": {
        "components": [{"name": "words", "properties": {"objects": [{"resource": "configmap", "name": "other"}]}}]}}]);
    let application = Document::from_object(application);
    let asked = parse::referenced(&application, Bounds::SAFE);
    assert!(asked.iter().any(|asked| asked.name == "other"), "{asked:?}");
    let found = snapshot(Bounds::SAFE, &[("words", there("words")), ("other", there("other"))]);
    let state = rendered(&application, &found);
    let Ok(State::Ready(objects)) = state else { panic!("{state:?}") };
    assert_eq!(objects[0].object["metadata"]["name"], "other");
}

#[test]
fn a_rollout_plan_does_not_go_with_references() {
    let mut application = app("{objects: [{resource: configmap}]}").value().clone();
    application["spec"]["rolloutPlan"] = json!({"rolloutBatches": [{"replicas": 1}]});
    let errors =
        rendered(&Document::from_object(application), &snapshot(Bounds::SAFE, &[("words", there("words"))]));
    assert!(errors.unwrap_err().contains("are not supported beside spec.rolloutPlan"));
}
