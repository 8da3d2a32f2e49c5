//! Fields that cannot change, wanted by ApplicationConfigurations: made again or told about by the rule of Applications.

use serde_json::{Value, json};

use super::configuration::{complaint, configuration, named, synced, uid};
use super::fixed::{job, store};
use super::world::{World, until_or};

const OAM: &str = "core.oam.dev/v1alpha2";
const AC: &str = "ApplicationConfiguration";

fn component(name: &str, workload: &Value) -> Value {
    json!({"apiVersion": OAM, "kind": "Component", "metadata": {"name": name}, "spec": {"workload": workload}})
}

async fn wish(world: &World, name: &str, workload: &Value) {
    world.patch(OAM, "Component", name, json!({"spec": {"workload": workload}})).await;
}

#[tokio::test]
async fn a_changed_job_is_made_again_once_the_change_stays() {
    let world = World::new().await;
    world.create(component("once", &job("busybox:1", "Never"))).await;
    world.create(configuration("shop", named(&["once"]))).await;
    synced(&world, "shop").await;
    let look = || async { world.get("batch/v1", "Job", "once").await };
    let before = uid(&look().await.unwrap());
    // There and back: nothing is lost to a passing wish.
    wish(&world, "once", &job("busybox:2", "Never")).await;
    wish(&world, "once", &job("busybox:1", "Never")).await;
    world.quiet().await;
    synced(&world, "shop").await;
    assert_eq!(uid(&look().await.unwrap()), before);
    wish(&world, "once", &job("busybox:2", "Never")).await;
    let another = |found: &Option<Value>| {
        found.as_ref().is_some_and(|job| {
            uid(job) != before && job["spec"]["template"]["spec"]["containers"][0]["image"] == "busybox:2"
        })
    };
    until_or("it is made again", look, another).await;
    synced(&world, "shop").await;
    let told = || async {
        let events = world.list("events.k8s.io/v1", "Event").await;
        events.into_iter().filter(|event| event["reason"] == "Recreated").count()
    };
    until_or("it is told", told, |count| *count == 1).await;
    world.delete(OAM, AC, "shop").await;
    world.gone("batch/v1", "Job", "once").await;
}

#[tokio::test]
async fn what_may_hold_data_is_told_about_and_not_tried_again_and_again() {
    let world = World::new().await;
    world.create(component("data", &store("first"))).await;
    world.create(component("once", &job("busybox:1", "Never"))).await;
    world.create(configuration("shop", named(&["data", "once"]))).await;
    synced(&world, "shop").await;
    let look = || async { world.get("apps/v1", "StatefulSet", "data").await };
    let before = uid(&look().await.unwrap());
    wish(&world, "data", &store("second")).await;
    complaint(&world, "shop", "--cascade=orphan").await;
    let reason = world.get(OAM, AC, "shop").await.unwrap()["status"]["conditions"][0]["reason"].clone();
    assert_eq!(reason, "Refused");
    world.quiet().await;
    world.rested_of("applicationconfiguration", 1).await;
    // Another look at the same costs no request for it, and its neighbour is looked after.
    let looks = world.reconciles("applicationconfiguration");
    world.requests();
    let once = uid(&world.get("batch/v1", "Job", "once").await.unwrap());
    world.delete("batch/v1", "Job", "once").await;
    let another = |found: &Option<Value>| found.as_ref().is_some_and(|job| uid(job) != once);
    until_or("its neighbour comes back", || world.get("batch/v1", "Job", "once"), another).await;
    world.rested_of("applicationconfiguration", looks + 1).await;
    let asked: Vec<_> =
        world.requests().into_iter().filter(|entry| entry.path.contains("/statefulsets/")).collect();
    assert!(asked.is_empty(), "it was refused for good: {asked:#?}");
    assert_eq!(uid(&look().await.unwrap()), before);
    // Whoever deletes it by hand gets it made again.
    world.delete("apps/v1", "StatefulSet", "data").await;
    let second =
        |found: &Option<Value>| found.as_ref().is_some_and(|store| store["spec"]["serviceName"] == "second");
    until_or("it is made again", look, second).await;
    synced(&world, "shop").await;
}
