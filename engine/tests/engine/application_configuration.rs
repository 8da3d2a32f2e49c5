//! v1alpha2 from objects to objects: parameters, names, labels, references, scopes, revisions, garbage.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use vela_engine::application_configuration::{self as ac, graph, revision};
use vela_engine::snapshot::Resource;
use vela_engine::{Document, ObjectKey, Snapshot, Templates, manifest, parse, plan, render};
use vela_testkit::cases;

fn resource(plural: &str) -> Resource {
    Resource { plural: plural.to_owned(), namespaced: true }
}

fn v1alpha2_snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    let version = "core.oam.dev/v1alpha2";
    for (kind, plural) in [
        ("ContainerizedWorkload", "containerizedworkloads"),
        ("ManualScalerTrait", "manualscalertraits"),
        ("HealthScope", "healthscopes"),
    ] {
        snapshot.insert_resource(version, kind, resource(plural));
    }
    for (kind, name, spec) in [
        (
            "TraitDefinition",
            "manualscalertraits.core.oam.dev",
            json!({"workloadRefPath": "spec.workloadRef"}),
        ),
        ("ScopeDefinition", "healthscopes.core.oam.dev", json!({"workloadRefsPath": "spec.workloadRefs"})),
    ] {
        let definition =
            json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec});
        snapshot.insert_definition_object(definition).unwrap();
    }
    snapshot
}

/// Puts an object in the namespace and cuts the component's first revision, as the API server and core do.
fn store(snapshot: &mut Snapshot, mut object: Json, namespace: &str) {
    object["metadata"]["namespace"] = json!(namespace);
    object["metadata"]["generation"] = json!(1);
    object["metadata"]["uid"] = json!("uid");
    if object["kind"] == "Component" {
        let cut = revision::revision(&object, None).unwrap();
        object["status"] = cut.status;
    }
    snapshot.insert_object(object);
}

#[test]
fn the_containerized_example_gives_the_real_objects() {
    let folder = cases::folder("examples/first/containerized");
    let read =
        |file: &str| manifest::read(file, &std::fs::read_to_string(folder.join(file)).unwrap()).unwrap();
    let mut snapshot = v1alpha2_snapshot();
    for document in read("objects.yaml") {
        store(&mut snapshot, document.into_value(), "containerized");
    }
    let key = ObjectKey::local(ac::API_VERSION, ac::KIND, "containerized", "example-appconfig");
    let configuration = Document::from_object(snapshot.object(&key).unwrap().clone());
    let asked = ac::references(&configuration, &snapshot);
    assert_eq!(asked.kinds, BTreeSet::new());
    let parsed = ac::parse(&configuration, &snapshot).unwrap();
    let graph = ac::graph(ac::render(&parsed, &snapshot).unwrap()).unwrap();
    let expected = read("expected/objects.yaml");
    let expected =
        |kind: &str| expected.iter().find(|document| document.kind() == kind).unwrap().value().clone();
    for object in graph.objects().map(|object| &object.object) {
        let expected = expected(object["kind"].as_str().unwrap());
        assert_eq!(object["spec"], expected["spec"]);
        assert_eq!(object["metadata"]["labels"], expected["metadata"]["labels"]);
        assert_eq!(object["metadata"]["name"], expected["metadata"]["name"]);
        assert_eq!(object["metadata"]["annotations"]["app.oam.dev/generation"], "1");
        assert_eq!(object["metadata"]["ownerReferences"][0]["kind"], "ApplicationConfiguration");
    }
    let memberships = graph.memberships();
    let scope = snapshot.object(&memberships[0].scope).unwrap();
    let scope = graph::add_member(scope, &memberships[0]).unwrap().unwrap();
    assert_eq!(scope["spec"], expected("HealthScope")["spec"]);
    assert_eq!(graph::add_member(&scope, &memberships[0]).unwrap(), None);
    let status = ac::status::status(&complete(&graph, None), "2026-11-21T02:18:17Z");
    assert_eq!(status, expected("ApplicationConfiguration")["status"]);
}

/// A reconcile that left nothing behind.
fn complete<'a>(graph: &'a ac::Graph, previous: Option<&'a Json>) -> ac::status::Complete<'a> {
    ac::status::Complete { graph, left: &[], refused: None, history: Vec::new(), previous }
}

fn component(name: &str, workload: Json, parameters: Json) -> Json {
    json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "Component", "metadata": {"name": name},
           "spec": {"workload": workload, "parameters": parameters}})
}

fn configuration(components: Json) -> Document {
    Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "ApplicationConfiguration",
        "metadata": {"name": "conf", "namespace": "ns", "labels": {"team": "a"}},
        "spec": {"components": components},
    }))
}

