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

use super::world::{World, until, until_or};

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

pub(super) async fn synced(world: &World, name: &str) -> Value {
    let found = until_or(
        "the configuration is synced",
        || world.get(OAM, AC, name),
        |found| {
            let found = found.as_ref().unwrap();
            found["status"]["observedGeneration"] == found["metadata"]["generation"]
                && found["status"]["conditions"][0]["status"] == "True"
        },
    );
    found.await.unwrap()["status"].clone()
}

pub(super) async fn complaint(world: &World, name: &str, words: &str) {
    until_or(
        words,
        || world.get(OAM, AC, name),
        |found| {
            let condition = &found.as_ref().unwrap()["status"]["conditions"][0];
            condition["status"] == "False" && condition["message"].as_str().unwrap().contains(words)
        },
    )
    .await;
}

pub(super) async fn deployed(world: &World, name: &str, wanted: &str) -> Value {
    let what = format!("{name} runs {wanted}");
    let found = until_or(
        &what,
        || world.deployment(name),
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
    let world = World::new().await;
    world.create(component("front", "nginx:1")).await;
    world.create(component("back", "nginx:1")).await;
    world.create(configuration("shop", named(&["front", "back"]))).await;
    let status = synced(&world, "shop").await;
    assert_eq!(status["workloads"].as_array().unwrap().len(), 2);
    let before = uid(&deployed(&world, "front", "nginx:1").await);
    world.patch(OAM, AC, "shop", json!({"spec": {"components": named(&["front"])}})).await;
    world.gone("apps/v1", "Deployment", "back").await;
    until_or(
        "the record is what is left",
        || world.get(OAM, AC, "shop"),
        |found| found.as_ref().unwrap()["status"]["workloads"].as_array().unwrap().len() == 1,
    )
    .await;
    assert_eq!(uid(&world.deployment("front").await.unwrap()), before);
    // Nothing changes, nothing is written.
    world.quiet().await;
    let touch = json!({"spec": {"template": {"metadata": {"labels": {"app": "front"}}}}});
    world.patch("apps/v1", "Deployment", "front", touch).await;
    world.quiet().await;
    world.patch(OAM, AC, "shop", json!({"spec": {"components": []}})).await;
    world.gone("apps/v1", "Deployment", "front").await;
    assert_eq!(synced(&world, "shop").await["dependency"], json!({}));
}

#[tokio::test]
async fn there_and_back_fifty_times_keeps_the_object() {
    let world = World::new().await;
    world.create(component("front", "nginx:1")).await;
    world.create(component("back", "nginx:1")).await;
    world.create(configuration("shop", named(&["front", "back"]))).await;
    synced(&world, "shop").await;
    let before = uid(&deployed(&world, "back", "nginx:1").await);
    for _ in 0..50 {
        for names in [&["front"][..], &["front", "back"][..]] {
            world.patch(OAM, AC, "shop", json!({"spec": {"components": named(names)}})).await;
        }
    }
    synced(&world, "shop").await;
    world.quiet().await;
    // Longer than garbage is left alone.
    world.pass(std::time::Duration::from_secs(3)).await;
    assert_eq!(uid(&world.deployment("back").await.unwrap()), before);
}

#[tokio::test]
async fn somebody_elses_object_is_neither_changed_nor_collected() {
    let world = World::new().await;
    let owner =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": "", "controller": true}]);
    let boss =
        world.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "boss"}})).await;
    let mut theirs = component("front", "theirs:1")["spec"]["workload"].clone();
    theirs["metadata"] = json!({"name": "front", "ownerReferences": owner});
    theirs["metadata"]["ownerReferences"][0]["uid"] = json!(boss.metadata.uid);
    world.create(theirs).await;
    world.create(component("front", "nginx:1")).await;
    world.create(configuration("shop", named(&["front"]))).await;
    complaint(&world, "shop", "existing object is not controlled by UID").await;
    world.patch(OAM, AC, "shop", json!({"spec": {"components": []}})).await;
    synced(&world, "shop").await;
    until_or(
        "the record is empty",
        || world.get(OAM, AC, "shop"),
        |found| found.as_ref().unwrap()["status"]["workloads"].is_null(),
    )
    .await;
    deployed(&world, "front", "theirs:1").await;
}

