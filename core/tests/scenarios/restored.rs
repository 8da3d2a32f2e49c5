//! The store is set back to an earlier state under running controllers: they go on with the world as it is now, without a restart, and
//! delete nothing of it.

use serde_json::{Value, json};
use vela_runtime::fault::Entry;

use super::world::{World, application, until, web};

const OAM: &str = "core.oam.dev/v1beta1";

async fn uid(world: &World, name: &str) -> Value {
    world.deployment(name).await.unwrap()["metadata"]["uid"].clone()
}

async fn image_is(world: &World, name: &str, image: &str) {
    until(&format!("{name} has {image}"), || async {
        let found = world.deployment(name).await.unwrap_or_default();
        found["spec"]["template"]["spec"]["containers"][0]["image"] == image
    })
    .await;
}

fn of(components: Vec<Value>) -> Value {
    json!({"spec": {"components": components}})
}

/// The version that the server is at.
async fn version(world: &World) -> u64 {
    let number = world.list("v1", "ConfigMap").await.len();
    let note = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("at-{number}")}});
    let written = world.create(note).await;
    written.metadata.resource_version.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_set_back_is_served_on() {
    let mut world = World::new().await;
    world.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    world.create(application("goes", &[web("gone", "nginx:1")])).await;
    world.phase("shop", "running").await;
    world.phase("goes", "running").await;
    let uids = [uid(&world, "front").await, uid(&world, "back").await, uid(&world, "gone").await];
    let Some(backup) = world.back_up() else {
        println!("skipped: e2e has this scenario for real clusters");
        return;
    };
    // What the controllers believe in the end: that "back" and "gone" must not be there.
    world.patch(OAM, "Application", "shop", of(vec![web("front", "nginx:2")])).await;
    world.delete(OAM, "Application", "goes").await;
    world.gone("apps/v1", "Deployment", "back").await;
    world.gone("apps/v1", "Deployment", "gone").await;
    world.create(application("late", &[web("late", "nginx:1")])).await;
    world.phase("late", "running").await;
    for number in 3..40 {
        world.patch(OAM, "Application", "shop", of(vec![web("front", &format!("nginx:{number}"))])).await;
    }
    image_is(&world, "front", "nginx:39").await;
    world.phase("shop", "running").await;
    let reached = version(&world).await;
    world.faults.take();
    world.restore(backup).await;
    // The generation is that of the first change after the backup, and the content another one.
    world.patch(OAM, "Application", "shop", of(vec![web("front", "nginx:1"), web("back", "nginx:5")])).await;
    image_is(&world, "back", "nginx:5").await;
    let now = version(&world).await;
    assert!(now < reached, "version {now} has passed {reached} already: nothing is shown");
    world.phase("shop", "running").await;
    world.phase("goes", "running").await;
    world.quiet().await;
    let deleted: Vec<Entry> =
        world.faults.take().into_iter().filter(|entry| entry.method == http::Method::DELETE).collect();
    assert!(deleted.is_empty(), "{deleted:?}");
    assert_eq!([uid(&world, "front").await, uid(&world, "back").await, uid(&world, "gone").await], uids);
    assert!(world.deployment("late").await.is_none() && world.application("late").await.is_null());
    // What they are told from now on they do, also deleting.
    world.patch(OAM, "Application", "shop", of(vec![web("front", "nginx:6")])).await;
    world.delete(OAM, "Application", "goes").await;
    world.gone("apps/v1", "Deployment", "back").await;
    world.gone("apps/v1", "Deployment", "gone").await;
    image_is(&world, "front", "nginx:6").await;
}
