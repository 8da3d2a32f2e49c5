//! ApplicationConfigurations that cannot be rendered any more: what runs of them is kept as it was applied last.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use vela_runtime::fault::Injection;

use super::configuration::{complaint, component, configuration, deployed, image, named, synced};
use super::last_good::comes_back;
use super::test_cluster::{TestCluster, until_or};

/// More often than anything else makes the configuration be looked at.
const LOST: usize = 9;
const OAM: &str = "core.oam.dev/v1alpha2";
const AC: &str = "ApplicationConfiguration";
const SCALER: &str = "ManualScalerTrait";

/// A type of trait that scales.
fn counter() -> Value {
    json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition", "metadata": {"name": "counter"},
        "spec": {"definitionRef": {"name": "manualscalertraits.core.oam.dev"}, "workloadRefPath": "spec.workloadRef"}})
}

/// A configuration of two components, one of them with a trait of that type, as admission makes it of the type's name.
fn shop() -> Value {
    let metadata = json!({"name": "two", "labels": {"trait.oam.dev/type": "counter"}});
    let scaled = json!({"trait": {"apiVersion": OAM, "kind": SCALER, "metadata": metadata, "spec": {"replicaCount": 2}}});
    configuration("shop", json!([{"componentName": "front", "traits": [scaled]}, {"componentName": "back"}]))
}

async fn running() -> TestCluster {
    let cluster = TestCluster::new().await;
    cluster.create(counter()).await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(component("back", "nginx:1")).await;
    cluster.create(shop()).await;
    synced(&cluster, "shop").await;
    cluster
}

/// Wait until the trait is there and points at the workload.
async fn is_scaled(cluster: &TestCluster) {
    let points = |found: &Option<Value>| {
        found.as_ref().is_some_and(|found| found["spec"]["workloadRef"]["name"] == "front")
    };
    until_or("the trait points at its workload", || cluster.get(OAM, SCALER, "two"), points).await;
}

#[tokio::test]
async fn a_deleted_definition_does_not_stop_the_care_for_objects() {
    let mut cluster = running().await;
    is_scaled(&cluster).await;
    cluster.delete("core.oam.dev/v1beta1", "TraitDefinition", "counter").await;
    complaint(
        &cluster,
        "shop",
        "trait definition \"counter\", by which it was applied, is not there any more",
    )
    .await;
    complaint(&cluster, "shop", "(at spec.components[0].traits[0].trait)").await;
    complaint(&cluster, "shop", "what runs is kept as revision shop.configuration-v").await;
    comes_back(&cluster, "apps/v1", "Deployment", "back").await;
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    comes_back(&cluster, OAM, SCALER, "two").await;
    is_scaled(&cluster).await;
    // What is changed by hand is changed back.
    let theirs = json!({"spec": {"template": {"metadata": {"labels": {"app": "back"}}, "spec": {"containers": [
        {"name": "main", "image": "nginx:theirs"}]}}}});
    cluster.patch("apps/v1", "Deployment", "back", theirs).await;
    deployed(&cluster, "back", "nginx:1").await;
    // Another process knows as much.
    cluster.stop().await;
    cluster.delete("apps/v1", "Deployment", "front").await;
    cluster.start();
    deployed(&cluster, "front", "nginx:1").await;
    cluster.create(counter()).await;
    synced(&cluster, "shop").await;
}

#[tokio::test]
async fn a_lost_record_is_written_later_without_a_change() {
    let cluster = TestCluster::new().await;
    let tried = Arc::new(AtomicUsize::new(0));
    let count = tried.clone();
    cluster.faults.inject(move |entry| {
        let record = entry.method == "POST" && entry.path.contains("/applicationrevisions");
        if record && count.fetch_add(1, Ordering::Relaxed) < LOST {
            return Injection::DropRequest;
        }
        Injection::Pass
    });
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(component("back", "nginx:1")).await;
    cluster.create(configuration("shop", named(&["front", "back"]))).await;
    let records = || async { cluster.list("core.oam.dev/v1beta1", "ApplicationRevision").await.len() };
    until_or("what was applied is recorded", records, |stored| *stored > 0).await;
    assert!(tried.load(Ordering::Relaxed) > LOST);
    synced(&cluster, "shop").await;
}

