//! Workflows with more than steps that apply components: what is run when, what is written, and what a process leaves to the
//! next one.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::test_cluster::{TestCluster, application, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

/// An application of `back` and `front` with these steps.
pub(super) fn shop(steps: &Value) -> Value {
    let mut shop = application("shop", &[web("back", "nginx:1"), web("front", "nginx:1")]);
    shop["spec"]["workflow"] = json!({"steps": steps});
    shop
}

pub(super) fn applies(name: &str, more: &Value) -> Value {
    let mut step = json!({"name": name, "type": "apply-component", "properties": {"component": name}});
    for (field, value) in more.as_object().into_iter().flatten() {
        step[field] = value.clone();
    }
    step
}

/// `back`, then a person, then `front` in a group.
fn held() -> Value {
    json!([
        applies("back", &json!({})),
        {"name": "hold", "type": "suspend"},
        {"name": "rest", "type": "step-group", "subSteps": [applies("front", &json!({}))]},
    ])
}

/// Every step that was looked at, as `name phase`.
pub(super) fn phases(application: &Value) -> Vec<String> {
    let text = |step: &Value| {
        format!("{} {}", step["name"].as_str().unwrap_or("?"), step["phase"].as_str().unwrap_or("?"))
    };
    let mut phases = Vec::new();
    for step in application["status"]["workflow"]["steps"].as_array().into_iter().flatten() {
        phases.push(text(step));
        phases.extend(step["subSteps"].as_array().into_iter().flatten().map(text));
    }
    phases
}

/// What `vela workflow resume` writes.
pub(super) async fn resume(cluster: &TestCluster) {
    let mut workflow = cluster.application("shop").await["status"]["workflow"].clone();
    workflow["suspend"] = json!(false);
    for step in workflow["steps"].as_array_mut().unwrap() {
        if step["phase"] == "suspending" {
            step["phase"] = json!("running");
        }
    }
    let patch = Patch::Merge(json!({"status": {"workflow": workflow}}));
    let api = cluster.api(OAM, "Application").await;
    api.patch_status("shop", &PatchParams::default(), &patch).await.unwrap();
}

#[tokio::test]
async fn a_suspended_workflow_goes_on_when_it_is_resumed() {
    let cluster = TestCluster::new().await;
    cluster.create(shop(&held())).await;
    cluster.phase("shop", "workflowSuspending").await;
    let shop = cluster.application("shop").await;
    assert_eq!(phases(&shop), ["back succeeded", "hold suspending"], "{}", shop["status"]);
    let workflow = &shop["status"]["workflow"];
    assert_eq!(workflow["steps"][1]["message"], "Suspended by field suspend");
    assert_eq!((&workflow["suspend"], &workflow["status"]), (&json!(true), &json!("suspending")));
    assert_eq!(workflow["contextBackend"]["name"], "workflow-shop-context");
    assert_eq!(shop["status"]["services"].as_array().map(Vec::len), Some(1), "{}", shop["status"]);
    assert!(cluster.deployment("back").await.is_some());
    assert!(cluster.deployment("front").await.is_none(), "its turn has not come");

    resume(&cluster).await;
    cluster.phase("shop", "running").await;
    let shop = cluster.application("shop").await;
    let expected = ["back succeeded", "hold succeeded", "rest succeeded", "front succeeded"];
    assert_eq!(phases(&shop), expected, "{}", shop["status"]);
    assert_eq!(shop["status"]["workflow"]["finished"], true);
    assert!(cluster.deployment("front").await.is_some());

    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.gone("apps/v1", "Deployment", "front").await;
}

#[tokio::test]
async fn another_process_goes_on_with_the_step_that_was_not_done() {
    let mut cluster = TestCluster::new().await;
    cluster.create(shop(&held())).await;
    cluster.phase("shop", "workflowSuspending").await;
    let before = cluster.application("shop").await["status"]["workflow"].clone();
    cluster.kill().await;
    resume(&cluster).await;
    cluster.start();
    cluster.phase("shop", "running").await;
    let after = cluster.application("shop").await["status"]["workflow"].clone();
    for step in 0..2 {
        assert_eq!(after["steps"][step]["id"], before["steps"][step]["id"], "{after}");
    }
    assert_eq!(after["startTime"], before["startTime"]);
}

#[tokio::test]
async fn a_suspension_ends_after_its_time() {
    let cluster = TestCluster::new().await;
    let mut steps = held();
    steps[1]["properties"] = json!({"duration": "2s"});
    cluster.create(shop(&steps)).await;
    cluster.phase("shop", "running").await;
}

#[tokio::test]
async fn a_step_that_fails_lets_only_those_run_that_ask_for_it() {
    let cluster = TestCluster::new().await;
    let steps = json!([
        applies("back", &json!({"properties": {"component": "absent"}})),
        applies("front", &json!({"if": "status.back.failed"})),
        {"name": "again", "type": "apply-component", "properties": {"component": "back"}},
    ]);
    cluster.create(shop(&steps)).await;
    cluster.phase("shop", "workflowFailed").await;
    let shop = cluster.application("shop").await;
    assert_eq!(phases(&shop), ["back failed", "front succeeded", "again skipped"], "{}", shop["status"]);
    let message = shop["status"]["workflow"]["steps"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("applies component \"absent\", which does not exist"), "{message}");
    assert!(cluster.deployment("front").await.is_some());
    assert!(cluster.deployment("back").await.is_none());
}

