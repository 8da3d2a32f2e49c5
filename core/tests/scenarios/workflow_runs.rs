//! WorkflowRuns: workflows that belong to no Application.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::test_cluster::{TestCluster, until_or};

const VERSION: &str = "core.oam.dev/v1alpha1";
const KIND: &str = "WorkflowRun";

/// A step that makes a ConfigMap.
const NOTE: &str = r#"
import "vela/kube"
make: kube.#Apply & {$params: value: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: parameter.name
	data: team: context.team
}}
output: make.$returns.value
parameter: name: string
"#;

async fn install_note(cluster: &TestCluster) {
    cluster
        .create(json!({
            "apiVersion": "core.oam.dev/v1beta1",
            "kind": "WorkflowStepDefinition",
            "metadata": {"name": "note"},
            "spec": {"schematic": {"cue": {"template": NOTE}}},
        }))
        .await;
}

fn note(step: &str, name: &str) -> Value {
    json!({"name": step, "type": "note", "properties": {"name": name}})
}

fn run(spec: &Value) -> Value {
    json!({"apiVersion": VERSION, "kind": KIND, "metadata": {"name": "release"}, "spec": spec})
}

/// The status, once it holds.
async fn status(cluster: &TestCluster, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let read = || async {
        let found = cluster.get(VERSION, KIND, "release").await.unwrap_or_default();
        found["status"].clone()
    };
    until_or(what, read, holds).await
}

fn phases(status: &Value) -> Vec<&str> {
    let steps = status["steps"].as_array().into_iter().flatten();
    steps.filter_map(|step| step["phase"].as_str()).collect()
}

#[tokio::test]
pub(crate) async fn a_run_goes_through_its_steps_and_waits_for_a_person() {
    let cluster = TestCluster::new().await;
    install_note(&cluster).await;
    let steps = json!([note("first", "one"), {"name": "hold", "type": "suspend"}, note("last", "two")]);
    cluster.create(run(&json!({"context": {"team": "ops"}, "workflowSpec": {"steps": steps}}))).await;
    let held = status(&cluster, "it waits", |status| status["status"] == "suspending").await;
    assert_eq!(phases(&held), ["succeeded", "suspending"], "{held}");
    assert_eq!(held["mode"], json!({"steps": "StepByStep", "subSteps": "DAG"}));
    assert_eq!(held["contextBackend"]["name"], "workflow-release-context");
    let one = cluster.get("v1", "ConfigMap", "one").await.unwrap();
    assert_eq!(one["data"], json!({"team": "ops"}));
    assert_eq!(one["metadata"]["labels"]["workflowrun.oam.dev/name"], "release");
    assert!(cluster.get("v1", "ConfigMap", "two").await.is_none(), "its turn has not come");

    let mut resumed = held.clone();
    (resumed["suspend"], resumed["steps"][1]["phase"]) = (json!(false), json!("running"));
    let api = cluster.api(VERSION, KIND).await;
    let patch = Patch::Merge(json!({"status": resumed}));
    api.patch_status("release", &PatchParams::default(), &patch).await.unwrap();
    let over = status(&cluster, "it is over", |status| status["finished"] == true).await;
    assert_eq!(over["status"], "succeeded", "{over}");
    assert_eq!(phases(&over), ["succeeded", "succeeded", "succeeded"]);
    assert_eq!(over["steps"][0]["id"], held["steps"][0]["id"]);

    // What its steps made outlives it.
    cluster.delete(VERSION, KIND, "release").await;
    cluster.gone(VERSION, KIND, "release").await;
    cluster.settled().await;
    assert!(cluster.get("v1", "ConfigMap", "two").await.is_some());
}

#[tokio::test]
async fn a_run_of_a_workflow_waits_for_it_and_says_so() {
    let cluster = TestCluster::new().await;
    install_note(&cluster).await;
    cluster.create(run(&json!({"context": {"team": "ops"}, "workflowRef": "steps"}))).await;
    let is_missed = |status: &Value| status["conditions"].to_string().contains("there is no Workflow");
    status(&cluster, "the workflow is missed", is_missed).await;
    let workflow = json!({"apiVersion": VERSION, "kind": "Workflow", "metadata": {"name": "steps"}, "steps": [note("first", "one")]});
    cluster.create(workflow).await;
    let over = status(&cluster, "it is over", |status| status["finished"] == true).await;
    assert_eq!((&over["status"], &over["conditions"]), (&json!("succeeded"), &Value::Null), "{over}");
}

#[tokio::test]
async fn a_run_does_not_overwrite_a_foreign_object() {
    let cluster = TestCluster::new().await;
    install_note(&cluster).await;
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"team": "dev"}});
    cluster.create(theirs).await;
    let steps =
        json!([{"name": "first", "type": "note", "properties": {"name": "one"}, "retry": {"limit": 0}}]);
    cluster.create(run(&json!({"context": {"team": "ops"}, "workflowSpec": {"steps": steps}}))).await;
    let over = status(&cluster, "it has failed", |status| status["finished"] == true).await;
    let said = over["steps"][0]["message"].as_str().unwrap_or_default();
    assert!(over["status"] == "failed" && said.contains("was made by no WorkflowRun"), "{over}");
    assert_eq!(cluster.get("v1", "ConfigMap", "one").await.unwrap()["data"]["team"], "dev");
}
