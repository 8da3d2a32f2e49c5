//! What is no longer named is deleted, and nothing else: whoever changes his mind, comes late or owns it otherwise.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use vela_runtime::fault::{Entry, Injection};

use super::world::{World, application, until, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";
const ALPHA: &str = "core.oam.dev/v1alpha2";

/// Longest time a held request waits for the test.
const HELD_AT_MOST: Duration = Duration::from_secs(60);

fn uid(object: &Option<Value>) -> String {
    object.as_ref().unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Holds the first request that matches: the first end tells that it is there, the second lets it go.
fn hold(world: &World, matches: fn(&Entry) -> bool) -> (Receiver<()>, Sender<()>) {
    let (there, told) = channel();
    let (go, gone) = channel();
    let gate = Mutex::new(Some((there, gone)));
    world.faults.inject(move |entry| {
        if matches(entry)
            && let Some((there, gone)) = gate.lock().unwrap().take()
        {
            there.send(()).unwrap();
            gone.recv_timeout(HELD_AT_MOST).unwrap();
        }
        Injection::Pass
    });
    (told, go)
}

async fn told(there: Receiver<()>) {
    tokio::task::spawn_blocking(move || there.recv_timeout(HELD_AT_MOST).unwrap()).await.unwrap();
}

fn shop(components: &[Value]) -> Value {
    json!({"spec": {"components": components}})
}

async fn running(world: &World) -> [Value; 2] {
    let both = [web("front", "nginx:1"), web("back", "nginx:1")];
    world.create(application("shop", &both)).await;
    world.phase("shop", "running").await;
    both
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconcile_that_decided_before_the_user_went_back_deletes_nothing() {
    let world = World::new().await;
    let both = running(&world).await;
    let before = uid(&world.deployment("back").await);
    // The reconcile of the second wish reads the object it is about to delete; meanwhile the user goes back.
    let (there, go) = hold(&world, |entry| entry.method == "GET" && entry.path.contains("/deployments/back"));
    world.patch(OAM, "Application", "shop", shop(&[web("front", "nginx:2")])).await;
    told(there).await;
    world.faults.take();
    world.patch(OAM, "Application", "shop", shop(&both)).await;
    go.send(()).unwrap();
    world.phase("shop", "running").await;
    world.rested(1).await;
    assert_eq!(uid(&world.deployment("back").await), before);
    let deleted: Vec<Entry> = world.writes().into_iter().filter(|entry| entry.method == "DELETE").collect();
    assert!(deleted.is_empty(), "{deleted:#?}");
    let tracker = world.tracker("shop").await.unwrap();
    assert_eq!(tracker["spec"]["complete"], true);
    assert_eq!(tracker["spec"]["managedResources"].as_array().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_configuration_deletes_nothing_that_its_application_wants_again() {
    let world = World::new().await;
    let alpha = |images: &[(&str, &str)]| {
        let component = |(name, image): &(&str, &str)| {
            json!({
                "name": name, "type": "web", "settings": {"image": image, "replicas": 2}
            })
        };
        let components: Vec<Value> = images.iter().map(component).collect();
        json!({
            "apiVersion": ALPHA, "kind": "Application", "metadata": {"name": "shop"}, "spec": {"components": components},
        })
    };
    let both = alpha(&[("front", "nginx:1"), ("back", "nginx:1")]);
    world.create(both.clone()).await;
    world.phase("shop", "running").await;
    let before = uid(&world.deployment("back").await);
    // The configuration's reconcile is about to delete what the second wish left out; the user goes back, and the reconcile that
    // stores this is late.
    let (there, go) = hold(&world, |entry| entry.method == "GET" && entry.path.contains("/deployments/back"));
    let spec = |application: &Value| json!({"spec": application["spec"]});
    world.patch(ALPHA, "Application", "shop", spec(&alpha(&[("front", "nginx:2")]))).await;
    told(there).await;
    let tried = Arc::new(AtomicBool::new(false));
    let tries = tried.clone();
    world.faults.inject(move |entry| {
        let stores = entry.method == "PATCH"
            && entry.path.contains("/applicationconfigurations/shop")
            && !entry.path.contains("/status");
        tries.fetch_or(stores, Ordering::Relaxed);
        if stores { Injection::DropRequest } else { Injection::Pass }
    });
    world.patch(ALPHA, "Application", "shop", spec(&both)).await;
    go.send(()).unwrap();
    until("the wish is stored in vain", || async { tried.load(Ordering::Relaxed) }).await;
    world.rested_of("applicationconfiguration", 1).await;
    assert_eq!(uid(&world.deployment("back").await), before);
    world.faults.heal();
    world.phase("shop", "running").await;
    world.rested(1).await;
    assert_eq!(uid(&world.deployment("back").await), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_sent_late_misses_an_object_that_was_written_since() {
    let world = World::new().await;
    running(&world).await;
    let before = uid(&world.deployment("back").await);
    let (there, go) =
        hold(&world, |entry| entry.method == "DELETE" && entry.path.contains("/deployments/back"));
    world.patch(OAM, "Application", "shop", shop(&[web("front", "nginx:2")])).await;
    told(there).await;
    // What another process does that wants the object again.
    world.patch("apps/v1", "Deployment", "back", json!({"metadata": {"labels": {"wanted": "again"}}})).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    world.faults.inject(move |entry| {
        if entry.method == "DELETE" {
            log.lock().unwrap().push(entry.path.clone());
            return Injection::DropRequest;
        }
        Injection::Pass
    });
    go.send(()).unwrap();
    until("the next reconcile decides anew", || async {
        let seen = seen.lock().unwrap().clone();
        seen.iter().any(|path| path.contains("/deployments/back"))
    })
    .await;
    assert_eq!(uid(&world.deployment("back").await), before, "the late delete failed");
    world.faults.heal();
    world.gone("apps/v1", "Deployment", "back").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unwanted_object_is_marked_and_survives_a_restart_until_its_time_is_over() {
    let mut world = World::new().await;
    running(&world).await;
    world.patch(OAM, "Application", "shop", shop(&[web("front", "nginx:1")])).await;
    let tracker = until_or(
        "the record tells",
        || world.tracker("shop"),
        |tracker| tracker.as_ref().unwrap().to_string().contains("\"deleted\":true"),
    )
    .await
    .unwrap();
    assert!(!tracker["spec"]["complete"].as_bool().unwrap_or(false));
    assert!(world.deployment("back").await.is_some(), "not before the quiet time is over");
    world.kill().await;
    world.start();
    world.gone("apps/v1", "Deployment", "back").await;
    world.gone("v1", "Service", "back").await;
    until_or(
        "the record is complete again",
        || world.tracker("shop"),
        |tracker| tracker.as_ref().unwrap()["spec"]["complete"] == true,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_controller_took_over_is_neither_changed_nor_deleted() {
    let world = World::new().await;
    let both = running(&world).await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
    let owner = world.create(owner).await.metadata.uid.unwrap();
    let reference =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner, "controller": true});
    let taken = json!({"metadata": {"ownerReferences": [reference]}, "spec": {"replicas": 7}});
    world.patch("apps/v1", "Deployment", "back", taken).await;
    until_or(
        "the application says whose it is",
        || world.application("shop"),
        |application| application["status"].to_string().contains("is controlled by ConfigMap owner"),
    )
    .await;
    assert_eq!(world.deployment("back").await.unwrap()["spec"]["replicas"], 7);
    world.patch(OAM, "Application", "shop", shop(&both[..1])).await;
    until_or(
        "it is nobody's business any more",
        || world.tracker("shop"),
        |tracker| tracker.as_ref().unwrap()["spec"]["complete"] == true,
    )
    .await;
    assert!(world.deployment("back").await.is_some());
    world.delete(OAM, "Application", "shop").await;
    world.gone(OAM, "Application", "shop").await;
    assert!(world.deployment("back").await.unwrap()["metadata"]["deletionTimestamp"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn applications_whose_names_meet_at_a_dash_do_not_share_a_record() {
    let world = World::new().await;
    // Joined by a dash both would be `a-b-<namespace>`.
    let other = format!("b-{}", world.namespace);
    world.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})).await;
    let mut definition = world.get(OAM, "ComponentDefinition", "settings").await.unwrap();
    definition["metadata"] = json!({"name": "settings", "namespace": other});
    definition.as_object_mut().unwrap().remove("status");
    world.create(definition).await;
    let text = |name: &str| json!({"name": name, "type": "settings", "properties": {"text": "hello"}});
    world.create(application("a-b", &[text("first")])).await;
    let mut second = application("a", &[text("second")]);
    second["metadata"]["namespace"] = json!(other);
    world.create(second).await;
    world.phase("a-b", "running").await;
    let elsewhere = World::in_namespace(&world, &other);
    elsewhere.phase("a", "running").await;
    world.delete(OAM, "Application", "a-b").await;
    world.gone(OAM, "Application", "a-b").await;
    world.gone("v1", "ConfigMap", "first").await;
    assert!(elsewhere.get("v1", "ConfigMap", "second").await.is_some());
    assert!(elsewhere.tracker("a").await.is_some());
}

/// Somebody deletes `back`; the write that makes it again meets this fate, and the process dies with it: nothing is
/// written to the record after it.
async fn killed_while_it_makes_back_again(fate: Injection) -> (World, [Value; 2]) {
    let mut world = World::new().await;
    let both = running(&world).await;
    world.quiet().await;
    let made = Arc::new(AtomicBool::new(false));
    let seen = made.clone();
    world.faults.inject(move |entry| {
        if !entry.writes() {
            return Injection::Pass;
        }
        if seen.load(Ordering::SeqCst) {
            return Injection::DropRequest;
        }
        if entry.path.contains("/deployments/back") {
            seen.store(true, Ordering::SeqCst);
            return fate;
        }
        Injection::Pass
    });
    world.delete("apps/v1", "Deployment", "back").await;
    until("it is made again, or not", || async {
        let arrived = fate == Injection::DropRequest || world.deployment("back").await.is_some();
        arrived && made.load(Ordering::SeqCst)
    })
    .await;
    world.kill().await;
    world.faults.heal();
    (world, both)
}

async fn complete(world: &World) {
    until_or(
        "the record is complete",
        || world.tracker("shop"),
        |tracker| {
            let spec = &tracker.as_ref().unwrap()["spec"];
            spec["complete"] == true && !spec.to_string().contains("\"back\"")
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_made_again_just_before_the_end_of_the_process_is_still_ours() {
    let (mut world, both) = killed_while_it_makes_back_again(Injection::DropAnswer).await;
    world.patch(OAM, "Application", "shop", shop(&both[..1])).await;
    world.start();
    complete(&world).await;
    assert!(world.deployment("back").await.is_none(), "no orphan");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_user_makes_in_place_of_an_object_that_was_to_be_made_again_is_kept() {
    let (mut world, both) = killed_while_it_makes_back_again(Injection::DropRequest).await;
    assert!(world.deployment("back").await.is_none());
    let labels = json!({"made": "by hand"});
    world
        .create(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "back"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "main", "image": "other:1"}]},
                },
            },
        }))
        .await;
    world.patch(OAM, "Application", "shop", shop(&both[..1])).await;
    world.start();
    complete(&world).await;
    let kept = world.deployment("back").await.unwrap();
    assert!(kept["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(kept["spec"]["template"]["metadata"]["labels"], labels);
}