#[tokio::test]
async fn what_is_passed_over_is_not_wanted_and_values_decide() {
    let cluster = TestCluster::new().await;
    let outputs = json!({"outputs": [{"name": "made", "valueFrom": "output.metadata.name"}]});
    let on = |value: &str| {
        let condition = format!("inputs.made == \"{value}\"");
        json!({"if": condition, "inputs": [{"from": "made"}]})
    };
    let steps = |value: &str| json!([applies("back", &outputs), applies("front", &on(value))]);
    cluster.create(shop(&steps("back"))).await;
    cluster.phase("shop", "running").await;
    assert!(cluster.deployment("front").await.is_some());
    let values = cluster.get("v1", "ConfigMap", "workflow-shop-context").await.unwrap();
    assert_eq!(values["data"]["vars"], r#"{"made":"back"}"#, "{values}");

    let workflow = json!({"spec": {"workflow": {"steps": steps("other")}}});
    cluster.patch(OAM, "Application", "shop", workflow).await;
    cluster.gone("apps/v1", "Deployment", "front").await;
    let is_over = |shop: &Value| phases(shop) == ["back succeeded", "front skipped"];
    let shop = until_or("it is passed over", || cluster.application("shop"), is_over).await;
    assert_eq!(shop["status"]["services"].as_array().map(Vec::len), Some(1), "{}", shop["status"]);
    cluster.phase("shop", "running").await;
}

/// A step that makes a ConfigMap by a call, reads what another client makes, and waits for it.
const NOTE: &str = r#"
import ("vela/kube", "vela/builtin")
make: kube.#Apply & {$params: value: {
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: context.name + "-note"
	data: text: parameter.text
}}
read: kube.#Read & {$params: value: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "approval"}}
wait: builtin.#ConditionalWait & {$params: {continue: read.$returns.value != _|_, message: "not approved yet"}}
output: make.$returns.value
parameter: text: string
"#;

#[tokio::test]
async fn a_step_by_a_definition_makes_reads_and_waits() {
    let cluster = TestCluster::new().await;
    cluster
        .create(json!({
            "apiVersion": OAM,
            "kind": "WorkflowStepDefinition",
            "metadata": {"name": "note"},
            "spec": {"schematic": {"cue": {"template": NOTE}}},
        }))
        .await;
    let steps = json!([
        {"name": "tell", "type": "note", "properties": {"text": "hello"},
            "outputs": [{"name": "made", "valueFrom": "output.metadata.name"}]},
        applies("back", &json!({"if": "inputs.made == \"shop-note\"", "inputs": [{"from": "made"}]})),
        applies("front", &json!({})),
    ]);
    cluster.create(shop(&steps)).await;
    let says_why = |shop: &Value| shop["status"]["workflow"]["steps"][0]["message"] == "not approved yet";
    until_or("it waits and says so", || cluster.application("shop"), says_why).await;
    let note = cluster.get("v1", "ConfigMap", "shop-note").await.unwrap();
    assert_eq!(note["data"], json!({"text": "hello"}));
    assert_eq!(note["metadata"]["labels"]["app.oam.dev/name"], "shop");
    let tracker = cluster.tracker("shop").await.unwrap().to_string();
    assert!(tracker.contains("shop-note"), "{tracker}");
    assert!(cluster.deployment("back").await.is_none());

    let approval = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "approval"}});
    cluster.create(approval).await;
    cluster.phase("shop", "running").await;
    let shop = cluster.application("shop").await;
    let expected = ["tell succeeded", "back succeeded", "front succeeded"];
    assert_eq!(phases(&shop), expected, "{}", shop["status"]);
    assert!(cluster.get("v1", "ConfigMap", "shop-note").await.is_some(), "no pruning takes it");

    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.gone("v1", "ConfigMap", "shop-note").await;
    assert!(cluster.get("v1", "ConfigMap", "approval").await.is_some(), "it was only read");
}

#[tokio::test]
async fn a_component_takes_what_another_one_gives() {
    let cluster = TestCluster::new().await;
    let settings = json!({
        "name": "settings", "type": "settings", "properties": {"text": "nginx:2"},
        "outputs": [{"name": "image", "valueFrom": "output.data.text"}],
    });
    let mut front = web("front", "nginx:1");
    front["inputs"] = json!([{"from": "image", "parameterKey": "properties.image"}]);
    cluster.create(application("shop", &[front, settings])).await;
    cluster.phase("shop", "running").await;
    let image = |deployment: &Option<Value>| {
        let deployment = deployment.clone().unwrap_or_default();
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:2"
    };
    assert!(image(&cluster.deployment("front").await));
}

/// `back`, which never gets healthy, within four seconds; then `front` whatever came of it.
fn slow() -> Value {
    json!([
        applies(
            "back",
            &json!({
                "timeout": "4s", "outputs": [{"name": "replicas", "valueFrom": "\"\\(output.spec.replicas)\""}],
            })
        ),
        applies("front", &json!({"if": "always"})),
    ])
}

#[tokio::test]
async fn components_of_a_step_that_timed_out_stay_the_applications() {
    let cluster = TestCluster::new().await;
    let mut shop = shop(&slow());
    shop["spec"]["components"][0]["properties"]["image"] = json!("example/simulate-fail-image-pull:1");
    cluster.create(shop).await;
    cluster.phase("shop", "workflowFailed").await;
    let shop = cluster.application("shop").await;
    assert_eq!(phases(&shop), ["back failed", "front succeeded"], "{}", shop["status"]);
    let services = shop["status"]["services"].as_array().unwrap().clone();
    assert_eq!(services.len(), 2, "{}", shop["status"]);
    let applied = shop["status"]["appliedResources"].to_string();
    assert!(applied.contains("back"), "{applied}");
    // What it made is looked after.
    cluster.delete("apps/v1", "Deployment", "back").await;
    let back = || async { cluster.deployment("back").await.is_some() };
    until_or("the Deployment is made again", back, |there| *there).await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    cluster.gone("apps/v1", "Deployment", "back").await;
}
