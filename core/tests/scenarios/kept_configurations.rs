//! ApplicationConfigurations that cannot be rendered any more: what runs of them is kept as it was applied last.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use vela_runtime::fault::Injection;

use super::configuration::{complaint, component, configuration, deployed, image, named, synced};
use super::kept::comes_back;
use super::world::{World, until_or};

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

async fn running() -> World {
    let world = World::new().await;
    world.create(counter()).await;
    world.create(component("front", "nginx:1")).await;
    world.create(component("back", "nginx:1")).await;
    world.create(shop()).await;
    synced(&world, "shop").await;
    world
}

/// Wait until the trait is there and points at the workload.
async fn is_scaled(world: &World) {
    let points = |found: &Option<Value>| {
        found.as_ref().is_some_and(|found| found["spec"]["workloadRef"]["name"] == "front")
    };
    until_or("the trait points at its workload", || world.get(OAM, SCALER, "two"), points).await;
}

#[tokio::test]
async fn a_definition_that_is_gone_does_not_stop_the_care_for_what_runs() {
    let mut world = running().await;
    is_scaled(&world).await;
    world.delete("core.oam.dev/v1beta1", "TraitDefinition", "counter").await;
    complaint(&world, "shop", "trait definition \"counter\", by which it was applied, is not there any more")
        .await;
    complaint(&world, "shop", "(at spec.components[0].traits[0].trait)").await;
    complaint(&world, "shop", "what runs is kept as revision shop.configuration-v").await;
    comes_back(&world, "apps/v1", "Deployment", "back").await;
    comes_back(&world, "apps/v1", "Deployment", "front").await;
    comes_back(&world, OAM, SCALER, "two").await;
    is_scaled(&world).await;
    // What is changed by hand is changed back.
    let theirs = json!({"spec": {"template": {"metadata": {"labels": {"app": "back"}}, "spec": {"containers": [
        {"name": "main", "image": "nginx:theirs"}]}}}});
    world.patch("apps/v1", "Deployment", "back", theirs).await;
    deployed(&world, "back", "nginx:1").await;
    // Another process knows as much.
    world.stop().await;
    world.delete("apps/v1", "Deployment", "front").await;
    world.start();
    deployed(&world, "front", "nginx:1").await;
    world.create(counter()).await;
    synced(&world, "shop").await;
}

#[tokio::test]
async fn a_record_that_is_lost_is_written_later_though_nothing_changes() {
    let world = World::new().await;
    let tried = Arc::new(AtomicUsize::new(0));
    let count = tried.clone();
    world.faults.inject(move |entry| {
        let record = entry.method == "POST" && entry.path.contains("/applicationrevisions");
        if record && count.fetch_add(1, Ordering::Relaxed) < LOST {
            return Injection::DropRequest;
        }
        Injection::Pass
    });
    world.create(component("front", "nginx:1")).await;
    world.create(component("back", "nginx:1")).await;
    world.create(configuration("shop", named(&["front", "back"]))).await;
    let records = || async { world.list("core.oam.dev/v1beta1", "ApplicationRevision").await.len() };
    until_or("what was applied is recorded", records, |stored| *stored > 0).await;
    assert!(tried.load(Ordering::Relaxed) > LOST);
    synced(&world, "shop").await;
}

#[tokio::test]
async fn a_component_that_breaks_does_not_stop_the_care_for_what_runs() {
    let world = running().await;
    let size = json!({"name": "size", "required": true, "fieldPaths": ["spec.replicas"]});
    let mut broken = image("nginx:broken");
    broken["spec"]["parameters"] = json!([size]);
    world.patch(OAM, "Component", "front", broken).await;
    complaint(&world, "shop", "required parameter \"size\" not specified").await;
    complaint(&world, "shop", "is kept as revision").await;
    for name in ["front", "back"] {
        comes_back(&world, "apps/v1", "Deployment", name).await;
        deployed(&world, name, "nginx:1").await;
    }
    let mut mended = image("nginx:2");
    mended["spec"]["parameters"] = Value::Null;
    world.patch(OAM, "Component", "front", mended).await;
    deployed(&world, "front", "nginx:2").await;
    synced(&world, "shop").await;
    world.delete(OAM, "Component", "front").await;
    complaint(&world, "shop", "Component.core.oam.dev \"front\" not found").await;
    complaint(&world, "shop", "is kept as revision").await;
    comes_back(&world, "apps/v1", "Deployment", "front").await;
    deployed(&world, "front", "nginx:2").await;
}

#[tokio::test]
async fn a_scope_definition_that_is_gone_does_not_stop_the_care_for_what_runs() {
    let world = World::new().await;
    world.create(component("front", "nginx:1")).await;
    world
        .create(json!({"apiVersion": OAM, "kind": "HealthScope", "metadata": {"name": "well"},
            "spec": {"workloadRefs": []}}))
        .await;
    let definition = "healthscopes.core.oam.dev";
    let kind = "ScopeDefinition";
    if world.get("core.oam.dev/v1beta1", kind, definition).await.is_none() {
        world
            .create(
                json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind, "metadata": {"name": definition},
                "spec": {"workloadRefsPath": "spec.workloadRefs", "allowComponentOverlap": true,
                    "definitionRef": {"name": definition}}}),
            )
            .await;
    }
    let scope = json!({"scopeRef": {"apiVersion": OAM, "kind": "HealthScope", "name": "well"}});
    world.create(configuration("shop", json!([{"componentName": "front", "scopes": [scope]}]))).await;
    synced(&world, "shop").await;
    world.delete("core.oam.dev/v1beta1", kind, definition).await;
    complaint(&world, "shop", "cannot find scope definition").await;
    complaint(&world, "shop", "is kept as revision").await;
    comes_back(&world, "apps/v1", "Deployment", "front").await;
}

#[tokio::test]
async fn what_was_taken_out_does_not_come_back_and_what_goes_leaves_nothing() {
    let world = running().await;
    let entries = shop()["spec"]["components"][0].clone();
    world.patch(OAM, AC, "shop", json!({"spec": {"components": [entries]}})).await;
    world.gone("apps/v1", "Deployment", "back").await;
    synced(&world, "shop").await;
    world.delete("core.oam.dev/v1beta1", "TraitDefinition", "counter").await;
    complaint(&world, "shop", "is kept as revision shop.configuration-v").await;
    comes_back(&world, "apps/v1", "Deployment", "front").await;
    // Its own mistake is no reason to let go, either.
    world.patch(OAM, AC, "shop", json!({"spec": {"components": named(&["missing"])}})).await;
    complaint(&world, "shop", "\"missing\" not found").await;
    comes_back(&world, "apps/v1", "Deployment", "front").await;
    assert!(world.deployment("back").await.is_none());
    world.delete(OAM, AC, "shop").await;
    world.gone("apps/v1", "Deployment", "front").await;
    let records = || async { world.list("core.oam.dev/v1beta1", "ApplicationRevision").await.len() };
    until_or("its records are gone", records, |left| *left == 0).await;
}
