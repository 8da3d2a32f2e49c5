//! Fields that cannot change, wanted by ApplicationConfigurations: made again or told about by the rule of Applications.

use serde_json::{Value, json};

use super::configuration::{complaint, configuration, named, synced, uid};
use super::fixed::{job, store};
use super::test_cluster::{TestCluster, until_or};

const OAM: &str = "core.oam.dev/v1alpha2";
const AC: &str = "ApplicationConfiguration";

fn component(name: &str, workload: &Value) -> Value {
    json!({"apiVersion": OAM, "kind": "Component", "metadata": {"name": name}, "spec": {"workload": workload}})
}

async fn wish(cluster: &TestCluster, name: &str, workload: &Value) {
    cluster.patch(OAM, "Component", name, json!({"spec": {"workload": workload}})).await;
}

#[tokio::test]
async fn a_changed_job_is_made_again_once_the_change_stays() {
    let cluster = TestCluster::new().await;
    cluster.create(component("once", &job("busybox:1", "Never"))).await;
    cluster.create(configuration("shop", named(&["once"]))).await;
    synced(&cluster, "shop").await;
    let look = || async { cluster.get("batch/v1", "Job", "once").await };
    let before = uid(&look().await.unwrap());
    // There and back: nothing is lost to a passing wish.
    wish(&cluster, "once", &job("busybox:2", "Never")).await;
    wish(&cluster, "once", &job("busybox:1", "Never")).await;
    cluster.quiet().await;
    synced(&cluster, "shop").await;
    assert_eq!(uid(&look().await.unwrap()), before);
    wish(&cluster, "once", &job("busybox:2", "Never")).await;
    let another = |found: &Option<Value>| {
        found.as_ref().is_some_and(|job| {
            uid(job) != before && job["spec"]["template"]["spec"]["containers"][0]["image"] == "busybox:2"
        })
    };
    until_or("it is made again", look, another).await;
    synced(&cluster, "shop").await;
    let warnings = || async {
        let events = cluster.list("events.k8s.io/v1", "Event").await;
        events.into_iter().filter(|event| event["reason"] == "Recreated").count()
    };
    until_or("it is told", warnings, |count| *count == 1).await;
    cluster.delete(OAM, AC, "shop").await;
    cluster.gone("batch/v1", "Job", "once").await;
}

#[tokio::test]
async fn objects_with_data_are_reported_and_not_retried() {
    let cluster = TestCluster::new().await;
    cluster.create(component("data", &store("first"))).await;
    cluster.create(component("once", &job("busybox:1", "Never"))).await;
    cluster.create(configuration("shop", named(&["data", "once"]))).await;
    synced(&cluster, "shop").await;
    let look = || async { cluster.get("apps/v1", "StatefulSet", "data").await };
    let before = uid(&look().await.unwrap());
    wish(&cluster, "data", &store("second")).await;
    complaint(&cluster, "shop", "--cascade=orphan").await;
    let reason = cluster.get(OAM, AC, "shop").await.unwrap()["status"]["conditions"][0]["reason"].clone();
    assert_eq!(reason, "Refused");
    cluster.quiet().await;
    cluster.rested_of("applicationconfiguration", 1).await;
    // Another look at the same costs no request for it, and its neighbour is looked after.
    let looks = cluster.reconciles("applicationconfiguration");
    cluster.requests();
    let once = uid(&cluster.get("batch/v1", "Job", "once").await.unwrap());
    cluster.delete("batch/v1", "Job", "once").await;
    let another = |found: &Option<Value>| found.as_ref().is_some_and(|job| uid(job) != once);
    until_or("its neighbour comes back", || cluster.get("batch/v1", "Job", "once"), another).await;
    cluster.rested_of("applicationconfiguration", looks + 1).await;
    let asked: Vec<_> =
        cluster.requests().into_iter().filter(|entry| entry.path.contains("/statefulsets/")).collect();
    assert!(asked.is_empty(), "it was refused for good: {asked:#?}");
    assert_eq!(uid(&look().await.unwrap()), before);
    // The controller makes it again when a user deletes it by hand.
    cluster.delete("apps/v1", "StatefulSet", "data").await;
    let second =
        |found: &Option<Value>| found.as_ref().is_some_and(|store| store["spec"]["serviceName"] == "second");
    until_or("it is made again", look, second).await;
    synced(&cluster, "shop").await;
}
