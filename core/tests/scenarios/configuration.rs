//! ApplicationConfigurations: what they make and remove, what they leave alone, and how they end after any cut.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use vela_core::hooks::{HookError, ReconcileHook};
use vela_core::options::ApplyOnce;
use vela_core::{Hooks, Options, Process};
use vela_runtime::fault::Injection;

use super::test_cluster::{TestCluster, until, until_or};

const OAM: &str = "core.oam.dev/v1alpha2";
const AC: &str = "ApplicationConfiguration";

/// A component whose workload is a Deployment of this image.
pub(super) fn component(name: &str, image: &str) -> Value {
    json!({"apiVersion": OAM, "kind": "Component", "metadata": {"name": name}, "spec": {"workload": {
        "apiVersion": "apps/v1", "kind": "Deployment", "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }}})
}

pub(super) fn configuration(name: &str, components: Value) -> Value {
    json!({"apiVersion": OAM, "kind": AC, "metadata": {"name": name}, "spec": {"components": components}})
}

pub(super) fn named(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"componentName": name})).collect()
}

pub(super) fn image(component: &str) -> Value {
    json!({"spec": {"workload": {"spec": {"template": {"spec": {
        "containers": [{"name": "main", "image": component}],
    }}}}}})
}

pub(super) async fn synced(cluster: &TestCluster, name: &str) -> Value {
    let found = until_or(
        "the configuration is synced",
        || cluster.get(OAM, AC, name),
        |found| {
            let found = found.as_ref().unwrap();
            found["status"]["observedGeneration"] == found["metadata"]["generation"]
                && found["status"]["conditions"][0]["status"] == "True"
        },
    );
    found.await.unwrap()["status"].clone()
}

pub(super) async fn complaint(cluster: &TestCluster, name: &str, words: &str) {
    until_or(
        words,
        || cluster.get(OAM, AC, name),
        |found| {
            let condition = &found.as_ref().unwrap()["status"]["conditions"][0];
            condition["status"] == "False" && condition["message"].as_str().unwrap().contains(words)
        },
    )
    .await;
}

pub(super) async fn deployed(cluster: &TestCluster, name: &str, wanted: &str) -> Value {
    let what = format!("{name} runs {wanted}");
    let found = until_or(
        &what,
        || cluster.deployment(name),
        |found| {
            found
                .as_ref()
                .is_some_and(|found| found["spec"]["template"]["spec"]["containers"][0]["image"] == wanted)
        },
    );
    found.await.unwrap()
}

pub(super) fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_removed_component_is_collected_and_its_neighbour_kept() {
    let cluster = TestCluster::new().await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(component("back", "nginx:1")).await;
    cluster.create(configuration("shop", named(&["front", "back"]))).await;
    let status = synced(&cluster, "shop").await;
    assert_eq!(status["workloads"].as_array().unwrap().len(), 2);
    let before = uid(&deployed(&cluster, "front", "nginx:1").await);
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": named(&["front"])}})).await;
    cluster.gone("apps/v1", "Deployment", "back").await;
    until_or(
        "the record is what is left",
        || cluster.get(OAM, AC, "shop"),
        |found| found.as_ref().unwrap()["status"]["workloads"].as_array().unwrap().len() == 1,
    )
    .await;
    assert_eq!(uid(&cluster.deployment("front").await.unwrap()), before);
    // Nothing changes, nothing is written.
    cluster.quiet().await;
    let touch = json!({"spec": {"template": {"metadata": {"labels": {"app": "front"}}}}});
    cluster.patch("apps/v1", "Deployment", "front", touch).await;
    cluster.quiet().await;
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": []}})).await;
    cluster.gone("apps/v1", "Deployment", "front").await;
    assert_eq!(synced(&cluster, "shop").await["dependency"], json!({}));
}

#[tokio::test]
async fn there_and_back_fifty_times_keeps_the_object() {
    let cluster = TestCluster::new().await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(component("back", "nginx:1")).await;
    cluster.create(configuration("shop", named(&["front", "back"]))).await;
    synced(&cluster, "shop").await;
    let before = uid(&deployed(&cluster, "back", "nginx:1").await);
    for _ in 0..50 {
        for names in [&["front"][..], &["front", "back"][..]] {
            cluster.patch(OAM, AC, "shop", json!({"spec": {"components": named(names)}})).await;
        }
    }
    synced(&cluster, "shop").await;
    cluster.quiet().await;
    // Longer than garbage is left alone.
    cluster.pass(std::time::Duration::from_secs(3)).await;
    assert_eq!(uid(&cluster.deployment("back").await.unwrap()), before);
}

#[tokio::test]
async fn a_foreign_object_is_neither_changed_nor_collected() {
    let cluster = TestCluster::new().await;
    let owner =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": "", "controller": true}]);
    let boss =
        cluster.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "boss"}})).await;
    let mut theirs = component("front", "theirs:1")["spec"]["workload"].clone();
    theirs["metadata"] = json!({"name": "front", "ownerReferences": owner});
    theirs["metadata"]["ownerReferences"][0]["uid"] = json!(boss.metadata.uid);
    cluster.create(theirs).await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(configuration("shop", named(&["front"]))).await;
    complaint(&cluster, "shop", "existing object is not controlled by UID").await;
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": []}})).await;
    synced(&cluster, "shop").await;
    until_or(
        "the record is empty",
        || cluster.get(OAM, AC, "shop"),
        |found| found.as_ref().unwrap()["status"]["workloads"].is_null(),
    )
    .await;
    deployed(&cluster, "front", "theirs:1").await;
}

