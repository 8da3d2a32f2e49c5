//! PolicyDefinitions that make objects: what a revision records of them, where they are refused, and how they are in the status.

use serde_json::{Value as Json, json};
use vela_engine::{
    Diagnostics, Document, Graph, ObjectKey, Observed, Templates, graph, manifest, parse, plan, render,
    revision, status,
};

use crate::snapshots;

const DEFINITIONS: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: settings}
spec:
  workload: {definition: {apiVersion: v1, kind: ConfigMap}}
  status: {healthPolicy: 'isHealth: context.output.data.state == "good"'}
  schematic:
    cue:
      template: |
        output: {apiVersion: "v1", kind: "ConfigMap", data: text: "a"}
        parameter: {}
---
apiVersion: core.oam.dev/v1beta1
kind: PolicyDefinition
metadata: {name: fence}
spec:
  schematic:
    cue:
      template: |
        output: {apiVersion: "v1", kind: "ConfigMap", data: width: parameter.width}
        outputs: log: {apiVersion: "example.com/v1", kind: "Log", metadata: name: context.name + "-log"}
        parameter: width: *"1" | string
---
apiVersion: core.oam.dev/v1beta1
kind: PolicyDefinition
metadata: {name: judge}
spec:
  manageHealthCheck: true
  schematic:
    cue:
      template: |
        output: {apiVersion: "v1", kind: "ConfigMap"}
---
apiVersion: core.oam.dev/v1beta1
kind: PolicyDefinition
metadata: {name: confidential}
spec:
  schematic:
    cue:
      template: |
        output: {apiVersion: "v1", kind: "ConfigMap", data: text: dbConn.password}
        parameter: {
            // +usage=Secret with the password
            // +insertSecretTo=dbConn
            dbSecret: string
        }
        dbConn: password: string
"#;

fn app(policies: &Json, more: &Json) -> Document {
    let mut object = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "shop", "namespace": "dev"},
        "spec": {"components": [{"name": "note", "type": "settings"}], "policies": policies},
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        match field.as_str() {
            "status" => object["status"] = value.clone(),
            _ => object["spec"][field] = value.clone(),
        }
    }
    manifest::read("app.json", &object.to_string()).unwrap().as_slice()[0].clone()
}

fn meant(application: &Document) -> Result<Graph, Diagnostics> {
    let app_file = parse::parse(application, &snapshots::of(DEFINITIONS))?;
    let revision = revision::revision(app_file, None);
    let rendered = render::render(&plan::plan(revision)?, &Templates::default(), &render::Inputs::default())?;
    graph::graph(rendered)
}

fn fence() -> Json {
    json!([{"name": "fence", "type": "fence", "properties": {"width": "2"}}])
}

fn map(name: &str, data: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "dev"}, "data": data})
}

fn log(name: &str, ready: &str) -> Json {
    json!({
        "apiVersion": "example.com/v1", "kind": "Log", "metadata": {"name": name, "namespace": "dev"},
        "status": {"conditions": [{"type": "Ready", "status": ready, "message": "half open"}]},
    })
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::local("v1", "ConfigMap", "dev", name)
}

/// The status as it is written, after these objects were seen and these failed.
fn written(graph: &Graph, seen: &[Json], failed: &[(&str, &str)]) -> Json {
    let mut observed = Observed::new();
    for object in seen {
        observed.insert_named(ObjectKey::of(object), object.clone());
    }
    for (name, error) in failed {
        observed.insert_error(key(name), (*error).to_owned());
    }
    status::status(graph, &observed, &Templates::default()).to_json(None, jiff::Timestamp::UNIX_EPOCH)
}

fn condition<'a>(status: &'a Json, type_: &str) -> &'a Json {
    let all = status["conditions"].as_array().into_iter().flatten();
    all.into_iter().find(|one| one["type"] == type_).unwrap_or(&Json::Null)
}

#[test]
fn objects_of_policies_stand_before_all_others() {
    let graph = meant(&app(&fence(), &Json::Null)).unwrap();
    let names: Vec<String> =
        graph.objects().map(|object| object.object["metadata"]["name"].to_string()).collect();
    assert_eq!(names, ["\"fence\"", "\"fence-log\"", "\"note\""]);
    let labels = &graph.policies()[0].objects[0].object["metadata"]["labels"];
    let expected = json!({
        "app.oam.dev/name": "shop", "app.oam.dev/namespace": "dev", "app.oam.dev/appRevision": "shop-v1",
    });
    assert_eq!(*labels, expected, "no component makes them");
    let spec = graph.revision().spec();
    assert!(spec["policyDefinitions"]["fence"].is_object(), "{spec:#}");
    let without = meant(&app(&json!([]), &Json::Null)).unwrap();
    assert_ne!(graph.identity().hash(), without.identity().hash());
}

