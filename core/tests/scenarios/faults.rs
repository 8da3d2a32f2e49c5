//! Requests that fail and controllers that die: whatever happens in between, the end is the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use vela_runtime::fault::Injection;

use super::world::{World, application, until, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

#[tokio::test]
async fn killed_after_any_write_it_converges() {
    for (after, lost) in
        (0..8).flat_map(|after| [(after, Injection::DropRequest), (after, Injection::DropAnswer)])
    {
        let mut world = World::without_controllers().await;
        let left = Arc::new(AtomicUsize::new(after));
        let broken = Arc::new(AtomicUsize::new(0));
        let (rule, hit) = (left.clone(), broken.clone());
        world.faults.inject(move |entry| {
            if !entry.writes() || entry.is_event() {
                return Injection::Pass;
            }
            match rule.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Injection::Pass,
                // From here on nothing gets through; the first one decides what the server saw.
                Err(_) => match hit.fetch_add(1, Ordering::SeqCst) {
                    0 => lost,
                    _ => Injection::DropRequest,
                },
            }
        });
        world.start();
        world.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
        until("a write was broken", || {
            let broken = broken.load(Ordering::SeqCst) > 0;
            async move { broken }
        })
        .await;
        world.kill().await;
        world.faults.heal();
        // The user goes on while nobody is there.
        world
            .patch(OAM, "Application", "shop", json!({"spec": {"components": [web("front", "nginx:2")]}}))
            .await;
        world.start();
        world.phase("shop", "running").await;
        world.rested(1).await;
        let image = |deployment: serde_json::Value| {
            deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned()
        };
        assert_eq!(image(world.deployment("front").await.unwrap()), "nginx:2", "cut after {after}, {lost:?}");
        // What the second wish no longer names goes after its quiet time: no orphan, however the first reconcile was cut.
        let what = format!("the record is complete: cut after {after}, {lost:?}");
        let tracker = until_or(
            &what,
            || world.tracker("shop"),
            |tracker| tracker.as_ref().unwrap()["spec"]["complete"] == true,
        );
        let tracker = tracker.await.unwrap();
        assert!(world.deployment("back").await.is_none(), "no orphan: cut after {after}, {lost:?}");
        assert_eq!(tracker["spec"]["managedResources"].as_array().unwrap().len(), 2);
        world.delete(OAM, "Application", "shop").await;
        world.gone(OAM, "Application", "shop").await;
        world.stop().await;
    }
}

#[tokio::test]
async fn every_third_write_lost_it_still_gets_there() {
    let world = World::new().await;
    let count = Arc::new(AtomicUsize::new(0));
    world.faults.inject(move |entry| {
        let lose = entry.writes() && count.fetch_add(1, Ordering::SeqCst) % 3 == 2;
        if !lose {
            Injection::Pass
        } else if entry.path.len() % 2 == 0 {
            Injection::DropRequest
        } else {
            Injection::DropAnswer
        }
    });
    world.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    world.phase("shop", "running").await;
    world.delete(OAM, "Application", "shop").await;
    world.gone(OAM, "Application", "shop").await;
    assert!(world.tracker("shop").await.is_none());
}

#[tokio::test]
async fn nothing_is_pruned_while_the_new_set_is_not_complete() {
    let world = World::new().await;
    world.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    world.phase("shop", "running").await;
    // The new set replaces `back` by `next`, which cannot be applied.
    world.faults.inject(|entry| {
        if entry.writes() && entry.path.contains("/deployments/next") {
            Injection::DropRequest
        } else {
            Injection::Pass
        }
    });
    let components = json!({"spec": {"components": [web("front", "nginx:2"), web("next", "nginx:1")]}});
    world.patch(OAM, "Application", "shop", components).await;
    until("the failure is told", || async {
        world.application("shop").await["status"].to_string().contains("Deployment")
            && world.application("shop").await["status"]["status"] == "runningWorkflow"
    })
    .await;
    assert!(world.deployment("back").await.is_some(), "the old object stays until the new set is there");
    world.faults.heal();
    world.phase("shop", "running").await;
    world.gone("apps/v1", "Deployment", "back").await;
}

#[tokio::test]
async fn a_definition_gets_its_workload_kind_though_the_cluster_did_not_tell_its_kinds_at_first() {
    let mut world = World::without_controllers().await;
    let refused = Arc::new(AtomicUsize::new(0));
    let count = refused.clone();
    world.faults.inject(move |entry| {
        let asks = entry.path.split('?').next() == Some("/api/v1");
        if asks && count.fetch_add(1, Ordering::SeqCst) < 3 {
            Injection::DropRequest
        } else {
            Injection::Pass
        }
    });
    world.start();
    world.create(super::definitions::note("!")).await;
    let made = || world.get(OAM, "WorkloadDefinition", "note");
    until_or("the workload kind is there", made, |found| found.is_some()).await;
    assert!(refused.load(Ordering::SeqCst) > 3, "the kinds were asked for again");
}
