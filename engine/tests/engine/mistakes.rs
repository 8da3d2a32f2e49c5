//! Mistakes are told together, where they were made: in the file of the definition, in the manifest, and in the objects that
//! come of both.

use std::sync::Arc;

use vela_engine::definition::cue_file;
use vela_engine::{Definition, Document, Snapshot, Templates, check, dry_run, manifest};

use crate::snapshots;

const APP: &str =
    "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\nspec:\n  components:\n";

fn application(components: &str) -> Document {
    manifest::read("app.yaml", &format!("{APP}{components}")).unwrap().as_slice()[0].clone()
}

fn snapshot(definitions: Vec<Document>) -> Snapshot {
    let mut snapshot = snapshots::built_in();
    for definition in definitions {
        snapshot.insert_definition(Arc::new(Definition::from_document(&definition).unwrap()));
    }
    snapshot
}

/// Everything that is told of the components, errors and warnings.
fn report(components: &str, definitions: Vec<Document>) -> String {
    check(&application(components), &snapshot(definitions), &Templates::new()).to_string()
}

/// A definition whose template begins in line 10 of its file, eight columns in.
fn in_yaml(kind: &str, template: &str) -> Vec<Document> {
    let template: String = template.lines().map(|line| format!("        {line}\n")).collect();
    let text = format!(
        "# of ours\napiVersion: core.oam.dev/v1beta1\nkind: {kind}\nmetadata: {{name: own}}\nspec:\n  workload: {{type: configmaps}}\n  schematic:\n    cue:\n      template: |\n{template}"
    );
    manifest::read("own.yaml", &text).unwrap().into_iter().collect()
}

fn assert_reported(report: &str, parts: &[&str]) {
    for part in parts {
        assert!(report.contains(part), "{part:?} is missing:\n{report}");
    }
}

#[test]
fn errors_in_a_template_point_into_its_file() {
    let template = "output: {\n  apiVersion: \"v1\"\n  kind: \"ConfigMap\"\n  data: a: parameter.image + 1\n}\nparameter: image: string\n";
    let component = "  - {name: web, type: own, properties: {image: nginx}}\n";
    let found = report(component, in_yaml("ComponentDefinition", template));
    // The template is written eight columns in, behind nine lines.
    assert_reported(&found, &["component definition \"own\" at own.yaml:13:"]);
    let file = format!(
        "import \"strings\"\n\nown: {{\n\ttype: \"component\"\n\tattributes: workload: type: \"configmaps\"\n}}\ntemplate: {{\n\t_x: strings.ToUpper(\"a\")\n{template}}}\n"
    );
    let found = report(component, vec![cue_file::document("own.cue", &file).unwrap()]);
    assert_reported(&found, &["component definition \"own\" at own.cue:12:"]);
    // What is built in has no file: its name says which it is.
    let found = report("  - {name: web, type: webservice, properties: {}}\n", Vec::new());
    assert_reported(&found, &["component definition \"webservice\" at ", "parameter.image must be given"]);
}

#[test]
fn undeclared_fields_are_reported_with_the_nearest_name() {
    let template = "output: {\n  apiVersion: \"v1\"\n  kind: \"ConfigMap\"\n  data: {a: parameter.img, b: context.nme}\n}\nparameter: image: string\n";
    let component = "  - {name: web, type: own, properties: {image: nginx}}\n";
    let found = report(component, in_yaml("ComponentDefinition", template));
    assert_reported(
        &found,
        &[
            "output.data.a has no value: undefined field: img",
            "known parameters: image",
            "output.data.b has no value: undefined field: nme",
            "did you mean \"name\"?",
            "own.yaml:13:",
        ],
    );
}

#[test]
fn markers_that_mean_nothing_and_missing_keys_are_told() {
    let template = "patch: spec: template: spec: {\n  // +patchKye=name\n  volumes: []\n  // +patchStrategy=retainkeys\n  restartPolicy: \"Always\"\n  // +patchKey=name\n  containers: [{nme: \"x\"}]\n}\nparameter: {}\n";
    let component = "  - {name: web, type: webservice, properties: {image: nginx}, traits: [{type: own, properties: {}}]}\n";
    let found = report(component, in_yaml("TraitDefinition", template));
    assert_reported(
        &found,
        &[
            "the marker +patchKye means nothing",
            "did you mean \"+patchKey\"?",
            "+patchStrategy=retainkeys means nothing",
            "did you mean \"retainKeys\"?",
            "no field name, by which +patchKey matches",
            "trait definition \"own\" at own.yaml:11:",
            "trait definition \"own\" at own.yaml:16:",
        ],
    );
}

