//! Rollouts that cannot be: each says what is wrong with which field, goes when it is deleted, and loses no pod.

use serde_json::{Value, json};

use super::rollouts::{batches, first, pods, recorded, rollout, second};
use super::test_cluster::{TestCluster, until_or};

const OAM: &str = "core.oam.dev/v1beta1";

/// Creates the rollout, waits for its words, and deletes it.
async fn refused(cluster: &TestCluster, rollout: Value, words: &str) {
    cluster.create(rollout).await;
    let says = |found: &Option<Value>| {
        found.as_ref().is_some_and(|found| found["status"]["conditions"].to_string().contains(words))
    };
    until_or(words, || cluster.get(OAM, "AppRollout", "release"), says).await;
    assert_eq!(pods(cluster, "front-v1").await, (4, 4), "{words}");
    cluster.delete(OAM, "AppRollout", "release").await;
    cluster.gone(OAM, "AppRollout", "release").await;
    assert_eq!(pods(cluster, "front-v1").await, (4, 4), "{words}");
}

#[tokio::test]
async fn what_cannot_be_rolled_out_says_so_and_loses_no_pod() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    let plan = || batches(&[4]);
    let never = rollout("shop-v2", Some("shop-v9"), plan());
    refused(&cluster, never, "spec.sourceAppRevisionName: ApplicationRevision").await;
    refused(&cluster, rollout("shop-v2", Some("shop-v2"), plan()), "source and target are both shop-v2")
        .await;
    let mut both = rollout("shop-v2", Some("shop-v1"), plan());
    both["spec"]["targetApplicationName"] = json!("shop-v2");
    refused(&cluster, both, "spec.targetApplicationName: spec.targetAppRevisionName is written, too").await;
    let mut other = rollout("shop-v2", None, plan());
    other["spec"] = json!({
        "targetApplicationName": "shop-v2", "sourceApplicationName": "shop-v1", "rolloutPlan": plan(),
    });
    refused(&cluster, other, "its Application is written in the v1beta1 form").await;
    let short = rollout("shop-v2", Some("shop-v1"), batches(&[1, 1]));
    refused(&cluster, short, "batch size mismatch").await;

    let renamed = json!([{"name": "site", "type": "web", "properties": {"image": "nginx:3", "replicas": 4}}]);
    cluster.patch(OAM, "Application", "shop", json!({"spec": {"components": renamed}})).await;
    recorded(&cluster, "shop-v3").await;
    let renamed = rollout("shop-v3", Some("shop-v1"), plan());
    refused(&cluster, renamed, "shop-v3 has site, shop-v1 has front").await;
    assert!(cluster.deployment("site-v3").await.is_none());
}