#[tokio::test]
async fn a_component_that_breaks_does_not_stop_the_care_for_what_runs() {
    let cluster = running().await;
    let size = json!({"name": "size", "required": true, "fieldPaths": ["spec.replicas"]});
    let mut broken = image("nginx:broken");
    broken["spec"]["parameters"] = json!([size]);
    cluster.patch(OAM, "Component", "front", broken).await;
    complaint(&cluster, "shop", "required parameter \"size\" not specified").await;
    complaint(&cluster, "shop", "is kept as revision").await;
    for name in ["front", "back"] {
        comes_back(&cluster, "apps/v1", "Deployment", name).await;
        deployed(&cluster, name, "nginx:1").await;
    }
    let mut mended = image("nginx:2");
    mended["spec"]["parameters"] = Value::Null;
    cluster.patch(OAM, "Component", "front", mended).await;
    deployed(&cluster, "front", "nginx:2").await;
    synced(&cluster, "shop").await;
    cluster.delete(OAM, "Component", "front").await;
    complaint(&cluster, "shop", "Component.core.oam.dev \"front\" not found").await;
    complaint(&cluster, "shop", "is kept as revision").await;
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    deployed(&cluster, "front", "nginx:2").await;
}

#[tokio::test]
async fn a_deleted_scope_definition_does_not_stop_the_care() {
    let cluster = TestCluster::new().await;
    cluster.create(component("front", "nginx:1")).await;
    cluster
        .create(json!({"apiVersion": OAM, "kind": "HealthScope", "metadata": {"name": "well"},
            "spec": {"workloadRefs": []}}))
        .await;
    let definition = "healthscopes.core.oam.dev";
    let kind = "ScopeDefinition";
    if cluster.get("core.oam.dev/v1beta1", kind, definition).await.is_none() {
        cluster
            .create(
                json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind, "metadata": {"name": definition},
                "spec": {"workloadRefsPath": "spec.workloadRefs", "allowComponentOverlap": true,
                    "definitionRef": {"name": definition}}}),
            )
            .await;
    }
    let scope = json!({"scopeRef": {"apiVersion": OAM, "kind": "HealthScope", "name": "well"}});
    cluster.create(configuration("shop", json!([{"componentName": "front", "scopes": [scope]}]))).await;
    synced(&cluster, "shop").await;
    cluster.delete("core.oam.dev/v1beta1", kind, definition).await;
    complaint(&cluster, "shop", "cannot find scope definition").await;
    complaint(&cluster, "shop", "is kept as revision").await;
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
}

#[tokio::test]
async fn removed_objects_do_not_come_back_and_leave_nothing() {
    let cluster = running().await;
    let entries = shop()["spec"]["components"][0].clone();
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": [entries]}})).await;
    cluster.gone("apps/v1", "Deployment", "back").await;
    synced(&cluster, "shop").await;
    cluster.delete("core.oam.dev/v1beta1", "TraitDefinition", "counter").await;
    complaint(&cluster, "shop", "is kept as revision shop.configuration-v").await;
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    // Its own mistake is no reason to let go, either.
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": named(&["missing"])}})).await;
    complaint(&cluster, "shop", "\"missing\" not found").await;
    comes_back(&cluster, "apps/v1", "Deployment", "front").await;
    assert!(cluster.deployment("back").await.is_none());
    cluster.delete(OAM, AC, "shop").await;
    cluster.gone("apps/v1", "Deployment", "front").await;
    let records = || async { cluster.list("core.oam.dev/v1beta1", "ApplicationRevision").await.len() };
    until_or("its records are gone", records, |left| *left == 0).await;
}