#[test]
fn rules_select_objects_of_policies_by_what_they_are() {
    let rules =
        json!([{"selector": {"resourceNames": ["fence"]}}, {"selector": {"componentNames": ["fence"]}}]);
    let mut policies = fence().as_array().unwrap().clone();
    policies.push(json!({"name": "look", "type": "read-only", "properties": {"rules": rules}}));
    let graph = meant(&app(&json!(policies), &Json::Null)).unwrap();
    let is_read_only = |object: &Json| graph.rendered().plan().rules().of(object).read_only;
    let made: Vec<bool> = graph.objects().map(|object| is_read_only(&object.object)).collect();
    assert_eq!(made, [true, false, false]);
}

#[test]
fn makers_are_refused_where_others_apply_the_objects() {
    let cases = [
        (fence(), json!({"rolloutPlan": {"rolloutBatches": [{"replicas": 1}]}}), "rolled out"),
        (
            json!([{"name": "c", "type": "confidential", "properties": {"dbSecret": "db"}}]),
            Json::Null,
            "content of Secrets",
        ),
    ];
    for (policies, more, words) in cases {
        let errors = meant(&app(&policies, &more)).unwrap_err();
        let first = errors.iter().next().unwrap();
        assert_eq!(
            (first.code.as_str(), first.path.as_str()),
            ("not_supported", "spec.policies[0]"),
            "{errors}"
        );
        assert!(first.message.contains(words), "{errors}");
    }
}

#[test]
fn the_status_tells_how_policies_are() {
    let graph = meant(&app(&fence(), &Json::Null)).unwrap();
    let good = map("note", &json!({"state": "good"}));
    let seen = |ready: &str| [map("fence", &json!({"width": "2"})), log("fence-log", ready), good.clone()];
    let status = written(&graph, &seen("False"), &[]);
    let reported = &status["policy"][0];
    assert_eq!((&reported["name"], &reported["type"]), (&json!("fence"), &json!("fence")));
    assert_eq!(reported["status"]["healthy"], false);
    let message = reported["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("Log dev/fence-log: "), "{message}");
    assert_eq!(status["status"], "running", "the health of a policy holds up nothing");
    assert_eq!(written(&graph, &seen("True"), &[])["policy"][0]["status"], json!({"healthy": true}));
    let creators: Vec<&Json> =
        status["appliedResources"].as_array().unwrap().iter().map(|one| &one["creator"]).collect();
    assert_eq!(creators, ["policy", "policy", "workflow"]);

    let status = written(&graph, &[], &[("fence", "it is another application's")]);
    let workflow = condition(&status, "Workflow");
    assert_eq!((&workflow["status"], &workflow["reason"]), (&json!("False"), &json!("ReconcileError")));
    let message = workflow["message"].as_str().unwrap();
    let words = "policy \"fence\": ConfigMap dev/fence: it is another application's; ";
    assert!(message.starts_with(words), "{message}");
    assert_eq!(status["status"], "runningWorkflow");
    let unseen = written(&meant(&app(&json!([]), &Json::Null)).unwrap(), &[good], &[]);
    assert_eq!(unseen["policy"], Json::Null);
}

#[test]
fn a_policy_that_manages_health_leaves_the_phase_alone() {
    let run = json!({"workflow": {"finished": true, "appRevision": "shop-v1"}});
    let bad = || map("note", &json!({"state": "bad"}));
    for (type_, phase) in [("judge", "running"), ("fence", "unhealthy")] {
        let policies = json!([{"name": "p", "type": type_}]);
        let seen = [map("p", &json!({"width": "1"})), log("p-log", "True"), bad()];
        let after = meant(&app(&policies, &json!({"status": run}))).unwrap();
        let status = written(&after, &seen, &[]);
        assert_eq!(status["status"], phase, "{type_}: {status:#}");
        assert_eq!(status["services"][0]["healthy"], false, "it is told all the same");
        let before = meant(&app(&policies, &Json::Null)).unwrap();
        assert_eq!(written(&before, &seen, &[])["status"], "runningWorkflow", "the workflow waits for it");
    }
}
