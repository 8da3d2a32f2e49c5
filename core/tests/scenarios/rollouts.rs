//! Rollouts: between revisions in batches, held back and let go, abandoned, asked of hooks, cut off, and told what is wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use vela_core::options::EgressPolicy;
use vela_core::{Options, Process};
use vela_runtime::fault::Injection;

use super::pod_bounds::PodBounds;
use super::test_cluster::{TestCluster, application, until, until_or, web};

pub(super) const OAM: &str = "core.oam.dev/v1beta1";

/// An application whose revisions are recorded only.
pub(super) fn rolling(image: &str) -> Value {
    let mut shop = application("shop", &[web("front", image)]);
    shop["metadata"]["annotations"] = json!({"app.oam.dev/rollout-template": "true"});
    shop
}

pub(super) fn rollout(target: &str, source: Option<&str>, plan: Value) -> Value {
    let mut spec = json!({"targetAppRevisionName": target, "rolloutPlan": plan});
    if let Some(source) = source {
        spec["sourceAppRevisionName"] = json!(source);
    }
    json!({"apiVersion": OAM, "kind": "AppRollout", "metadata": {"name": "release"}, "spec": spec})
}

pub(super) fn batches(sizes: &[i64]) -> Value {
    json!({"rolloutBatches": sizes.iter().map(|size| json!({"replicas": size})).collect::<Vec<_>>()})
}

pub(super) async fn change(cluster: &TestCluster, image: &str) {
    let components = json!({"spec": {"components": [web("front", image)]}});
    cluster.patch(OAM, "Application", "shop", components).await;
}

pub(super) async fn recorded(cluster: &TestCluster, revision: &str) {
    until(revision, || async { cluster.get(OAM, "ApplicationRevision", revision).await.is_some() }).await;
}

pub(super) async fn state(cluster: &TestCluster, wanted: &str) -> Value {
    let what = format!("the rollout is {wanted}");
    until_or(
        &what,
        || cluster.get(OAM, "AppRollout", "release"),
        |found| found.as_ref().is_some_and(|found| found["status"]["rollingState"] == wanted),
    )
    .await
    .unwrap()
}

pub(super) async fn batch(cluster: &TestCluster, number: i64, wanted: &str) -> Value {
    let what = format!("batch {number} is {wanted}");
    until_or(
        &what,
        || cluster.get(OAM, "AppRollout", "release"),
        |found| {
            found.as_ref().is_some_and(|found| {
                found["status"]["batchRollingState"] == wanted && found["status"]["currentBatch"] == number
            })
        },
    )
    .await
    .unwrap()
}

/// Wanted and ready pods of a Deployment.
pub(super) async fn pods(cluster: &TestCluster, name: &str) -> (i64, i64) {
    let live = cluster.deployment(name).await.unwrap_or(Value::Null);
    (live["spec"]["replicas"].as_i64().unwrap_or(-1), live["status"]["readyReplicas"].as_i64().unwrap_or(0))
}

pub(super) async fn has(cluster: &TestCluster, name: &str, wanted: i64) {
    let what = format!("{name} has {wanted} pods");
    until_or(&what, || pods(cluster, name), |found| *found == (wanted, wanted)).await;
}

/// The first revision runs with four pods, by a rollout.
pub(super) async fn first(cluster: &TestCluster) {
    cluster.create(rolling("nginx:1")).await;
    recorded(cluster, "shop-v1").await;
    let mut plan = batches(&[1, 1]);
    plan["targetSize"] = json!(4);
    cluster.create(rollout("shop-v1", None, plan)).await;
    state(cluster, "rolloutSucceed").await;
    has(cluster, "front-v1", 4).await;
    cluster.delete(OAM, "AppRollout", "release").await;
    until("it is gone", || async { cluster.get(OAM, "AppRollout", "release").await.is_none() }).await;
}

pub(super) async fn second(cluster: &TestCluster) {
    change(cluster, "nginx:2").await;
    recorded(cluster, "shop-v2").await;
}

pub(super) fn has_no_owner(live: &Value) -> bool {
    live["metadata"]["ownerReferences"]
        .as_array()
        .is_none_or(|owners| owners.iter().all(|o| o["kind"] != "AppRollout"))
}

