//! Steps about cloud resources: the components of an environment that Terraform makes, under names of the environment.

use serde_json::{Value as Json, json};
use vela_engine::render::{Inputs, State};
use vela_engine::{Document, Snapshot, Templates, parse, plan, render, revision};

fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    for definition in vela_definitions::builtin() {
        snapshot.insert_definition_object(definition.manifest("vela-system")).unwrap();
    }
    let rds = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition", "metadata": {"name": "rds"},
        "spec": {
            "workload": {"definition": {"apiVersion": "terraform.core.oam.dev/v1beta2", "kind": "Configuration"}},
            "schematic": {"terraform": {"configuration": "variable size {}"}},
        },
    });
    snapshot.insert_definition_object(rds).unwrap();
    snapshot
}

fn binding(name: &str) -> Json {
    json!({"name": name, "type": "env-binding", "properties": {"envs": [{"name": "prod"}, {"name": "test"}]}})
}

/// The names of the objects that the workflow makes, and its messages.
fn made(policies: &Json, steps: &Json) -> (Vec<String>, String) {
    let secret = json!({"name": "conn"});
    let application = Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop"},
        "spec": {
            "components": [
                {"name": "db", "type": "rds", "properties": {"size": 1, "writeConnectionSecretToRef": secret}},
                {"name": "web", "type": "webservice", "properties": {"image": "nginx"}},
            ],
            "policies": policies, "workflow": {"steps": steps},
        },
    }));
    let rendered = || {
        let app_file = parse::parse(&application, &snapshot())?;
        let plan = plan::plan(revision::revision(app_file, None))?;
        render::render(&plan, &Templates::new(), &Inputs::default())
    };
    let rendered = match rendered() {
        Ok(rendered) => rendered,
        Err(errors) => return (Vec::new(), errors.to_string()),
    };
    let mut names = Vec::new();
    for component in rendered.components() {
        let State::Ready(objects) = &component.state else { continue };
        names.extend(objects.iter().map(|made| made.object["metadata"]["name"].as_str().unwrap().to_owned()));
    }
    (names, rendered.warnings().to_string())
}

fn deploy(name: &str, properties: &Json) -> Json {
    json!({"name": name, "type": "deploy-cloud-resource", "properties": properties})
}

#[test]
fn each_environment_has_its_own_cloud_resource() {
    let steps = json!([deploy("one", &json!({"env": "prod"})), deploy("two", &json!({"env": "test"}))]);
    let (names, said) = made(&json!([binding("envs")]), &steps);
    assert_eq!(names, ["db-prod", "db-test"]);
    assert!(said.contains("no workflow step applies component \"web\""), "{said}");
    assert!(!said.contains("\"db\""), "it is there for environments: {said}");
}

#[test]
fn mistakes_of_cloud_steps_are_reported() {
    let one = || json!([binding("envs")]);
    for (policies, properties, words) in [
        (one(), json!({"env": "prd"}), "did you mean"),
        (one(), json!({"env": "prod", "policy": "x"}), "there is no environment"),
        (json!([]), json!({"env": "prod"}), "no env-binding policy"),
        (json!([binding("envs"), binding("more")]), json!({"env": "prod"}), "several env-binding policies"),
    ] {
        let (_, said) = made(&policies, &json!([deploy("one", &properties)]));
        assert!(said.contains(words), "{properties}: {said}");
    }
    let share = json!([{"name": "share", "type": "share-cloud-resource", "properties": {"env": "prod", "placements": []}}]);
    let (_, said) = made(&json!([binding("envs"), binding("more")]), &share);
    assert!(said.contains("several env-binding policies"), "{said}");
}