#[tokio::test]
async fn a_pinned_revision_stays_and_a_pin_rolls_back() {
    let world = World::new().await;
    world.create(component("front", "nginx:1")).await;
    let pinned = json!([{"revisionName": "front-v1"}]);
    world.create(configuration("shop", pinned)).await;
    let before = uid(&deployed(&world, "front", "nginx:1").await);
    world.patch(OAM, "Component", "front", image("nginx:2")).await;
    until("the second revision is cut", || async {
        world.get("apps/v1", "ControllerRevision", "front-v2").await.is_some()
    })
    .await;
    world.quiet().await;
    deployed(&world, "front", "nginx:1").await;
    let pin = |name: &str| json!({"spec": {"components": [{"revisionName": name}]}});
    world.patch(OAM, AC, "shop", pin("front-v2")).await;
    deployed(&world, "front", "nginx:2").await;
    world.patch(OAM, AC, "shop", pin("front-v1")).await;
    let after = deployed(&world, "front", "nginx:1").await;
    assert_eq!(uid(&after), before);
    assert_eq!(after["metadata"]["labels"]["app.oam.dev/revision"], "front-v1");
    world.patch(OAM, AC, "shop", pin("front-v9")).await;
    complaint(&world, "shop", "cannot get component revision \"front-v9\"").await;
    deployed(&world, "front", "nginx:1").await;
}

