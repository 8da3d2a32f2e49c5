//! Rollouts of workloads whose pods change in one object: StatefulSets from the last pod on, DaemonSets node by node; and back.

use serde_json::{Value, json};

use super::rollouts::{OAM, has_no_owner};
use super::test_cluster::{TestCluster, application, until, until_or};

fn component(type_: &str, image: &str) -> Value {
    let traits = match type_ {
        "statefulset" => json!([{"type": "scaler", "properties": {"replicas": 3}}]),
        _ => json!([]),
    };
    json!({"name": "front", "type": type_, "properties": {"image": image}, "traits": traits})
}

async fn begins(cluster: &TestCluster, type_: &str, plan: Value) {
    let mut shop = application("shop", &[component(type_, "nginx:1")]);
    shop["spec"]["rolloutPlan"] = plan;
    cluster.create(shop).await;
    cluster.phase("shop", "running").await;
}

async fn change(cluster: &TestCluster, type_: &str, image: &str) {
    let spec = json!({"spec": {"components": [component(type_, image)]}});
    cluster.patch(OAM, "Application", "shop", spec).await;
}

/// The images of the pods, in the order of their names.
async fn images(cluster: &TestCluster) -> Vec<String> {
    let mut pods = cluster.list("v1", "Pod").await;
    pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
    pods.sort_by_key(|pod| pod["metadata"]["name"].as_str().unwrap_or_default().to_owned());
    let image = |pod: &Value| pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_owned();
    pods.iter().map(image).collect()
}

async fn have(cluster: &TestCluster, wanted: [&str; 3]) {
    until_or(&format!("{wanted:?}"), || images(cluster), |found| *found == wanted).await;
}

async fn reached(cluster: &TestCluster, revision: &str) {
    until(revision, || async {
        let found = cluster.get(OAM, "AppRollout", "shop").await.unwrap_or_default();
        found["status"]["rollingState"] == "rolloutSucceed"
            && found["status"]["lastTargetAppRevision"] == revision
    })
    .await;
}

#[tokio::test]
async fn a_stateful_set_changes_from_its_last_pod_on_and_back() {
    let cluster = TestCluster::new().await;
    let plan = json!({"rolloutBatches": [{"replicas": 1}, {"replicas": 2}], "batchPartition": 0});
    begins(&cluster, "statefulset", plan).await;
    have(&cluster, ["nginx:1"; 3]).await;
    let before = cluster.get("apps/v1", "StatefulSet", "front").await.unwrap();
    change(&cluster, "statefulset", "nginx:2").await;
    have(&cluster, ["nginx:1", "nginx:1", "nginx:2"]).await;
    cluster.quiet().await;
    have(&cluster, ["nginx:1", "nginx:1", "nginx:2"]).await;
    let held = cluster.get("apps/v1", "StatefulSet", "front").await.unwrap();
    assert_eq!(held["spec"]["updateStrategy"]["rollingUpdate"]["partition"], 2, "{held:#}");
    assert!(!has_no_owner(&held), "the rollout holds it: {held:#}");
    let on = json!({"spec": {"rolloutPlan": {"batchPartition": null}}});
    cluster.patch(OAM, "Application", "shop", on).await;
    reached(&cluster, "shop-v2").await;
    have(&cluster, ["nginx:2"; 3]).await;
    change(&cluster, "statefulset", "nginx:1").await;
    reached(&cluster, "shop-v1").await;
    have(&cluster, ["nginx:1"; 3]).await;
    let after = cluster.get("apps/v1", "StatefulSet", "front").await.unwrap();
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"], "it is one object all the time");
    assert!(has_no_owner(&after), "{after:#}");
}

#[tokio::test]
async fn a_daemon_set_changes_node_by_node_and_back() {
    let cluster = TestCluster::new().await;
    begins(&cluster, "daemon", json!({"rolloutBatches": [{"replicas": "100%"}]})).await;
    let all = async |image: &str| {
        let is_so = |found: &Vec<String>| !found.is_empty() && found.iter().all(|each| each == image);
        until_or(image, || images(&cluster), is_so).await;
    };
    all("nginx:1").await;
    let before = cluster.get("apps/v1", "DaemonSet", "front").await.unwrap();
    for (image, revision) in [("nginx:2", "shop-v2"), ("nginx:1", "shop-v1")] {
        change(&cluster, "daemon", image).await;
        reached(&cluster, revision).await;
        all(image).await;
    }
    let after = cluster.get("apps/v1", "DaemonSet", "front").await.unwrap();
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"], "it is one object all the time");
    assert_eq!(after["spec"]["updateStrategy"]["type"], "OnDelete", "only a rollout changes its pods");
    assert!(has_no_owner(&after), "{after:#}");
}