#[tokio::test]
async fn a_rollout_replaces_the_pods_of_a_revision_by_the_next_ones() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    assert!(cluster.deployment("front").await.is_none(), "the application leaves its workloads to rollouts");
    let before = cluster.deployment("front-v1").await.unwrap();
    second(&cluster).await;
    let mut plan = batches(&[1, 1, 2]);
    plan["batchPartition"] = json!(0);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    batch(&cluster, 0, "batchReady").await;
    has(&cluster, "front-v1", 3).await;
    has(&cluster, "front-v2", 1).await;
    cluster.quiet().await;
    assert_eq!(pods(&cluster, "front-v2").await, (1, 1), "it waits for a higher partition");
    cluster
        .patch(OAM, "AppRollout", "release", json!({"spec": {"rolloutPlan": {"batchPartition": null}}}))
        .await;
    let done = state(&cluster, "rolloutSucceed").await;
    assert_eq!(done["status"]["upgradedReadyReplicas"], 4);
    assert_eq!(done["status"]["lastTargetAppRevision"], "shop-v2");
    has(&cluster, "front-v2", 4).await;
    let source = cluster.deployment("front-v1").await.unwrap();
    assert_eq!(source["spec"]["replicas"], 0, "it stays, with no pods");
    assert_eq!(source["metadata"]["uid"], before["metadata"]["uid"]);
    let target = cluster.deployment("front-v2").await.unwrap();
    assert!(has_no_owner(&source) && has_no_owner(&target), "{target:#}");
    assert_eq!(target["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:2");
    // And back, by exchanging the two.
    cluster
        .patch(
            OAM,
            "AppRollout",
            "release",
            json!({"spec": {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2",
                "rolloutPlan": batches(&[2, 2])}}),
        )
        .await;
    has(&cluster, "front-v1", 4).await;
    state(&cluster, "rolloutSucceed").await;
    assert_eq!(pods(&cluster, "front-v2").await.0, 0);
    // With the application goes everything.
    cluster.delete(OAM, "Application", "shop").await;
    until("the workloads are gone", || async {
        cluster.deployment("front-v1").await.is_none() && cluster.deployment("front-v2").await.is_none()
    })
    .await;
}

#[tokio::test]
pub(super) async fn a_rollout_that_is_deleted_lets_go_and_deletes_nothing() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    let mut plan = batches(&[1, 3]);
    plan["batchPartition"] = json!(0);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    batch(&cluster, 0, "batchReady").await;
    let claimed = cluster.deployment("front-v2").await.unwrap();
    assert!(!has_no_owner(&claimed), "a rollout holds what it rolls: {claimed:#}");
    cluster.delete(OAM, "AppRollout", "release").await;
    until("it is gone", || async { cluster.get(OAM, "AppRollout", "release").await.is_none() }).await;
    cluster.quiet().await;
    for (name, wanted) in [("front-v1", 3), ("front-v2", 1)] {
        let live = cluster.deployment(name).await.unwrap();
        assert!(has_no_owner(&live), "{live:#}");
        assert_eq!(live["spec"]["replicas"], wanted);
    }
}

/// As a user reported it to KubeVela, which counted the pod of the Deployment that the rollout itself had made.
#[tokio::test]
async fn the_batches_of_a_first_rollout_add_up_to_the_target() {
    let cluster = TestCluster::new().await;
    let mut shop = rolling("nginx:1");
    shop["metadata"]["annotations"]["app.oam.dev/rolling-components"] = json!("front");
    shop["spec"]["components"][0]["type"] = json!("worker");
    shop["spec"]["components"][0]["properties"] = json!({"image": "busybox:1"});
    cluster.create(shop).await;
    recorded(&cluster, "shop-v1").await;
    let mut plan = batches(&[1, 2]);
    plan["targetSize"] = json!(3);
    cluster.create(rollout("shop-v1", None, plan)).await;
    let release = state(&cluster, "rolloutSucceed").await;
    assert_eq!(release["status"]["rolloutOriginalSize"], 0, "{}", release["status"]);
    has(&cluster, "front-v1", 3).await;
}

