//! RolloutTraits: between foreign workloads, that a configuration made, or that belong to others; and to their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use vela_runtime::fault::Injection;

use super::configuration::{component, configuration};
use super::pod_bounds::PodBounds;
use super::rollouts::{batches, has, pods};
use super::test_cluster::{TestCluster, until, until_or};

const STANDARD: &str = "standard.oam.dev/v1alpha1";
const TRAIT: &str = "RolloutTrait";

fn deployment(name: &str, replicas: i64) -> Value {
    let mut deployment = component(name, "nginx:1")["spec"]["workload"].clone();
    deployment["metadata"] = json!({"name": name});
    deployment["spec"]["replicas"] = json!(replicas);
    deployment
}

fn reference(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name})
}

fn spec(target: &str, sources: &[&str], plan: Value) -> Value {
    let sources: Value = sources.iter().map(|name| reference(name)).collect();
    json!({"targetRef": reference(target), "sourceRef": sources, "rolloutPlan": plan})
}

fn rollout(spec: Value) -> Value {
    json!({"apiVersion": STANDARD, "kind": TRAIT, "metadata": {"name": "release"}, "spec": spec})
}

async fn state(cluster: &TestCluster, wanted: &str) -> Value {
    until_or(
        &format!("the trait is {wanted}"),
        || cluster.get(STANDARD, TRAIT, "release"),
        |found| found.as_ref().is_some_and(|found| found["status"]["rollingState"] == wanted),
    )
    .await
    .unwrap()
}

