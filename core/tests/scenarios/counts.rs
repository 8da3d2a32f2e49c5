//! How many requests an application costs; printed, so that the figures can be recorded.

use serde_json::json;
use vela_runtime::fault::Entry;

use super::world::{World, application, web};

const OAM: &str = "core.oam.dev/v1beta1";

fn print(what: &str, requests: &[Entry]) {
    let events = requests.iter().filter(|entry| entry.is_event()).count();
    let writes = requests.iter().filter(|entry| entry.writes() && !entry.is_event()).count();
    let reads = requests.iter().filter(|entry| !entry.writes()).count();
    println!("requests: {what}: {writes} writes, {reads} reads, {events} events");
    for entry in requests {
        println!("    {} {}", entry.method, entry.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_costs_few_requests_and_an_unchanged_one_no_write() {
    let mut world = World::new().await;
    // One application before, so that discovery and watches of its kinds are there already.
    world.create(application("warm", &[web("warm", "nginx:1")])).await;
    world.phase("warm", "running").await;
    world.rested(1).await;
    world.requests();

    world.create(application("shop", &[web("front", "nginx:1")])).await;
    world.phase("shop", "running").await;
    world.rested(1).await;
    print("create (2 objects)", &world.requests());

    world.quiet().await;
    world.resync("web").await;
    let touched = world.requests();
    print("no-change resync", &touched);
    assert_eq!(touched.iter().filter(|entry| entry.writes()).count(), 0, "{touched:#?}");

    world.patch(OAM, "Application", "shop", json!({"spec": {"components": [web("front", "nginx:2")]}})).await;
    world.phase("shop", "running").await;
    world.rested(1).await;
    let updated = world.requests();
    print("one-field update", &updated);
    let writes =
        |object: &str| updated.iter().filter(|entry| entry.writes() && entry.path.contains(object)).count();
    assert_eq!(writes("/deployments/front"), 1, "{updated:#?}");
    // Only the label with the name of the revision would change: it says which revision last changed the object.
    assert_eq!(writes("/services/front"), 0, "{updated:#?}");

    world.quiet().await;
    world.stop().await;
    world.requests();
    world.start();
    world.rested(2).await;
    let restarted = world.writes();
    assert!(restarted.is_empty(), "a restart writes nothing: {restarted:#?}");

    world.delete(OAM, "Application", "shop").await;
    world.gone(OAM, "Application", "shop").await;
    world.rested(1).await;
    print("delete (2 objects)", &world.requests());
}