#[tokio::test]
async fn a_pinned_revision_stays_and_a_pin_rolls_back() {
    let cluster = TestCluster::new().await;
    cluster.create(component("front", "nginx:1")).await;
    let pinned = json!([{"revisionName": "front-v1"}]);
    cluster.create(configuration("shop", pinned)).await;
    let before = uid(&deployed(&cluster, "front", "nginx:1").await);
    cluster.patch(OAM, "Component", "front", image("nginx:2")).await;
    until("the second revision is cut", || async {
        cluster.get("apps/v1", "ControllerRevision", "front-v2").await.is_some()
    })
    .await;
    cluster.quiet().await;
    deployed(&cluster, "front", "nginx:1").await;
    let pin = |name: &str| json!({"spec": {"components": [{"revisionName": name}]}});
    cluster.patch(OAM, AC, "shop", pin("front-v2")).await;
    deployed(&cluster, "front", "nginx:2").await;
    cluster.patch(OAM, AC, "shop", pin("front-v1")).await;
    let after = deployed(&cluster, "front", "nginx:1").await;
    assert_eq!(uid(&after), before);
    assert_eq!(after["metadata"]["labels"]["app.oam.dev/revision"], "front-v1");
    cluster.patch(OAM, AC, "shop", pin("front-v9")).await;
    complaint(&cluster, "shop", "cannot get component revision \"front-v9\"").await;
    deployed(&cluster, "front", "nginx:1").await;
}

