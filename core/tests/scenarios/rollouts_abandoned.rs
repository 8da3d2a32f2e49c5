//! Rollouts that end where they stand: a user abandons them, or a batch is not there when the plan says it should be.

use serde_json::{Value, json};

use super::pod_bounds::PodBounds;
use super::rollouts::{
    OAM, batch, batches, change, first, has, has_no_owner, pods, recorded, rollout, second, state,
};
use super::test_cluster::{TestCluster, until};

const ABANDON: &str = "app.oam.dev/abandon-rollout";

fn abandoned() -> Value {
    json!({"metadata": {"annotations": {ABANDON: "true"}}})
}

async fn is_unmarked(cluster: &TestCluster) {
    until("the annotation is taken off", || async {
        let found = cluster.get(OAM, "AppRollout", "release").await.unwrap();
        found["metadata"]["annotations"][ABANDON].is_null()
    })
    .await;
}

#[tokio::test]
async fn an_abandoned_rollout_stays_and_another_one_may_follow() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    let mut plan = batches(&[1, 3]);
    plan["batchPartition"] = json!(0);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    batch(&cluster, 0, "batchReady").await;
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    cluster.patch(OAM, "AppRollout", "release", abandoned()).await;
    let over = state(&cluster, "rolloutFailed").await;
    let conditions = over["status"]["conditions"].to_string();
    assert!(conditions.contains("a user abandoned it"), "{conditions}");
    is_unmarked(&cluster).await;
    cluster.quiet().await;
    assert_eq!((pods(&cluster, "front-v1").await, pods(&cluster, "front-v2").await), ((3, 3), (1, 1)));
    for name in ["front-v1", "front-v2"] {
        assert!(has_no_owner(&cluster.deployment(name).await.unwrap()), "{name} is let go");
    }
    // Back, by the same object: what was abandoned is not abandoned again.
    let back = json!({"spec": {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2",
        "rolloutPlan": {"batchPartition": null}}});
    cluster.patch(OAM, "AppRollout", "release", back).await;
    state(&cluster, "rolloutSucceed").await;
    has(&cluster, "front-v1", 4).await;
    has(&cluster, "front-v2", 0).await;
    bounds.assert_held(4, i64::MAX);
}

#[tokio::test]
async fn a_rollout_that_waits_for_what_is_not_there_can_be_abandoned() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    cluster.create(rollout("shop-v7", Some("shop-v1"), batches(&[4]))).await;
    state(&cluster, "locatingTargetApp").await;
    cluster.patch(OAM, "AppRollout", "release", abandoned()).await;
    let over = state(&cluster, "rolloutFailed").await;
    assert_eq!(over["status"]["lastTargetAppRevision"], "shop-v7");
    is_unmarked(&cluster).await;
    assert_eq!(pods(&cluster, "front-v1").await, (4, 4));
    cluster.delete(OAM, "AppRollout", "release").await;
    cluster.gone(OAM, "AppRollout", "release").await;
}

#[tokio::test]
async fn a_way_back_that_is_abandoned_leaves_the_pods_where_they_are() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    let mut plan = batches(&[2, 2]);
    plan["batchPartition"] = json!(0);
    let mut release = rollout("shop-v2", Some("shop-v1"), plan);
    release["spec"]["revertOnDelete"] = json!(true);
    cluster.create(release).await;
    batch(&cluster, 0, "batchReady").await;
    cluster.patch(OAM, "AppRollout", "release", abandoned()).await;
    cluster.delete(OAM, "AppRollout", "release").await;
    cluster.gone(OAM, "AppRollout", "release").await;
    assert_eq!((pods(&cluster, "front-v1").await.0, pods(&cluster, "front-v2").await.0), (2, 2));
    for name in ["front-v1", "front-v2"] {
        assert!(has_no_owner(&cluster.deployment(name).await.unwrap()), "{name} is let go");
    }
}

#[tokio::test]
async fn a_batch_ends_the_rollout_after_the_time_of_the_plan() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    change(&cluster, "nginx:simulate-fail-image-pull").await;
    recorded(&cluster, "shop-v2").await;
    let mut plan = batches(&[1, 3]);
    plan["progressDeadlineSeconds"] = json!(2);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    let over = state(&cluster, "rolloutFailed").await;
    let conditions = over["status"]["conditions"].to_string();
    assert!(conditions.contains("batch 1 was not there after 2 seconds"), "{conditions}");
    assert_eq!(pods(&cluster, "front-v1").await, (4, 4), "the source keeps its pods");
}