#[test]
fn built_in_definitions_raise_no_doubts() {
    let (snapshot, templates) = (snapshot(Vec::new()), Templates::new());
    for definition in snapshot.definitions() {
        if let vela_engine::render::Compiled::Cue(template) = &*templates.get(definition).unwrap() {
            assert!(template.warnings().is_empty(), "{definition}: {}", template.warnings());
        }
    }
}

#[test]
fn mistakes_of_traits_are_told_beside_those_of_their_component() {
    let component = "  - name: web\n    type: webservice\n    properties: {image: 3}\n    traits:\n    - type: scaler\n      properties: {replicas: many}\n    - type: labels\n      properties: {a: 1}\n";
    let found = report(component, Vec::new());
    assert_reported(&found, &["app.yaml:8:25: error", "app.yaml:11:", "replicas", "app.yaml:13:"]);
}

#[test]
fn what_no_api_server_takes_is_told_where_it_was_written() {
    let component = "  - name: web\n    type: webservice\n    properties:\n      image: nginx\n      ports: [{port: 70000}]\n      cpu: half\n    traits:\n    - type: scaler\n      properties: {replicas: -2}\n    - type: scaler\n      properties: {replicas: 3}\n    - type: labels\n      properties: {tier: \"not one\"}\n";
    let found = report(component, Vec::new());
    assert_reported(
        &found,
        &[
            "app.yaml:10:22: warning[invalid_object]: Deployment default/web: spec.template.spec.containers[0].ports[0].containerPort",
            "app.yaml:11:12: warning[invalid_object]: Deployment default/web: spec.template.spec.containers[0].resources",
            "a quantity such as 100m",
            "traits \"scaler\" and \"scaler\" both say how many replicas there are",
            "\"not one\" is no value of a label",
            "app.yaml:18:",
        ],
    );
    let rendered =
        dry_run::render(&application(component), &snapshot(Vec::new()), &Templates::new()).unwrap();
    assert!(rendered.strictly().is_err());
    let negative = "  - {name: web, type: webservice, properties: {image: nginx}, traits: [{type: scaler, properties: {replicas: -2}}]}\n";
    assert_reported(
        &report(negative, Vec::new()),
        &["spec.replicas: Invalid value: -2", "app.yaml:6:110: warning"],
    );
    let scalers = "  - {name: web, type: webservice, properties: {image: nginx}, traits: [{type: cpuscaler, properties: {}}, {type: hpa, properties: {}}]}\n";
    assert_reported(&report(scalers, Vec::new()), &["two autoscalers undo each other"]);
}

#[test]
fn a_field_unknown_to_the_kind_is_reported_in_the_template() {
    let template = "output: {\n  apiVersion: \"v1\"\n  kind: \"Service\"\n  spec: {selectr: a: \"b\", ports: [{port: 80}]}\n}\nparameter: {}\n";
    let found =
        report("  - {name: web, type: own, properties: {}}\n", in_yaml("ComponentDefinition", template));
    assert_reported(
        &found,
        &["Service default/web: spec.selectr", "did you mean \"selector\"?", "own.yaml:13:"],
    );
}

#[test]
fn objects_that_will_not_run_are_warned_of_but_not_refused() {
    let component = "  - {name: web, type: webservice, properties: {image: nginx, ports: [{port: 70000}]}}\n";
    let policies = "  policies:\n  - {name: two, type: health}\n";
    let render = |text: &str| {
        dry_run::render(&application(text), &snapshot(Vec::new()), &Templates::new()).unwrap().strictly()
    };
    assert!(render(component).is_err());
    // What is left out of it may be what makes its objects right.
    let shown = render(&format!("{component}{policies}")).unwrap();
    assert_reported(&shown.warnings().to_string(), &["\"health\"", "containerPort"]);
}

#[test]
fn two_forms_in_one_application_are_refused_at_each_field() {
    let found = report(
        "  - {name: web, type: webservice, settings: {image: nginx}}\n  - {name: db, type: worker, properties: {image: db}, traits: [{type: scaler, properties: {replicas: 2}}]}\n",
        Vec::new(),
    );
    assert_reported(
        &found,
        &[
            "spec.components[1].properties",
            "spec.components[1].traits[0].type",
            "two forms of the API are mixed",
            "spec.components[0].settings",
            "write \"settings\" here",
            "write \"name\" here",
        ],
    );
    let one = report("  - {name: web, type: webservice, settings: {image: nginx}}\n", Vec::new());
    assert!(!one.contains("mixed"), "{one}");
}