#[test]
fn all_mistakes_are_told_together() {
    let mut snapshot = v1alpha2_snapshot();
    let workload = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}});
    let parameters = json!([
        {"name": "image", "required": true, "fieldPaths": ["spec.image"]},
        {"name": "odd", "fieldPaths": ["spec.replicas.x"]},
    ]);
    store(&mut snapshot, component("web", workload, parameters), "ns");
    let configuration = configuration(json!([
        {"componentName": "web", "parameterValues": [{"name": "imgae", "value": "x"}, {"name": "odd", "value": 1}],
         "scopes": [{"scopeRef": {"apiVersion": "core.oam.dev/v1alpha2", "kind": "HealthScope", "name": "none"}}],
         "dataOutputs": [{"name": 3}]},
        {"componentName": "missing"},
    ]));
    let errors = ac::parse(&configuration, &snapshot).unwrap_err().to_string();
    for part in [
        "unsupported parameter \"imgae\"",
        "did you mean \"image\"?",
        "required parameter \"image\" not specified",
        "parameter \"odd\" cannot be written: spec.replicas: expected an object, found a number",
        "cannot get scope HealthScope \"none\": not found in namespace \"ns\"",
        "expected a string, found a number\n  field: spec.components[0].dataOutputs[0].name",
        "cannot get component \"missing\": Component.core.oam.dev \"missing\" not found",
    ] {
        assert!(errors.contains(part), "{part} is not in:\n{errors}");
    }
}

#[test]
fn names_follow_revisions_only_when_a_trait_asks() {
    let mut snapshot = v1alpha2_snapshot();
    let workload =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": {"team": "b"}}});
    store(&mut snapshot, component("web", workload, json!([])), "ns");
    let entry = json!({"componentName": "web", "traits": [
        {"trait": {"apiVersion": "x/v1", "kind": "Odd"}},
        {"trait": {"apiVersion": "x/v1", "kind": "Versions", "metadata": {"name": "given"}}},
    ]});
    let configuration = configuration(json!([entry]));
    let render =
        |snapshot: &Snapshot| ac::render(&ac::parse(&configuration, snapshot).unwrap(), snapshot).unwrap();
    let rendered = render(&snapshot);
    let web = &rendered.components()[0];
    assert_eq!(web.workload.object["metadata"]["name"], "web");
    assert_eq!(web.workload.object["metadata"]["labels"]["team"], "a", "the configuration's label wins");
    let name = web.traits[0].object["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("web-trait-"), "{name}");
    assert_eq!(web.traits[1].object["metadata"]["name"], "given");
    assert!(!web.traits[0].defined, "it has no definition");

    snapshot.insert_resource("x/v1", "Versions", resource("versions"));
    snapshot
        .insert_definition_object(json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition",
            "metadata": {"name": "versions.x"}, "spec": {"revisionEnabled": true}}))
        .unwrap();
    assert_eq!(render(&snapshot).components()[0].workload.object["metadata"]["name"], "web-v1");
}

#[test]
fn unwanted_objects_of_the_status_are_garbage() {
    let mut snapshot = v1alpha2_snapshot();
    let workload = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
    store(&mut snapshot, component("web", workload, json!([])), "ns");
    let mut document = configuration(json!([{"componentName": "web"}])).into_value();
    let reference = |kind: &str, name: &str| json!({"apiVersion": "apps/v1", "kind": kind, "name": name});
    document["status"] = json!({"workloads": [
        {"componentName": "web", "workloadRef": reference("Deployment", "web"), "traits": [{"traitRef": reference("T", "t")}]},
        {"componentName": "old", "workloadRef": reference("Deployment", "old")},
        {"componentName": "old", "workloadRef": reference("Deployment", "old-v1")},
    ]});
    let document = Document::from_object(document);
    let rendered = ac::render(&ac::parse(&document, &snapshot).unwrap(), &snapshot).unwrap();
    let garbage: Vec<String> =
        ac::graph(rendered).unwrap().garbage().iter().map(|garbage| garbage.key.to_string()).collect();
    assert_eq!(garbage, ["T ns/t", "Deployment ns/old"]);
}