#[tokio::test]
async fn apply_once_leaves_changes_by_hand_and_running_objects() {
    for (mode, comes_back) in [(ApplyOnce::On, true), (ApplyOnce::Force, false)] {
        let mut cluster = TestCluster::without_controllers().await;
        let options = Options { apply_once: mode, ..Options::default() };
        cluster.start_as(Process { options, ..Process::default() });
        cluster.create(component("front", "nginx:1")).await;
        cluster.create(configuration("shop", named(&["front"]))).await;
        synced(&cluster, "shop").await;
        deployed(&cluster, "front", "nginx:1").await;
        cluster.patch("apps/v1", "Deployment", "front", json!({"spec": {"replicas": 3}})).await;
        cluster.quiet().await;
        assert_eq!(cluster.deployment("front").await.unwrap()["spec"]["replicas"], 3);
        // Refused while it runs, done as soon as it does not.
        cluster.patch(OAM, AC, "shop", json!({"spec": {"components": []}})).await;
        complaint(&cluster, "shop", "can't delete workload with replicas 3 in apply once only mode").await;
        cluster.patch("apps/v1", "Deployment", "front", json!({"spec": {"replicas": 0}})).await;
        cluster.gone("apps/v1", "Deployment", "front").await;
        cluster.patch(OAM, AC, "shop", json!({"spec": {"components": named(&["front"])}})).await;
        deployed(&cluster, "front", "nginx:1").await;
        synced(&cluster, "shop").await;
        cluster.quiet().await;
        let before = uid(&cluster.deployment("front").await.unwrap());
        cluster.delete("apps/v1", "Deployment", "front").await;
        if comes_back {
            let back = deployed(&cluster, "front", "nginx:1").await;
            assert_ne!(uid(&back), before);
        } else {
            cluster.quiet().await;
            assert!(cluster.deployment("front").await.is_none(), "a user deleted it on purpose");
            cluster.patch(OAM, "Component", "front", image("nginx:2")).await;
            deployed(&cluster, "front", "nginx:2").await;
        }
        cluster.stop().await;
    }
}

#[tokio::test]
async fn the_annotation_is_an_applications_own_apply_once() {
    let cluster = TestCluster::new().await;
    cluster.create(component("front", "nginx:1")).await;
    let mut shop = configuration("shop", named(&["front"]));
    shop["metadata"]["annotations"] = json!({"app.oam.dev/apply-once-only": "on", "team": "a"});
    cluster.create(shop).await;
    synced(&cluster, "shop").await;
    let live = deployed(&cluster, "front", "nginx:1").await;
    assert_eq!(live["metadata"]["annotations"]["team"], "a");
    assert!(live["metadata"]["annotations"]["app.oam.dev/apply-once-only"].is_null());
    let by_hand = image("by-hand:1")["spec"]["workload"]["spec"].clone();
    cluster.patch("apps/v1", "Deployment", "front", json!({"spec": by_hand})).await;
    cluster.quiet().await;
    deployed(&cluster, "front", "by-hand:1").await;
    let wrong = json!({"metadata": {"annotations": {"app.oam.dev/apply-once-only": "sometimes"}}});
    cluster.patch(OAM, AC, "shop", wrong).await;
    complaint(&cluster, "shop", "\"sometimes\" is no apply-once mode").await;
    let off = json!({"metadata": {"annotations": {"app.oam.dev/apply-once-only": null}}});
    cluster.patch(OAM, AC, "shop", off).await;
    deployed(&cluster, "front", "nginx:1").await;
}

#[tokio::test]
pub(super) async fn a_scope_is_joined_and_left_exactly() {
    let cluster = TestCluster::new().await;
    let other = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"});
    for name in ["one", "two"] {
        cluster
            .create(json!({"apiVersion": OAM, "kind": "HealthScope", "metadata": {"name": name},
                "spec": {"workloadRefs": [other]}}))
            .await;
    }
    cluster.create(component("front", "nginx:1")).await;
    let scope = |name: &str| json!({"scopeRef": {"apiVersion": OAM, "kind": "HealthScope", "name": name}});
    let entry = |scopes: Value| json!([{"componentName": "front", "scopes": scopes}]);
    cluster.create(configuration("shop", entry(json!([scope("one"), scope("two")])))).await;
    synced(&cluster, "shop").await;
    let ours = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "front"});
    let members = |name: &'static str| {
        let cluster = &cluster;
        async move { cluster.get(OAM, "HealthScope", name).await.unwrap()["spec"]["workloadRefs"].clone() }
    };
    assert_eq!(members("one").await, json!([other, ours]));
    cluster.patch(OAM, AC, "shop", json!({"spec": {"components": entry(json!([scope("two")]))}})).await;
    until_or("it left the first", || members("one"), |now| *now == json!([other])).await;
    assert_eq!(members("two").await, json!([other, ours]));
    cluster.delete(OAM, AC, "shop").await;
    cluster.gone(OAM, AC, "shop").await;
    assert_eq!(members("two").await, json!([other]));
}

