//! Rollouts that go back to their source: by a metric, by being deleted half-way, cut off at every write, without revisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use vela_runtime::fault::Injection;

use super::pod_bounds::PodBounds;
use super::rollout_gates::{Prometheus, asking, metric};
use super::rollouts::{OAM, batch, batches, first, has, has_no_owner, pods, rollout, second, state};
use super::test_cluster::{TestCluster, until, until_or};

/// A rollout to the second revision whose first batch is done, and which goes back when it is deleted.
async fn half_way(cluster: &TestCluster) {
    let mut plan = batches(&[2, 2]);
    plan["batchPartition"] = json!(0);
    let mut rollout = rollout("shop-v2", Some("shop-v1"), plan);
    rollout["spec"]["revertOnDelete"] = json!(true);
    cluster.create(rollout).await;
    batch(cluster, 0, "batchReady").await;
    has(cluster, "front-v2", 2).await;
}

async fn without_holder(cluster: &TestCluster) {
    for name in ["front-v1", "front-v2"] {
        let live = cluster.deployment(name).await.unwrap();
        assert!(has_no_owner(&live), "{live:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_metric_that_fails_brings_the_source_back() {
    let cluster = asking().await;
    first(&cluster).await;
    second(&cluster).await;
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    let prometheus = Prometheus::start("0.31").await;
    let mut plan = batches(&[1, 1, 2]);
    plan["rolloutBatches"][1]["canaryMetric"] = json!([metric(&prometheus, json!({"onFailure": "Revert"}))]);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    let failed = state(&cluster, "rolloutFailed").await;
    has(&cluster, "front-v1", 4).await;
    has(&cluster, "front-v2", 0).await;
    bounds.assert_held(4, i64::MAX);
    let conditions = failed["status"]["conditions"].as_array().unwrap();
    let reverted = conditions.iter().find(|each| each["type"] == "RolloutReverted").unwrap();
    assert_eq!(reverted["status"], "True", "{reverted:#}");
    let message = reverted["message"].as_str().unwrap();
    for part in ["went back to its source", "rolloutBatches[1].canaryMetric[0]", "0.31 is above"] {
        assert!(message.contains(part), "{message}");
    }
    assert_eq!(failed["status"]["lastTargetAppRevision"], "shop-v2", "what was asked for is told as it was");
    without_holder(&cluster).await;
    // It stays so, until a user asks for something else.
    cluster.quiet().await;
    let to = json!({"spec": {"rolloutPlan": {"rolloutBatches": [{"replicas": 4}]}, "sourceAppRevisionName": "shop-v2",
        "targetAppRevisionName": "shop-v1"}});
    cluster.patch(OAM, "AppRollout", "release", to).await;
    state(&cluster, "rolloutSucceed").await;
}

#[tokio::test]
async fn a_rollout_that_is_deleted_half_way_goes_back_if_it_says_so() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    half_way(&cluster).await;
    // Nor does a plan that is paused keep it.
    cluster.patch(OAM, "AppRollout", "release", json!({"spec": {"rolloutPlan": {"paused": true}}})).await;
    cluster.delete(OAM, "AppRollout", "release").await;
    cluster.gone(OAM, "AppRollout", "release").await;
    has(&cluster, "front-v1", 4).await;
    has(&cluster, "front-v2", 0).await;
    bounds.assert_held(4, 6);
    without_holder(&cluster).await;
    let events = || cluster.list("events.k8s.io/v1", "Event");
    let is_told = |events: &Vec<Value>| events.iter().any(|event| event["reason"] == "Rollout Reverting");
    until_or("the way back is told", events, is_told).await;
}

#[tokio::test]
async fn without_its_revisions_a_rollout_lets_go_and_ends() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    half_way(&cluster).await;
    cluster.delete(OAM, "ApplicationRevision", "shop-v1").await;
    cluster.gone(OAM, "ApplicationRevision", "shop-v1").await;
    cluster.delete(OAM, "AppRollout", "release").await;
    cluster.gone(OAM, "AppRollout", "release").await;
    without_holder(&cluster).await;
    assert_eq!(
        (pods(&cluster, "front-v1").await.0, pods(&cluster, "front-v2").await.0),
        (2, 2),
        "as it stood"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_target_named_on_the_way_back_is_reached() {
    let cluster = asking().await;
    first(&cluster).await;
    second(&cluster).await;
    let prometheus = Prometheus::start("0.31").await;
    let mut plan = batches(&[2, 2]);
    plan["canaryMetric"] = json!([metric(&prometheus, json!({"onFailure": "Revert"}))]);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    until_or(
        "it goes back",
        || cluster.get(OAM, "AppRollout", "release"),
        |found| !found.as_ref().unwrap()["status"]["revert"].is_null(),
    )
    .await;
    let to = json!({"spec": {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2",
        "rolloutPlan": {"canaryMetric": null}}});
    cluster.patch(OAM, "AppRollout", "release", to).await;
    let done = until_or(
        "the new target is reached",
        || cluster.get(OAM, "AppRollout", "release"),
        |found| {
            let status = &found.as_ref().unwrap()["status"];
            status["rollingState"] == "rolloutSucceed" && status["lastTargetAppRevision"] == "shop-v1"
        },
    )
    .await
    .unwrap();
    assert!(done["status"]["revert"].is_null(), "{done:#}");
    has(&cluster, "front-v1", 4).await;
    has(&cluster, "front-v2", 0).await;
}

#[tokio::test]
async fn cut_off_at_any_write_it_goes_back_and_no_pod_is_missing() {
    let mut cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    let mut cut = 0;
    for after in 0.. {
        half_way(&cluster).await;
        let (left, broken) = (Arc::new(AtomicUsize::new(after)), Arc::new(AtomicUsize::new(0)));
        let (rule, hit) = (left, broken.clone());
        let lost = if after % 2 == 0 { Injection::DropRequest } else { Injection::DropAnswer };
        cluster.faults.inject(move |entry| {
            if !entry.writes()
                || entry.is_event()
                || !(entry.path.contains("/approllouts") || entry.path.contains("/deployments"))
            {
                return Injection::Pass;
            }
            match rule.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Injection::Pass,
                Err(_) if hit.fetch_add(1, Ordering::SeqCst) == 0 => lost,
                Err(_) => Injection::DropRequest,
            }
        });
        cluster.delete(OAM, "AppRollout", "release").await;
        let is_gone = async || cluster.get(OAM, "AppRollout", "release").await.is_none();
        until("a write is cut, or none is left", || async {
            broken.load(Ordering::SeqCst) > 0 || is_gone().await
        })
        .await;
        let is_cut = broken.load(Ordering::SeqCst) > 0;
        if is_cut {
            cluster.kill().await;
        }
        cluster.faults.heal();
        if is_cut {
            cluster.start();
        }
        let cluster = &cluster;
        until(&format!("the rollout goes though write {after} was cut"), || async {
            cluster.get(OAM, "AppRollout", "release").await.is_none()
        })
        .await;
        has(cluster, "front-v1", 4).await;
        has(cluster, "front-v2", 0).await;
        without_holder(cluster).await;
        if !is_cut {
            break;
        }
        cut += 1;
    }
    assert!(cut > 8, "a way back in two batches has more writes than {cut}");
    bounds.assert_held(4, 4 + 2);
}