#[tokio::test]
async fn a_target_changed_in_flight_is_reached_from_where_it_stands() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    let mut plan = batches(&[1, 3]);
    plan["paused"] = json!(true);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    until_or(
        "it says that it is paused",
        || cluster.get(OAM, "AppRollout", "release"),
        |found| {
            let conditions = found.as_ref().unwrap()["status"]["conditions"].as_array().cloned();
            conditions
                .is_some_and(|all| all.iter().any(|c| c["type"] == "BatchPaused" && c["status"] == "True"))
        },
    )
    .await;
    change(&cluster, "nginx:3").await;
    recorded(&cluster, "shop-v3").await;
    let to = json!({"spec": {"targetAppRevisionName": "shop-v3", "rolloutPlan": {"paused": false}}});
    cluster.patch(OAM, "AppRollout", "release", to).await;
    let done = until_or(
        "the third revision is reached",
        || cluster.get(OAM, "AppRollout", "release"),
        |found| {
            let status = &found.as_ref().unwrap()["status"];
            status["rollingState"] == "rolloutSucceed" && status["lastTargetAppRevision"] == "shop-v3"
        },
    )
    .await
    .unwrap();
    assert_eq!(done["status"]["upgradedReadyReplicas"], 4);
    has(&cluster, "front-v3", 4).await;
    assert_eq!(pods(&cluster, "front-v1").await.0, 0);
    let left = cluster.deployment("front-v2").await.unwrap();
    assert_eq!(pods(&cluster, "front-v2").await.0, 0);
    assert!(has_no_owner(&left), "{left:#}");
}

#[tokio::test]
async fn a_revision_does_not_replace_itself() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    cluster.create(rollout("shop-v1", Some("shop-v1"), batches(&[1, 3]))).await;
    let current = until_or(
        "it says so",
        || cluster.get(OAM, "AppRollout", "release"),
        |found| found.as_ref().unwrap()["status"]["conditions"].to_string().contains("are both shop-v1"),
    )
    .await
    .unwrap();
    assert_eq!(current["status"]["rollingState"], "locatingTargetApp");
    cluster.quiet().await;
    let live = cluster.deployment("front-v1").await.unwrap();
    assert_eq!((&live["spec"]["replicas"], &live["spec"]["paused"]), (&json!(4), &Value::Null), "{live:#}");
}

#[tokio::test]
async fn a_rollout_whose_target_revision_is_gone_can_be_turned_round() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    let mut plan = batches(&[1, 3]);
    plan["batchPartition"] = json!(0);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    batch(&cluster, 0, "batchReady").await;
    change(&cluster, "nginx:3").await;
    recorded(&cluster, "shop-v3").await;
    cluster.delete(OAM, "ApplicationRevision", "shop-v2").await;
    let plan = json!({"batchPartition": null, "rolloutBatches": [{"replicas": "50%"}, {"replicas": "50%"}]});
    let to = json!({"spec": {"targetAppRevisionName": "shop-v3", "rolloutPlan": plan}});
    cluster.patch(OAM, "AppRollout", "release", to).await;
    until_or(
        "the third revision is reached",
        || cluster.get(OAM, "AppRollout", "release"),
        |found| {
            let status = &found.as_ref().unwrap()["status"];
            status["rollingState"] == "rolloutSucceed" && status["lastTargetAppRevision"] == "shop-v3"
        },
    )
    .await;
    // Its revision is gone, so it may be gone, too.
    assert!(cluster.deployment("front-v2").await.is_none_or(|left| has_no_owner(&left)));
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_place() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1")])).await;
    recorded(&cluster, "shop-v1").await;
    let says = async |text: &str| {
        until_or(
            text,
            || cluster.get(OAM, "AppRollout", "release"),
            |found| {
                let conditions = found.as_ref().unwrap()["status"]["conditions"].as_array().cloned();
                conditions.is_some_and(|all| {
                    all.iter().any(|c| c["message"].as_str().is_some_and(|m| m.contains(text)))
                })
            },
        )
        .await;
    };
    cluster.create(rollout("shop-v7", None, batches(&[1]))).await;
    says("spec.targetAppRevisionName: ApplicationRevision").await;
    cluster.patch(OAM, "AppRollout", "release", json!({"spec": {"targetAppRevisionName": "shop-v1"}})).await;
    says("needs the annotation app.oam.dev/rollout-template").await;
    let marked = json!({"metadata": {"annotations": {"app.oam.dev/rollout-template": "true"}}});
    cluster.patch(OAM, "Application", "shop", marked).await;
    // Without a size to go to there is nothing to scale to.
    let failed = state(&cluster, "rolloutFailed").await;
    assert!(failed["status"]["conditions"].to_string().contains("without a target"), "{failed:#}");
}