#[test]
fn a_revisions_workload_goes_for_its_successor_by_annotation() {
    let mut snapshot = v1alpha2_snapshot();
    let workload = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
    let revision = json!({"apiVersion": "apps/v1", "kind": "ControllerRevision",
        "data": {"spec": {"workload": workload}}, "metadata": {"name": "web-v2", "namespace": "ns"}});
    snapshot.insert_object(revision);
    let mut document = configuration(json!([{"revisionName": "web-v2"}])).into_value();
    document["metadata"]["annotations"] = json!({"app.oam.dev/workload-names": "revision"});
    document["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "name": "conf", "uid": "u", "controller": true},
    ]);
    let reference = |name: &str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    document["status"] = json!({"workloads": [
        {"componentName": "web", "workloadRef": reference("web-v1")},
        {"componentName": "old", "workloadRef": reference("old-v1")},
    ]});
    let document = Document::from_object(document);
    let rendered = ac::render(&ac::parse(&document, &snapshot).unwrap(), &snapshot).unwrap();
    assert_eq!(rendered.components()[0].workload.object["metadata"]["name"], "web-v2");
    let graph = ac::graph(rendered).unwrap();
    let garbage: Vec<(String, Option<String>)> =
        graph.garbage().into_iter().map(|one| (one.key.name, one.successor.map(|key| key.name))).collect();
    assert_eq!(garbage, [("web-v1".into(), Some("web-v2".into())), ("old-v1".into(), None)]);
}

#[test]
fn revisions_are_cut_when_the_spec_differs_and_the_oldest_go() {
    let mut web = component("web", json!({"kind": "A"}), json!([]));
    let first = revision::revision(&web, None).unwrap();
    assert_eq!((first.name.as_str(), first.number), ("web-v1", 1));
    web["status"] = first.status.clone();
    assert_eq!(revision::revision(&web, Some(&first.object)), None);
    web["spec"]["workload"]["kind"] = json!("B");
    assert_eq!(revision::revision(&web, Some(&first.object)).unwrap().name, "web-v2");
    assert_eq!(revision::revision(&web, None).unwrap().name, "web-v2", "a lost revision is cut again");
    assert_eq!(revision::component_of("my-web-v12"), "my-web");

    let all: Vec<Json> =
        (1..=5).map(|n| json!({"metadata": {"name": format!("web-v{n}")}, "revision": n})).collect();
    assert_eq!(revision::superfluous(&all, &BTreeSet::new(), "web-v5", 3), ["web-v1", "web-v2"]);
    assert_eq!(revision::superfluous(&all, &BTreeSet::from(["web-v1".to_owned()]), "web-v5", 3), ["web-v2"]);
    assert!(!revision::superfluous(&all, &BTreeSet::new(), "web-v5", 0).contains(&"web-v5".to_owned()));
}

#[test]
fn the_settings_example_becomes_a_configuration_and_components() {
    let folder = cases::folder("examples/first/settings");
    let text = std::fs::read_to_string(folder.join("app.yaml")).unwrap();
    let application = manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone();
    let mut snapshot = v1alpha2_snapshot();
    for definition in vela_definitions::builtin() {
        snapshot.insert_definition_object(definition.manifest("vela-system")).unwrap();
    }
    let app_file = parse::parse(&application, &snapshot).unwrap();
    assert_eq!(app_file.era(), parse::Era::V1alpha2);
    let plan = plan::plan(revision_of_app(app_file)).unwrap();
    let rendered = render::render(&plan, &Templates::new(), &render::Inputs::default()).unwrap();
    let composed = ac::compose(&rendered).unwrap();
    assert_eq!(composed.configuration["metadata"]["name"], "shop");
    assert_eq!(composed.configuration["metadata"]["labels"]["app.oam.dev/name"], "shop");
    assert_eq!(composed.components.len(), 2);
    let cart = &composed.components[0]["spec"]["workload"];
    assert_eq!(cart["spec"]["replicas"], 2);
    assert_eq!(cart["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"], 8080);
    assert_eq!(
        cart["metadata"]["labels"],
        json!({"workload.oam.dev/type": "webservice"}),
        "derived labels stay out"
    );

    // The second render: configuration and components become the workloads.
    for component in composed.components {
        store(&mut snapshot, component, "default");
    }
    let configuration = Document::from_object(composed.configuration);
    let parsed = ac::parse(&configuration, &snapshot).unwrap();
    let rendered = ac::render(&parsed, &snapshot).unwrap();
    let names: Vec<&Json> =
        rendered.components().iter().map(|c| &c.workload.object["metadata"]["name"]).collect();
    assert_eq!(names, ["cart", "mailer"]);
    let labels = &rendered.components()[0].workload.object["metadata"]["labels"];
    assert_eq!(labels["app.oam.dev/name"], "shop");
    assert_eq!(labels["app.oam.dev/revision"], "cart-v1");
    assert_eq!(labels["workload.oam.dev/type"], "webservice");
}

fn revision_of_app(app_file: parse::AppFile) -> vela_engine::Revision {
    vela_engine::revision::revision(app_file, None)
}
