//! Names of workloads as early 2021 had them: each revision of a component has its own, and the former one goes when the next
//! one is ready.

use serde_json::{Value, json};
use vela_core::options::WorkloadNames;
use vela_core::{Options, Process};

use super::test_cluster::{TestCluster, until, until_or};

const V1ALPHA2: &str = "core.oam.dev/v1alpha2";
const V1BETA1: &str = "core.oam.dev/v1beta1";
const NAMES: &str = "app.oam.dev/workload-names";

fn components(image: &str) -> Value {
    json!([{"name": "front", "type": "web", "settings": {"image": image, "replicas": 2}}])
}

fn application(annotations: Value) -> Value {
    json!({
        "apiVersion": V1ALPHA2, "kind": "Application", "metadata": {"name": "shop", "annotations": annotations},
        "spec": {"components": components("nginx:1")},
    })
}

async fn change(cluster: &TestCluster, image: &str) {
    let change = json!({"spec": {"components": components(image)}});
    cluster.patch(V1BETA1, "Application", "shop", change).await;
}

async fn there(cluster: &TestCluster, name: &str) -> Value {
    let is_there = |found: &Option<Value>| found.is_some();
    until_or(&format!("{name} is there"), || cluster.deployment(name), is_there).await.unwrap()
}

/// What the configuration records as workloads.
async fn recorded(cluster: &TestCluster) -> Vec<String> {
    let found = cluster.get(V1ALPHA2, "ApplicationConfiguration", "shop").await.unwrap_or_default();
    let entries = found["status"]["workloads"].as_array().cloned().unwrap_or_default();
    entries.iter().map(|entry| entry["workloadRef"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_revision_has_its_workload_until_the_next_one_is_ready() {
    let cluster = TestCluster::new().await;
    cluster.create(application(json!({NAMES: "revision"}))).await;
    cluster.phase("shop", "running").await;
    let first = there(&cluster, "front-v1").await;
    assert_eq!(first["metadata"]["labels"]["app.oam.dev/revision"], "front-v1");
    assert!(first["metadata"]["annotations"][NAMES].is_null(), "it is the configuration's own business");

    // One that never gets ready takes nothing away.
    change(&cluster, "nginx:simulate-fail-crash").await;
    there(&cluster, "front-v2").await;
    cluster.quiet().await;
    let kept = cluster.deployment("front-v1").await.unwrap();
    assert_eq!(kept["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(kept["spec"], first["spec"], "it is what it was");
    assert_eq!(recorded(&cluster).await, ["front-v1", "front-v2"]);

    change(&cluster, "nginx:3").await;
    there(&cluster, "front-v3").await;
    cluster.gone("apps/v1", "Deployment", "front-v1").await;
    cluster.gone("apps/v1", "Deployment", "front-v2").await;
    cluster.phase("shop", "running").await;
    until("only the last one is recorded", || async { recorded(&cluster).await == ["front-v3"] }).await;
    cluster.quiet().await;

    // The other name is a change like any other.
    let annotations = json!({"metadata": {"annotations": {NAMES: "component"}}});
    cluster.patch(V1BETA1, "Application", "shop", annotations).await;
    there(&cluster, "front").await;
    cluster.gone("apps/v1", "Deployment", "front-v3").await;
}

#[tokio::test]
async fn an_operator_chooses_for_those_who_say_nothing() {
    let mut cluster = TestCluster::without_controllers().await;
    let options = Options { workload_names: WorkloadNames::Revision, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    cluster.create(application(json!({}))).await;
    there(&cluster, "front-v1").await;
    let mut own = application(json!({NAMES: "component"}));
    own["metadata"]["name"] = json!("own");
    own["spec"]["components"][0]["name"] = json!("back");
    cluster.create(own).await;
    there(&cluster, "back").await;
    assert!(cluster.deployment("back-v1").await.is_none());

    let mut odd = application(json!({NAMES: "versions"}));
    odd["metadata"]["name"] = json!("odd");
    cluster.create(odd).await;
    until_or(
        "what means nothing is refused",
        || cluster.application("odd"),
        |odd| odd["status"]["conditions"].to_string().contains("write component or revision"),
    )
    .await;
}