#[tokio::test]
async fn apply_once_leaves_changes_by_hand_and_deletes_nothing_that_runs() {
    for (mode, comes_back) in [(ApplyOnce::On, true), (ApplyOnce::Force, false)] {
        let mut world = World::without_controllers().await;
        let options = Options { apply_once: mode, ..Options::default() };
        world.start_as(Process { options, ..Process::default() });
        world.create(component("front", "nginx:1")).await;
        world.create(configuration("shop", named(&["front"]))).await;
        synced(&world, "shop").await;
        deployed(&world, "front", "nginx:1").await;
        world.patch("apps/v1", "Deployment", "front", json!({"spec": {"replicas": 3}})).await;
        world.quiet().await;
        assert_eq!(world.deployment("front").await.unwrap()["spec"]["replicas"], 3);
        // Refused while it runs, done as soon as it does not.
        world.patch(OAM, AC, "shop", json!({"spec": {"components": []}})).await;
        complaint(&world, "shop", "can't delete workload with replicas 3 in apply once only mode").await;
        world.patch("apps/v1", "Deployment", "front", json!({"spec": {"replicas": 0}})).await;
        world.gone("apps/v1", "Deployment", "front").await;
        world.patch(OAM, AC, "shop", json!({"spec": {"components": named(&["front"])}})).await;
        deployed(&world, "front", "nginx:1").await;
        synced(&world, "shop").await;
        world.quiet().await;
        let before = uid(&world.deployment("front").await.unwrap());
        world.delete("apps/v1", "Deployment", "front").await;
        if comes_back {
            let back = deployed(&world, "front", "nginx:1").await;
            assert_ne!(uid(&back), before);
        } else {
            world.quiet().await;
            assert!(world.deployment("front").await.is_none(), "somebody deleted it on purpose");
            world.patch(OAM, "Component", "front", image("nginx:2")).await;
            deployed(&world, "front", "nginx:2").await;
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn the_annotation_is_an_applications_own_apply_once() {
    let world = World::new().await;
    world.create(component("front", "nginx:1")).await;
    let mut shop = configuration("shop", named(&["front"]));
    shop["metadata"]["annotations"] = json!({"app.oam.dev/apply-once-only": "on", "team": "a"});
    world.create(shop).await;
    synced(&world, "shop").await;
    let live = deployed(&world, "front", "nginx:1").await;
    assert_eq!(live["metadata"]["annotations"]["team"], "a");
    assert!(live["metadata"]["annotations"]["app.oam.dev/apply-once-only"].is_null());
    let by_hand = image("by-hand:1")["spec"]["workload"]["spec"].clone();
    world.patch("apps/v1", "Deployment", "front", json!({"spec": by_hand})).await;
    world.quiet().await;
    deployed(&world, "front", "by-hand:1").await;
    let wrong = json!({"metadata": {"annotations": {"app.oam.dev/apply-once-only": "sometimes"}}});
    world.patch(OAM, AC, "shop", wrong).await;
    complaint(&world, "shop", "\"sometimes\" is no apply-once mode").await;
    let off = json!({"metadata": {"annotations": {"app.oam.dev/apply-once-only": null}}});
    world.patch(OAM, AC, "shop", off).await;
    deployed(&world, "front", "nginx:1").await;
}

#[tokio::test]
pub(super) async fn a_scope_is_joined_and_left_exactly() {
    let world = World::new().await;
    let other = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"});
    for name in ["one", "two"] {
        world
            .create(json!({"apiVersion": OAM, "kind": "HealthScope", "metadata": {"name": name},
                "spec": {"workloadRefs": [other]}}))
            .await;
    }
    world.create(component("front", "nginx:1")).await;
    let scope = |name: &str| json!({"scopeRef": {"apiVersion": OAM, "kind": "HealthScope", "name": name}});
    let entry = |scopes: Value| json!([{"componentName": "front", "scopes": scopes}]);
    world.create(configuration("shop", entry(json!([scope("one"), scope("two")])))).await;
    synced(&world, "shop").await;
    let ours = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "front"});
    let members = |name: &'static str| {
        let world = &world;
        async move { world.get(OAM, "HealthScope", name).await.unwrap()["spec"]["workloadRefs"].clone() }
    };
    assert_eq!(members("one").await, json!([other, ours]));
    world.patch(OAM, AC, "shop", json!({"spec": {"components": entry(json!([scope("two")]))}})).await;
    until_or("it left the first", || members("one"), |now| *now == json!([other])).await;
    assert_eq!(members("two").await, json!([other, ours]));
    world.delete(OAM, AC, "shop").await;
    world.gone(OAM, AC, "shop").await;
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
        let mut world = World::without_controllers().await;
        let hooks = Hooks { before: vec![before.clone()], after: vec![after.clone()] };
        world.start_as(Process { hooks, ..Process::default() });
        world.create(component("front", "nginx:1")).await;
        world.create(configuration("shop", named(&["front"]))).await;
        complaint(&world, "shop", words).await;
        assert!(before.calls.load(Ordering::SeqCst) > 0 && after.calls.load(Ordering::SeqCst) > 0);
        match before.fails {
            true => assert!(world.deployment("front").await.is_none()),
            false => drop(deployed(&world, "front", "nginx:1").await),
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn cut_off_after_any_write_it_ends_the_same() {
    for (after, lost) in
        (0..10).flat_map(|after| [(after, Injection::DropRequest), (after, Injection::DropAnswer)])
    {
        let mut world = World::without_controllers().await;
        let (left, broken) = (AtomicUsize::new(after), Arc::new(AtomicUsize::new(0)));
        let hit = broken.clone();
        world.faults.inject(move |entry| {
            if !entry.writes() || entry.is_event() {
                return Injection::Pass;
            }
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Injection::Pass,
                Err(_) if hit.fetch_add(1, Ordering::SeqCst) == 0 => lost,
                Err(_) => Injection::DropRequest,
            }
        });
        world.start();
        world.create(component("front", "nginx:1")).await;
        world.create(component("back", "nginx:1")).await;
        world.create(configuration("shop", named(&["front", "back"]))).await;
        let cut = until("a write is cut", || async { broken.load(Ordering::SeqCst) > 0 });
        // Where nothing was cut, the reconcile came to its end.
        tokio::select! { () = cut => {}, _ = synced(&world, "shop") => {} }
        let cut = broken.load(Ordering::SeqCst) > 0;
        assert!(
            cut || after >= 7,
            "a reconcile of two components has at least seven writes, cut after {after}"
        );
        world.kill().await;
        world.faults.heal();
        // The user goes on while nobody is there.
        world.patch(OAM, AC, "shop", json!({"spec": {"components": named(&["front"])}})).await;
        world.patch(OAM, "Component", "front", image("nginx:2")).await;
        world.start();
        deployed(&world, "front", "nginx:2").await;
        world.gone("apps/v1", "Deployment", "back").await;
        let one = |found: &Option<Value>| {
            found.as_ref().unwrap()["status"]["workloads"].as_array().is_some_and(|all| all.len() == 1)
        };
        until_or("one workload is recorded", || world.get(OAM, AC, "shop"), one).await;
        world.stop().await;
    }
}
