//! What an application says and what is not done: told with its place, never silently left out.

use serde_json::json;
use vela_engine::{Diagnostics, Document, Snapshot, Templates, dry_run, manifest, parse, plan, revision};

fn definition(name: &str, template: &str) -> Document {
    Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "ComponentDefinition",
        "metadata": {"name": name},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"cue": {"template": template}},
        },
    }))
}

fn note(text: &str) -> Document {
    let output = format!("output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: text: \"{text}\"}}\n");
    definition("note", &(output + "parameter: {to?: string}\n"))
}

fn app(components: &str) -> Document {
    let text = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop}}\nspec: {{components: [{components}]}}\n"
    );
    manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone()
}

fn snapshot(definitions: &[Document]) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for definition in definitions {
        snapshot.insert_definition_object(definition.value().clone()).unwrap();
    }
    snapshot
}

fn planned(application: &Document, snapshot: &Snapshot) -> Result<plan::Plan, Diagnostics> {
    plan::plan(revision::revision(parse::parse(application, snapshot)?, None))
}

#[test]
fn a_revision_keeps_every_version_of_a_definition() {
    let mut snapshot = snapshot(&[note("new")]);
    for (asked, text) in [("note@v1", "one"), ("note@v2", "two")] {
        let version = vela_engine::Definition::from_object(note(text).value().clone()).unwrap();
        snapshot.insert_definition_version(asked, version.into());
    }
    let both = app("{name: a, type: note@v1}, {name: b, type: note@v2}");
    let revision = revision::revision(parse::parse(&both, &snapshot).unwrap(), None);
    let kept = revision.spec()["componentDefinitions"].clone();
    let template = |key: &str| kept[key]["spec"]["schematic"]["cue"]["template"].as_str().unwrap().to_owned();
    assert!(template("note@v1").contains("one"), "{kept}");
    assert!(template("note@v2").contains("two"), "{kept}");
    // A single version is kept under the name of the definition, where everybody looks for it.
    let one = app("{name: a, type: note@v1}");
    let revision = revision::revision(parse::parse(&one, &snapshot).unwrap(), None);
    let kept = revision.spec()["componentDefinitions"].clone();
    assert_eq!(kept.as_object().unwrap().keys().collect::<Vec<_>>(), ["note"]);
}

/// Other content in place of the named version would be a deployment that no author meant.
#[test]
fn a_version_means_its_revision_or_nothing() {
    let mut snapshot = snapshot(&[note("new")]);
    for version in ["1", "1.2.0", "1.10.0", "2.0.0"] {
        let kept = vela_engine::Definition::from_object(note(version).value().clone()).unwrap();
        snapshot.insert_revision(version, kept.into());
    }
    let says = |type_: &str| {
        let application = app(&format!("{{name: a, type: {type_}}}"));
        dry_run::render(&application, &snapshot, &Templates::new()).map(|rendered| dry_run::text(&rendered))
    };
    for (type_, text) in [
        ("note", "new"),
        ("note@v1", "1"),
        ("note@v1.2", "1.2.0"),
        ("note@v1.10.0", "1.10.0"),
        ("note@v2", "2.0.0"),
    ] {
        let said = says(type_).unwrap().replace('"', "");
        assert!(said.contains(&format!("text: {text}\n")), "{type_}: {said}");
    }
    for (type_, words) in [
        ("note@v9.9", "component type \"note\" has no version \"v9.9\""),
        (
            "note@v1.3",
            "did you mean \"note@v1.10.0\"? known versions: note@v2.0.0, note@v1.10.0, note@v1.2.0, note@v1",
        ),
        ("note@1.2", "a version is written with a v before its numbers, such as \"note@v1.2.0\""),
        ("nota@v1", "did you mean \"note\"?"),
    ] {
        let errors = says(type_).unwrap_err();
        assert!(errors.to_string().contains(words), "{type_}: {errors}");
        assert_eq!(errors.iter().next().unwrap().path, "spec.components[0].type");
    }
    let missing = app("{name: a, type: note, traits: [{type: scaler@v2}]}");
    let errors = dry_run::render(&missing, &snapshot, &Templates::new()).unwrap_err();
    assert_eq!(errors.iter().next().unwrap().path, "spec.components[0].traits[0].type");
}

#[test]
fn a_preview_shows_a_component_without_the_values_it_waits_for() {
    let needs = definition(
        "needs",
        "output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: text: parameter.to}\nparameter: {to: string}\n",
    );
    let snapshot = snapshot(&[note("hello"), needs]);
    let output = "{name: giver, type: note, outputs: [{name: value, valueFrom: output.data.text}]}";
    let preview = |type_: &str| {
        let taker =
            format!("{output}, {{name: taker, type: {type_}, inputs: [{{from: value, parameterKey: to}}]}}");
        dry_run::text(&dry_run::render(&app(&taker), &snapshot, &Templates::new()).unwrap())
    };
    assert_eq!(preview("note").matches("kind: ConfigMap").count(), 2, "{}", preview("note"));
    let waits = preview("needs");
    assert_eq!(waits.matches("kind: ConfigMap").count(), 1, "{waits}");
    assert!(waits.contains("# waits: output \"value\""), "{waits}");
}

#[test]
fn a_wrong_marker_for_a_secret_is_refused_with_its_place() {
    let wants = definition(
        "wants",
        "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}\nparameter: db: {\n\t// +insertSecretTo=conn\n\tsecret: string\n}\n",
    );
    let application = app("{name: a, type: wants, properties: {db: {secret: s}}}");
    let error = planned(&application, &snapshot(&[wants])).unwrap_err().to_string();
    assert!(error.contains("insertSecretTo") && error.contains("spec.components[0]"), "{error}");
}

#[test]
fn scopes_without_effect_are_reported() {
    let application = app("{name: a, type: note, scopes: {healthscopes.core.oam.dev: health}}");
    let plan = planned(&application, &snapshot(&[note("x")])).unwrap();
    let warnings = plan.warnings().to_string();
    assert!(warnings.contains("scopes") && warnings.contains("spec.components[0].scopes"), "{warnings}");
}