/// A server that answers everything with one of two statuses, and what it was told last.
async fn hook(says_yes: Arc<AtomicBool>) -> (String, Arc<std::sync::Mutex<String>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/may-i", listener.local_addr().unwrap());
    let received = Arc::new(std::sync::Mutex::new(String::new()));
    let sink = received.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut text, mut part) = (String::new(), [0; 4096]);
            while !text.contains("\"namespace\"") {
                match stream.read(&mut part).await {
                    Ok(0) | Err(_) => break,
                    Ok(read) => text.push_str(&String::from_utf8_lossy(&part[..read])),
                }
            }
            *sink.lock().unwrap() = text;
            let status = if says_yes.load(Ordering::SeqCst) { "200 OK" } else { "403 Forbidden" };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, received)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_says_no_holds_a_batch_back_until_it_says_yes() {
    let mut cluster = TestCluster::without_controllers().await;
    let options = Options { egress_policy: EgressPolicy::ServicesAndLoopback, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    first(&cluster).await;
    second(&cluster).await;
    let says_yes = Arc::new(AtomicBool::new(false));
    let (url, received) = hook(says_yes.clone()).await;
    let mut plan = batches(&[1, 3]);
    plan["rolloutBatches"][1]["batchRolloutWebhooks"] =
        json!([{"type": "pre-batch-rollout", "name": "gate", "url": url, "metadata": {"team": "shop"}}]);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    let held = until_or(
        "the hook holds it back",
        || cluster.get(OAM, "AppRollout", "release"),
        |found| {
            found.as_ref().unwrap()["status"]["conditions"].to_string().contains("failed to invoke a webhook")
        },
    )
    .await
    .unwrap();
    let conditions = held["status"]["conditions"].to_string();
    assert!(
        conditions.contains("rolloutBatches[1].batchRolloutWebhooks[0]") && conditions.contains("403"),
        "{conditions}"
    );
    assert_eq!(pods(&cluster, "front-v2").await.0, 1, "the first batch is there, and the second waits");
    assert!(received.lock().unwrap().contains(r#""metadata":{"team":"shop"}"#));
    says_yes.store(true, Ordering::SeqCst);
    state(&cluster, "rolloutSucceed").await;
    has(&cluster, "front-v2", 4).await;
}

#[tokio::test]
async fn cut_off_at_any_write_it_goes_on_and_no_pod_is_missing() {
    let mut cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    cluster.create(rollout("shop-v2", Some("shop-v1"), batches(&[1, 1, 2]))).await;
    state(&cluster, "rolloutSucceed").await;
    has(&cluster, "front-v2", 4).await;
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    let mut cut = 0;
    for after in 0.. {
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
        let (target, source) = if after % 2 == 0 { ("v1", "v2") } else { ("v2", "v1") };
        let to = json!({"spec": {"targetAppRevisionName": format!("shop-{target}"),
            "sourceAppRevisionName": format!("shop-{source}")}});
        cluster.patch(OAM, "AppRollout", "release", to).await;
        let reached = async || {
            let found = cluster.get(OAM, "AppRollout", "release").await.unwrap();
            found["status"]["rollingState"] == "rolloutSucceed"
                && found["status"]["lastTargetAppRevision"] == format!("shop-{target}")
        };
        until("a write is cut, or none is left", || async {
            broken.load(Ordering::SeqCst) > 0 || reached().await
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
        let what = format!("{target} is reached though write {after} was cut");
        let cluster = &cluster;
        until(&what, || async {
            let found = cluster.get(OAM, "AppRollout", "release").await.unwrap();
            found["status"]["rollingState"] == "rolloutSucceed"
                && found["status"]["lastTargetAppRevision"] == format!("shop-{target}")
        })
        .await;
        has(cluster, &format!("front-{target}"), 4).await;
        has(cluster, &format!("front-{source}"), 0).await;
        if !is_cut {
            break;
        }
        cut += 1;
    }
    assert!(cut > 10, "a rollout in three batches has more writes than {cut}");
    // The largest batch comes on top of what is there.
    bounds.assert_held(4, 4 + 2);
}