struct Counting {
    name: &'static str,
    calls: AtomicUsize,
    fails: bool,
}

impl ReconcileHook for Counting {
    fn name(&self) -> &str {
        self.name
    }

    fn run<'a>(&'a self, configuration: &'a Value) -> BoxFuture<'a, Result<(), HookError>> {
        assert_eq!(configuration["kind"], AC);
        self.calls.fetch_add(1, Ordering::SeqCst);
        let outcome = if self.fails { Err(HookError::new("not today")) } else { Ok(()) };
        async move { outcome }.boxed()
    }
}

#[tokio::test]
async fn hooks_take_part_in_a_reconcile() {
    let hook = |name, fails| Arc::new(Counting { name, calls: AtomicUsize::new(0), fails });
    for (before, after, words) in [
        (hook("first", true), hook("last", false), "failed to execute pre-hooks: first: not today"),
        (hook("first", false), hook("last", true), "failed to execute post-hooks: last: not today"),
    ] {
        let mut cluster = TestCluster::without_controllers().await;
        let hooks = Hooks { before: vec![before.clone()], after: vec![after.clone()] };
        cluster.start_as(Process { hooks, ..Process::default() });
        cluster.create(component("front", "nginx:1")).await;
        cluster.create(configuration("shop", named(&["front"]))).await;
        complaint(&cluster, "shop", words).await;
        assert!(before.calls.load(Ordering::SeqCst) > 0 && after.calls.load(Ordering::SeqCst) > 0);
        match before.fails {
            true => assert!(cluster.deployment("front").await.is_none()),
            false => drop(deployed(&cluster, "front", "nginx:1").await),
        }
        cluster.stop().await;
    }
}

#[tokio::test]
async fn cut_off_after_any_write_it_ends_the_same() {
    for (after, lost) in
        (0..10).flat_map(|after| [(after, Injection::DropRequest), (after, Injection::DropAnswer)])
    {
        let mut cluster = TestCluster::without_controllers().await;
        let (left, broken) = (AtomicUsize::new(after), Arc::new(AtomicUsize::new(0)));
        let hit = broken.clone();
        cluster.faults.inject(move |entry| {
            if !entry.writes() || entry.is_event() {
                return Injection::Pass;
            }
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Injection::Pass,
                Err(_) if hit.fetch_add(1, Ordering::SeqCst) == 0 => lost,
                Err(_) => Injection::DropRequest,
            }
        });
        cluster.start();
        cluster.create(component("front", "nginx:1")).await;
        cluster.create(component("back", "nginx:1")).await;
        cluster.create(configuration("shop", named(&["front", "back"]))).await;
        let cut = until("a write is cut", || async { broken.load(Ordering::SeqCst) > 0 });
        // Where nothing was cut, the reconcile came to its end.
        tokio::select! { () = cut => {}, _ = synced(&cluster, "shop") => {} }
        let cut = broken.load(Ordering::SeqCst) > 0;
        assert!(
            cut || after >= 7,
            "a reconcile of two components has at least seven writes, cut after {after}"
        );
        cluster.kill().await;
        cluster.faults.heal();
        // The user goes on while no controller runs.
        cluster.patch(OAM, AC, "shop", json!({"spec": {"components": named(&["front"])}})).await;
        cluster.patch(OAM, "Component", "front", image("nginx:2")).await;
        cluster.start();
        deployed(&cluster, "front", "nginx:2").await;
        cluster.gone("apps/v1", "Deployment", "back").await;
        let one = |found: &Option<Value>| {
            found.as_ref().unwrap()["status"]["workloads"].as_array().is_some_and(|all| all.len() == 1)
        };
        until_or("one workload is recorded", || cluster.get(OAM, AC, "shop"), one).await;
        cluster.stop().await;
    }
}