async fn owners(cluster: &TestCluster, name: &str) -> Vec<(String, bool)> {
    let live = cluster.deployment(name).await.unwrap();
    let owners = live["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    owners
        .iter()
        .map(|each| (each["kind"].as_str().unwrap().to_owned(), each["controller"] == true))
        .collect()
}

#[tokio::test]
pub(super) async fn pods_go_between_foreign_workloads() {
    let cluster = TestCluster::new().await;
    for (name, pods) in [("one", 3), ("two", 1), ("new", 0)] {
        cluster.create(deployment(name, pods)).await;
        has(&cluster, name, pods).await;
    }
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    let mut plan = json!({"targetSize": 4, "numBatches": 2, "batchPartition": 0});
    cluster.create(rollout(spec("new", &["one", "two"], plan.clone()))).await;
    has(&cluster, "new", 2).await;
    let held = until_or(
        "the first batch is done",
        || cluster.get(STANDARD, TRAIT, "release"),
        |found| found.as_ref().unwrap()["status"]["batchRollingState"] == "batchReady",
    )
    .await
    .unwrap();
    assert_eq!(held["status"]["lastTargetRef"], reference("new"));
    assert_eq!(owners(&cluster, "new").await, [("RolloutTrait".to_owned(), true)], "held while it rolls");
    cluster.quiet().await;
    plan["batchPartition"] = Value::Null;
    cluster.patch(STANDARD, TRAIT, "release", json!({"spec": {"rolloutPlan": plan}})).await;
    state(&cluster, "rolloutSucceed").await;
    for (name, pods) in [("one", 0), ("two", 0), ("new", 4)] {
        has(&cluster, name, pods).await;
        assert_eq!(owners(&cluster, name).await, [], "{name} is let go");
    }
    bounds.assert_held(4, i64::MAX);
    // Without a source it is scaled, and again whenever the size that is wanted changes.
    for (size, batch) in [(6, 2), (2, 4)] {
        let plan = json!({"targetSize": size, "numBatches": null, "rolloutBatches": [{"replicas": batch}]});
        cluster
            .patch(STANDARD, TRAIT, "release", json!({"spec": {"sourceRef": null, "rolloutPlan": plan}}))
            .await;
        has(&cluster, "new", size).await;
        state(&cluster, "rolloutSucceed").await;
    }
    cluster.delete(STANDARD, TRAIT, "release").await;
    cluster.gone(STANDARD, TRAIT, "release").await;
    assert_eq!(pods(&cluster, "new").await, (2, 2), "what was rolled out stays");
}

#[tokio::test]
async fn a_trait_that_is_abandoned_lets_go_where_it_stands() {
    let cluster = TestCluster::new().await;
    for (name, pods) in [("old", 4), ("new", 0)] {
        cluster.create(deployment(name, pods)).await;
        has(&cluster, name, pods).await;
    }
    let mut plan = batches(&[1, 3]);
    plan["batchPartition"] = json!(0);
    cluster.create(rollout(spec("new", &["old"], plan))).await;
    has(&cluster, "new", 1).await;
    has(&cluster, "old", 3).await;
    let abandoned = json!({"metadata": {"annotations": {"app.oam.dev/abandon-rollout": "true"}}});
    cluster.patch(STANDARD, TRAIT, "release", abandoned).await;
    let over = state(&cluster, "rolloutFailed").await;
    assert!(over["status"]["conditions"].to_string().contains("a user abandoned it"), "{over:#}");
    for (name, pods) in [("old", 3), ("new", 1)] {
        has(&cluster, name, pods).await;
        assert_eq!(owners(&cluster, name).await, [], "{name} is let go");
    }
}

#[tokio::test]
async fn a_configuration_lends_its_workloads_to_its_own_trait() {
    let cluster = TestCluster::new().await;
    for (name, image) in [("old", "nginx:1"), ("new", "nginx:2")] {
        cluster.create(component(name, image)).await;
    }
    cluster.create(configuration("shop", json!([{"componentName": "old"}]))).await;
    has_pods(&cluster, "old", 1).await;
    // No other client writes the number of pods.
    cluster.patch("apps/v1", "Deployment", "old", json!({"spec": {"replicas": 4}})).await;
    has(&cluster, "old", 4).await;
    let mut plan = batches(&[2, 2]);
    plan["targetSize"] = json!(4);
    let release = json!({"trait": rollout(spec("new", &["old"], plan))});
    let components = json!([{"componentName": "old"}, {"componentName": "new", "traits": [release]}]);
    cluster
        .patch(
            "core.oam.dev/v1alpha2",
            "ApplicationConfiguration",
            "shop",
            json!({"spec": {"components": components}}),
        )
        .await;
    until_or(
        "it is rolled out",
        || cluster.list(STANDARD, TRAIT),
        |found| found.first().is_some_and(|found| found["status"]["rollingState"] == "rolloutSucceed"),
    )
    .await;
    has(&cluster, "new", 4).await;
    has(&cluster, "old", 0).await;
    for name in ["old", "new"] {
        assert_eq!(owners(&cluster, name).await, [("ApplicationConfiguration".to_owned(), true)]);
    }
    cluster.quiet().await;
    assert_eq!(
        (pods(&cluster, "old").await.0, pods(&cluster, "new").await.0),
        (0, 4),
        "no client sets it back"
    );
    cluster.delete("core.oam.dev/v1alpha2", "ApplicationConfiguration", "shop").await;
    until("everything is gone", || async {
        cluster.deployment("old").await.is_none()
            && cluster.deployment("new").await.is_none()
            && cluster.list(STANDARD, TRAIT).await.is_empty()
    })
    .await;
}

async fn has_pods(cluster: &TestCluster, name: &str, wanted: i64) {
    until(name, || async { cluster.deployment(name).await.is_some() }).await;
    has(cluster, name, wanted).await;
}

#[tokio::test]
async fn controlled_workloads_are_not_taken_and_errors_are_reported() {
    let cluster = TestCluster::new().await;
    cluster.create(component("old", "nginx:1")).await;
    cluster.create(configuration("shop", json!([{"componentName": "old"}]))).await;
    has_pods(&cluster, "old", 1).await;
    cluster.create(deployment("new", 0)).await;
    has(&cluster, "new", 0).await;
    let before = cluster.deployment("old").await.unwrap();
    let says = async |text: &str| {
        until_or(
            text,
            || cluster.get(STANDARD, TRAIT, "release"),
            |found| found.as_ref().unwrap()["status"]["conditions"].to_string().contains(text),
        )
        .await;
    };
    cluster.create(rollout(spec("new", &["new"], json!({"rolloutBatches": [{"replicas": -1}]})))).await;
    says("spec.rolloutPlan.rolloutBatches[0].replicas: ").await;
    let change = async |spec: Value| cluster.patch(STANDARD, TRAIT, "release", json!({ "spec": spec })).await;
    change(json!({"rolloutPlan": {"rolloutBatches": [{"replicas": 1}]}})).await;
    says("spec.sourceRef[0]: Deployment new is the target too").await;
    change(json!({"sourceRef": [reference("absent")]})).await;
    says("the source Deployment is not there").await;
    change(json!({"sourceRef": [reference("old")]})).await;
    let failed = state(&cluster, "rolloutFailed").await;
    let conditions = failed["status"]["conditions"].to_string();
    assert!(conditions.contains("has a controller owner: ApplicationConfiguration shop"), "{conditions}");
    assert_eq!(cluster.deployment("old").await.unwrap()["spec"], before["spec"]);
    assert_eq!(pods(&cluster, "new").await, (0, 0));
}

#[tokio::test]
async fn cut_off_at_any_write_it_goes_on_and_deleted_it_lets_go() {
    let mut cluster = TestCluster::new().await;
    for (name, pods) in [("one", 4), ("two", 0)] {
        cluster.create(deployment(name, pods)).await;
        has(&cluster, name, pods).await;
    }
    cluster.create(rollout(spec("two", &["one"], batches(&[2, 2])))).await;
    state(&cluster, "rolloutSucceed").await;
    has(&cluster, "two", 4).await;
    let bounds = PodBounds::follow(cluster.api("apps/v1", "Deployment").await);
    let mut cut = 0;
    for after in 0.. {
        let (left, broken) = (Arc::new(AtomicUsize::new(after)), Arc::new(AtomicUsize::new(0)));
        let (rule, hit) = (left, broken.clone());
        let lost = if after % 2 == 0 { Injection::DropRequest } else { Injection::DropAnswer };
        cluster.faults.inject(move |entry| {
            if !entry.writes()
                || entry.is_event()
                || !(entry.path.contains("/rollouttraits") || entry.path.contains("/deployments"))
            {
                return Injection::Pass;
            }
            match rule.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Injection::Pass,
                Err(_) if hit.fetch_add(1, Ordering::SeqCst) == 0 => lost,
                Err(_) => Injection::DropRequest,
            }
        });
        let (target, source) = if after % 2 == 0 { ("one", "two") } else { ("two", "one") };
        let to = spec(target, &[source], batches(&[2, 2]));
        cluster.patch(STANDARD, TRAIT, "release", json!({ "spec": to })).await;
        let reached = async || {
            let found = cluster.get(STANDARD, TRAIT, "release").await.unwrap();
            found["status"]["rollingState"] == "rolloutSucceed"
                && found["status"]["lastTargetRef"]["name"] == target
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
        let cluster = &cluster;
        until(&format!("{target} is reached though write {after} was cut"), || async {
            let found = cluster.get(STANDARD, TRAIT, "release").await.unwrap();
            found["status"]["rollingState"] == "rolloutSucceed"
                && found["status"]["lastTargetRef"]["name"] == target
        })
        .await;
        has(cluster, target, 4).await;
        has(cluster, source, 0).await;
        if !is_cut {
            break;
        }
        cut += 1;
    }
    assert!(cut > 8, "a rollout in two batches has more writes than {cut}");
    bounds.assert_held(4, 4 + 2);
    // Deleted half-way it lets go, and everything stays as it stands.
    let full = if pods(&cluster, "one").await.0 == 4 { "one" } else { "two" };
    let empty = if full == "one" { "two" } else { "one" };
    let mut plan = batches(&[2, 2]);
    plan["batchPartition"] = json!(0);
    cluster.patch(STANDARD, TRAIT, "release", json!({"spec": spec(empty, &[full], plan)})).await;
    has(&cluster, empty, 2).await;
    has(&cluster, full, 2).await;
    cluster.delete(STANDARD, TRAIT, "release").await;
    cluster.gone(STANDARD, TRAIT, "release").await;
    for name in ["one", "two"] {
        assert_eq!(owners(&cluster, name).await, []);
        has(&cluster, name, 2).await;
    }
}
