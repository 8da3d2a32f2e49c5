//! Deletes objects that are no longer named, and nothing else: users who change their mind, late writers, other owners.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use vela_runtime::fault::{Entry, Injection};

use super::test_cluster::{TestCluster, application, until, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";
const ALPHA: &str = "core.oam.dev/v1alpha2";

/// Longest time a held request waits for the test.
const HELD_AT_MOST: Duration = Duration::from_secs(60);

fn uid(object: &Option<Value>) -> String {
    object.as_ref().unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Holds the first request that matches: the first end tells that it is there, the second lets it go.
fn hold(cluster: &TestCluster, matches: fn(&Entry) -> bool) -> (Receiver<()>, Sender<()>) {
    let (there, arrived) = channel();
    let (go, gone) = channel();
    let gate = Mutex::new(Some((there, gone)));
    cluster.faults.inject(move |entry| {
        if matches(entry)
            && let Some((there, gone)) = gate.lock().unwrap().take()
        {
            there.send(()).unwrap();
            gone.recv_timeout(HELD_AT_MOST).unwrap();
        }
        Injection::Pass
    });
    (arrived, go)
}

async fn arrived(there: Receiver<()>) {
    tokio::task::spawn_blocking(move || there.recv_timeout(HELD_AT_MOST).unwrap()).await.unwrap();
}

fn shop(components: &[Value]) -> Value {
    json!({"spec": {"components": components}})
}

async fn running(cluster: &TestCluster) -> [Value; 2] {
    let both = [web("front", "nginx:1"), web("back", "nginx:1")];
    cluster.create(application("shop", &both)).await;
    cluster.phase("shop", "running").await;
    both
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_reconcile_deletes_nothing_after_the_user_went_back() {
    let cluster = TestCluster::new().await;
    let both = running(&cluster).await;
    let before = uid(&cluster.deployment("back").await);
    // The reconcile of the second wish reads the object it is about to delete; meanwhile the user goes back.
    let (there, go) =
        hold(&cluster, |entry| entry.method == "GET" && entry.path.contains("/deployments/back"));
    cluster.patch(OAM, "Application", "shop", shop(&[web("front", "nginx:2")])).await;
    arrived(there).await;
    cluster.faults.take();
    cluster.patch(OAM, "Application", "shop", shop(&both)).await;
    go.send(()).unwrap();
    cluster.phase("shop", "running").await;
    cluster.rested(1).await;
    assert_eq!(uid(&cluster.deployment("back").await), before);
    let deleted: Vec<Entry> = cluster.writes().into_iter().filter(|entry| entry.method == "DELETE").collect();
    assert!(deleted.is_empty(), "{deleted:#?}");
    let tracker = cluster.tracker("shop").await.unwrap();
    assert_eq!(tracker["spec"]["complete"], true);
    assert_eq!(tracker["spec"]["managedResources"].as_array().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_configuration_deletes_no_object_wanted_again() {
    let cluster = TestCluster::new().await;
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
    cluster.create(both.clone()).await;
    cluster.phase("shop", "running").await;
    let before = uid(&cluster.deployment("back").await);
    // The configuration's reconcile is about to delete what the second wish left out; the user goes back, and the reconcile that
    // stores this is late.
    let (there, go) =
        hold(&cluster, |entry| entry.method == "GET" && entry.path.contains("/deployments/back"));
    let spec = |application: &Value| json!({"spec": application["spec"]});
    cluster.patch(ALPHA, "Application", "shop", spec(&alpha(&[("front", "nginx:2")]))).await;
    arrived(there).await;
    let tried = Arc::new(AtomicBool::new(false));
    let tries = tried.clone();
    cluster.faults.inject(move |entry| {
        let stores = entry.method == "PATCH"
            && entry.path.contains("/applicationconfigurations/shop")
            && !entry.path.contains("/status");
        tries.fetch_or(stores, Ordering::Relaxed);
        if stores { Injection::DropRequest } else { Injection::Pass }
    });
    cluster.patch(ALPHA, "Application", "shop", spec(&both)).await;
    go.send(()).unwrap();
    until("the wish is stored in vain", || async { tried.load(Ordering::Relaxed) }).await;
    cluster.rested_of("applicationconfiguration", 1).await;
    assert_eq!(uid(&cluster.deployment("back").await), before);
    cluster.faults.heal();
    cluster.phase("shop", "running").await;
    cluster.rested(1).await;
    assert_eq!(uid(&cluster.deployment("back").await), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_sent_late_misses_an_object_that_was_written_since() {
    let cluster = TestCluster::new().await;
    running(&cluster).await;
    let before = uid(&cluster.deployment("back").await);
    let (there, go) =
        hold(&cluster, |entry| entry.method == "DELETE" && entry.path.contains("/deployments/back"));
    cluster.patch(OAM, "Application", "shop", shop(&[web("front", "nginx:2")])).await;
    arrived(there).await;
    // What another process does that wants the object again.
    cluster
        .patch("apps/v1", "Deployment", "back", json!({"metadata": {"labels": {"wanted": "again"}}}))
        .await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    cluster.faults.inject(move |entry| {
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
    assert_eq!(uid(&cluster.deployment("back").await), before, "the late delete failed");
    cluster.faults.heal();
    cluster.gone("apps/v1", "Deployment", "back").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_marked_object_survives_a_restart_until_its_time_is_over() {
    let mut cluster = TestCluster::new().await;
    running(&cluster).await;
    cluster.patch(OAM, "Application", "shop", shop(&[web("front", "nginx:1")])).await;
    let tracker = until_or(
        "the record tells",
        || cluster.tracker("shop"),
        |tracker| tracker.as_ref().unwrap().to_string().contains("\"deleted\":true"),
    )
    .await
    .unwrap();
    assert!(!tracker["spec"]["complete"].as_bool().unwrap_or(false));
    assert!(cluster.deployment("back").await.is_some(), "not before the quiet time is over");
    cluster.kill().await;
    cluster.start();
    cluster.gone("apps/v1", "Deployment", "back").await;
    cluster.gone("v1", "Service", "back").await;
    until_or(
        "the record is complete again",
        || cluster.tracker("shop"),
        |tracker| tracker.as_ref().unwrap()["spec"]["complete"] == true,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn taken_over_objects_are_neither_changed_nor_deleted() {
    let cluster = TestCluster::new().await;
    let both = running(&cluster).await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}});
    let owner = cluster.create(owner).await.metadata.uid.unwrap();
    let reference =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner, "controller": true});
    let taken = json!({"metadata": {"ownerReferences": [reference]}, "spec": {"replicas": 7}});
    cluster.patch("apps/v1", "Deployment", "back", taken).await;
    until_or(
        "the application says whose it is",
        || cluster.application("shop"),
        |application| application["status"].to_string().contains("is controlled by ConfigMap owner"),
    )
    .await;
    assert_eq!(cluster.deployment("back").await.unwrap()["spec"]["replicas"], 7);
    cluster.patch(OAM, "Application", "shop", shop(&both[..1])).await;
    until_or(
        "it has no owner any more",
        || cluster.tracker("shop"),
        |tracker| tracker.as_ref().unwrap()["spec"]["complete"] == true,
    )
    .await;
    assert!(cluster.deployment("back").await.is_some());
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    assert!(cluster.deployment("back").await.unwrap()["metadata"]["deletionTimestamp"].is_null());
}

#[tokio::test(flavor = "multi_thread")]
async fn applications_with_names_equal_at_a_dash_share_no_record() {
    let cluster = TestCluster::new().await;
    // Joined by a dash both would be `a-b-<namespace>`.
    let other = format!("b-{}", cluster.namespace);
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})).await;
    let mut definition = cluster.get(OAM, "ComponentDefinition", "settings").await.unwrap();
    definition["metadata"] = json!({"name": "settings", "namespace": other});
    definition.as_object_mut().unwrap().remove("status");
    cluster.create(definition).await;
    let text = |name: &str| json!({"name": name, "type": "settings", "properties": {"text": "hello"}});
    cluster.create(application("a-b", &[text("first")])).await;
    let mut second = application("a", &[text("second")]);
    second["metadata"]["namespace"] = json!(other);
    cluster.create(second).await;
    cluster.phase("a-b", "running").await;
    let elsewhere = TestCluster::in_namespace(&cluster, &other);
    elsewhere.phase("a", "running").await;
    cluster.delete(OAM, "Application", "a-b").await;
    cluster.gone(OAM, "Application", "a-b").await;
    cluster.gone("v1", "ConfigMap", "first").await;
    assert!(elsewhere.get("v1", "ConfigMap", "second").await.is_some());
    assert!(elsewhere.tracker("a").await.is_some());
}

/// A user deletes `back`; the write that makes it again meets this fate, and the process dies with it: nothing is
/// written to the record after it.
async fn killed_while_it_makes_back_again(fate: Injection) -> (TestCluster, [Value; 2]) {
    let mut cluster = TestCluster::new().await;
    let both = running(&cluster).await;
    cluster.quiet().await;
    let made = Arc::new(AtomicBool::new(false));
    let seen = made.clone();
    cluster.faults.inject(move |entry| {
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
    cluster.delete("apps/v1", "Deployment", "back").await;
    until("it is made again, or not", || async {
        let arrived = fate == Injection::DropRequest || cluster.deployment("back").await.is_some();
        arrived && made.load(Ordering::SeqCst)
    })
    .await;
    cluster.kill().await;
    cluster.faults.heal();
    (cluster, both)
}

async fn complete(cluster: &TestCluster) {
    until_or(
        "the record is complete",
        || cluster.tracker("shop"),
        |tracker| {
            let spec = &tracker.as_ref().unwrap()["spec"];
            spec["complete"] == true && !spec.to_string().contains("\"back\"")
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_recreated_before_the_process_ends_is_still_ours() {
    let (mut cluster, both) = killed_while_it_makes_back_again(Injection::DropAnswer).await;
    cluster.patch(OAM, "Application", "shop", shop(&both[..1])).await;
    cluster.start();
    complete(&cluster).await;
    assert!(cluster.deployment("back").await.is_none(), "no orphan");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_a_user_recreates_first_is_kept() {
    let (mut cluster, both) = killed_while_it_makes_back_again(Injection::DropRequest).await;
    assert!(cluster.deployment("back").await.is_none());
    let labels = json!({"made": "by hand"});
    cluster
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
    cluster.patch(OAM, "Application", "shop", shop(&both[..1])).await;
    cluster.start();
    complete(&cluster).await;
    let kept = cluster.deployment("back").await.unwrap();
    assert!(kept["metadata"]["deletionTimestamp"].is_null());
    assert_eq!(kept["spec"]["template"]["metadata"]["labels"], labels);
}
