//! Workflows that run again, that run for a changed application, and what is published under one version.

use std::time::Duration;

use serde_json::{Value, json};
use vela_core::options::RunLimits;
use vela_core::{Options, Process};

use super::test_cluster::{TestCluster, application, until_or, web};
use super::workflows::{applies, phases, resume, shop};

const OAM: &str = "core.oam.dev/v1beta1";
const RESTART: &str = "app.oam.dev/restart-workflow";

/// `back`, then `front` in a group: more than components that are applied one after the other.
fn grouped() -> Value {
    json!([
        applies("back", &json!({})),
        {"name": "rest", "type": "step-group", "subSteps": [applies("front", &json!({}))]},
    ])
}

fn annotated(value: &str) -> Value {
    json!({"metadata": {"annotations": {RESTART: value}}})
}

/// Waits for a run that began later than this one and is over.
async fn another_run(cluster: &TestCluster, before: &Value) -> Value {
    let is_another = |shop: &Value| {
        let workflow = &shop["status"]["workflow"];
        workflow["finished"] == true && workflow["startTime"] != before["status"]["workflow"]["startTime"]
    };
    until_or("another run is over", || cluster.application("shop"), is_another).await
}

#[tokio::test]
async fn a_workflow_runs_again_when_it_is_asked_to() {
    let cluster = TestCluster::new().await;
    cluster.create(shop(&grouped())).await;
    cluster.phase("shop", "running").await;
    let first = cluster.application("shop").await;
    cluster.pass(Duration::from_secs(5)).await;
    cluster.patch(OAM, "Application", "shop", annotated("true")).await;
    let second = another_run(&cluster, &first).await;
    let ids = |shop: &Value| shop["status"]["workflow"]["steps"][0]["id"].clone();
    assert_ne!(ids(&first), ids(&second), "{}", second["status"]);
    assert_eq!(second["metadata"]["annotations"][RESTART], Value::Null, "it was asked for once");
    assert_eq!(second["status"]["workflowRestartScheduledAt"], Value::Null);
    assert_eq!(first["status"]["latestRevision"], second["status"]["latestRevision"]);
}

#[tokio::test]
async fn a_workflow_runs_again_at_its_time_and_at_intervals() {
    let cluster = TestCluster::new().await;
    cluster.create(shop(&grouped())).await;
    cluster.phase("shop", "running").await;
    let mut before = cluster.application("shop").await;
    cluster.patch(OAM, "Application", "shop", annotated("3s")).await;
    for _ in 0..2 {
        before = another_run(&cluster, &before).await;
        assert_eq!(before["metadata"]["annotations"][RESTART], "3s", "an interval stays");
    }
    // An end to it, and a time that is over. Runs of one second look alike.
    cluster.pass(Duration::from_secs(1)).await;
    cluster.patch(OAM, "Application", "shop", annotated("2001-01-01T00:00:00Z")).await;
    let is_noted = |shop: &Value| shop["metadata"]["annotations"][RESTART].is_null();
    let noted = until_or("the time is noted", || cluster.application("shop"), is_noted).await;
    another_run(&cluster, &before).await;
    let is_done = |shop: &Value| {
        let status = &shop["status"];
        status["workflow"]["finished"] == true && status["workflowRestartScheduledAt"].is_null()
    };
    until_or("nothing more is to come", || cluster.application("shop"), is_done).await;
    assert_eq!(noted["metadata"]["annotations"][RESTART], Value::Null);
}

#[tokio::test]
async fn a_changed_application_begins_a_run_of_its_own() {
    let cluster = TestCluster::new().await;
    let held = json!([applies("back", &json!({})), {"name": "hold", "type": "suspend"}, applies("front", &json!({}))]);
    cluster.create(shop(&held)).await;
    cluster.phase("shop", "workflowSuspending").await;
    let before = cluster.application("shop").await;
    assert_eq!(before["status"]["workflow"]["appRevision"], "shop-v1");
    // While it is suspended a user changes the application and the steps.
    let mut changed = held.clone();
    changed[1]["name"] = json!("approve");
    let components = json!([web("back", "nginx:2"), web("front", "nginx:2")]);
    let patch = json!({"spec": {"components": components, "workflow": {"steps": changed}}});
    cluster.patch(OAM, "Application", "shop", patch).await;
    let is_new = |shop: &Value| {
        phases(shop) == ["back succeeded", "approve suspending"]
            && shop["status"]["workflow"]["appRevision"] == "shop-v2"
    };
    let after = until_or("the new run waits", || cluster.application("shop"), is_new).await;
    let workflow = |shop: &Value| shop["status"]["workflow"].clone();
    assert_ne!(workflow(&before)["steps"][0]["id"], workflow(&after)["steps"][0]["id"]);
    let image = |deployment: Option<Value>| {
        deployment.unwrap_or_default()["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    assert_eq!(image(cluster.deployment("back").await), "nginx:2");
    assert!(cluster.deployment("front").await.is_none(), "no user approved it");
    resume(&cluster).await;
    cluster.phase("shop", "running").await;
    assert_eq!(image(cluster.deployment("front").await), "nginx:2");
}

#[tokio::test]
async fn a_published_version_runs_until_another_one_is_named() {
    let cluster = TestCluster::new().await;
    let mut shop = application("shop", &[web("front", "nginx:1")]);
    shop["metadata"]["annotations"] = json!({"app.oam.dev/publishVersion": "one"});
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
    let components = json!({"spec": {"components": [web("front", "nginx:2")]}});
    cluster.patch(OAM, "Application", "shop", components).await;
    let is_seen = |shop: &Value| shop["status"]["observedGeneration"] == shop["metadata"]["generation"];
    let shop = until_or("the change was seen", || cluster.application("shop"), is_seen).await;
    assert_eq!(shop["status"]["latestRevision"]["name"], "shop-v1");
    let image = |deployment: Option<Value>| {
        deployment.unwrap_or_default()["spec"]["template"]["spec"]["containers"][0]["image"].clone()
    };
    assert_eq!(image(cluster.deployment("front").await), "nginx:1");

    let two = json!({"metadata": {"annotations": {"app.oam.dev/publishVersion": "two"}}});
    cluster.patch(OAM, "Application", "shop", two).await;
    let is_published = |image: &Value| image == "nginx:2";
    until_or("it is published", || async { image(cluster.deployment("front").await) }, is_published).await;
    let shop = cluster.application("shop").await;
    assert_eq!(shop["status"]["latestRevision"]["name"], "shop-v2");
}

#[tokio::test]
async fn a_failure_suspends_the_workflow_where_the_operator_says_so() {
    let mut cluster = TestCluster::without_controllers().await;
    let workflow = RunLimits { suspend_on_failure: true, ..RunLimits::default() };
    let options = Options { workflow, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    let steps = json!([
        applies("absent", &json!({})),
        {"name": "rest", "type": "step-group", "subSteps": [
            applies("back", &json!({})), applies("front", &json!({})),
        ]},
    ]);
    cluster.create(shop(&steps)).await;
    cluster.phase("shop", "workflowSuspending").await;
    let shop = cluster.application("shop").await;
    let said = shop["status"]["workflow"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(said.starts_with("The workflow suspends automatically"), "{}", shop["status"]);
    assert!(cluster.deployment("front").await.is_none());
}
