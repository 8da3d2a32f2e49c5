//! Objects of a configuration that no owner reference reaches: collected with it, and nobody else's with them.

use serde_json::{Value, json};

use super::configuration::{complaint, component, configuration, synced};
use super::world::{World, until};

const OAM: &str = "core.oam.dev/v1alpha2";
const AC: &str = "ApplicationConfiguration";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Names of objects without a namespace are of the whole cluster, which the tests share on a real one.
fn role(world: &World) -> String {
    format!("{}-role", world.namespace)
}

fn component_of(name: &str, workload: Value) -> Value {
    json!({"apiVersion": OAM, "kind": "Component", "metadata": {"name": name}, "spec": {"workload": workload}})
}

async fn a_second_namespace(world: &World) -> World {
    let name = format!("{}-other", world.namespace);
    world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).await;
    World::in_namespace(world, &name)
}

fn entries(other: &str, with_trait: bool) -> Value {
    let words = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words", "namespace": other}, "data": {"a": "b"}});
    let traits = if with_trait { json!([{"trait": words}]) } else { json!([]) };
    json!([{"componentName": "front", "traits": traits}, {"componentName": "rights"}])
}

#[tokio::test]
async fn what_is_elsewhere_goes_with_its_configuration() {
    let mut world = World::unbounded().await;
    let other = a_second_namespace(&world).await;
    let third = a_second_namespace(&other).await;
    let rights =
        json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": role(&world)}, "rules": []});
    world.create(component("front", "nginx:1")).await;
    world.create(component_of("rights", rights)).await;
    // A namesake in a third namespace, which nobody's configuration made.
    third.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "words", "labels": {"app.oam.dev/name": "shop"}}})).await;
    world.create(configuration("shop", entries(&other.namespace, true))).await;
    synced(&world, "shop").await;
    let words = other.get("v1", "ConfigMap", "words").await.unwrap();
    assert!(words["metadata"]["ownerReferences"].is_null());
    assert!(world.get(RBAC, "ClusterRole", &role(&world)).await.is_some());
    world.quiet().await;

    // Moved: the one that is left behind goes.
    let spec = entries(&world.namespace, true);
    world.patch(OAM, AC, "shop", json!({"spec": {"components": spec}})).await;
    other.gone("v1", "ConfigMap", "words").await;
    assert!(world.get("v1", "ConfigMap", "words").await.is_some());
    let spec = entries(&other.namespace, true);
    world.patch(OAM, AC, "shop", json!({"spec": {"components": spec}})).await;
    until("it is made again", || async { other.get("v1", "ConfigMap", "words").await.is_some() }).await;
    world.gone("v1", "ConfigMap", "words").await;
    // Dropped: it goes, the others stay.
    let spec = entries(&other.namespace, false);
    world.patch(OAM, AC, "shop", json!({"spec": {"components": spec}})).await;
    other.gone("v1", "ConfigMap", "words").await;
    assert!(world.get(RBAC, "ClusterRole", &role(&world)).await.is_some());
    let spec = entries(&other.namespace, true);
    world.patch(OAM, AC, "shop", json!({"spec": {"components": spec}})).await;
    until("it is back", || async { other.get("v1", "ConfigMap", "words").await.is_some() }).await;
    synced(&world, "shop").await;

    // Deleted while nobody is there: the next start collects it.
    world.stop().await;
    world.delete(OAM, AC, "shop").await;
    world.start_unbounded();
    world.gone(OAM, AC, "shop").await;
    other.gone("v1", "ConfigMap", "words").await;
    world.gone(RBAC, "ClusterRole", &role(&world)).await;
    assert!(third.get("v1", "ConfigMap", "words").await.is_some(), "it is somebody else's");
}

#[tokio::test]
async fn two_configurations_do_not_share_an_object_elsewhere() {
    let world = World::unbounded().await;
    let rights =
        json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": role(&world)}, "rules": []});
    world.create(component_of("rights", rights)).await;
    world.create(configuration("first", json!([{"componentName": "rights"}]))).await;
    synced(&world, "first").await;
    world.create(configuration("second", json!([{"componentName": "rights"}]))).await;
    complaint(&world, "second", "existing object belongs to ApplicationConfiguration").await;
    world.delete(OAM, AC, "second").await;
    world.gone(OAM, AC, "second").await;
    assert!(world.get(RBAC, "ClusterRole", &role(&world)).await.is_some());
    // Taken over by a controller of its own, it stays.
    let boss =
        world.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "boss"}})).await;
    let owner = json!([{"apiVersion": "rbac.example.com/v1", "kind": "Boss", "name": "boss", "uid": boss.metadata.uid, "controller": true}]);
    world.delete(OAM, AC, "first").await;
    world.gone(OAM, AC, "first").await;
    world.gone(RBAC, "ClusterRole", &role(&world)).await;
    let kept = json!({"apiVersion": RBAC, "kind": "ClusterRole", "rules": [], "metadata": {
        "name": role(&world), "ownerReferences": owner, "labels": {"app.oam.dev/name": "first"}}});
    world.create(kept).await;
    world.create(configuration("first", json!([{"componentName": "rights"}]))).await;
    complaint(&world, "first", "it belongs to Boss boss").await;
    world.delete(OAM, AC, "first").await;
    world.gone(OAM, AC, "first").await;
    let left = world.get(RBAC, "ClusterRole", &role(&world)).await;
    assert!(left.is_some_and(|left| left["metadata"]["deletionTimestamp"].is_null()));
}
