//! What wakes a reconcile, and what a reconcile may do wrong.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use vela_runtime::cache::{Cache, Watch};
use vela_runtime::{Action, Controller, Failure, Key, Manager, Predicate, Reconciler};

use super::cluster::{api, client, config_map, config_maps, create, object, until};

/// Behaves by the name of what it reconciles, and counts.
#[derive(Clone, Default)]
struct Probe {
    seen: Arc<Mutex<Vec<String>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Probe {
    fn count(&self, name: &str) -> usize {
        self.seen.lock().unwrap().iter().filter(|seen| *seen == name).count()
    }
}

impl Reconciler for Probe {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        self.seen.lock().unwrap().push(key.name.clone());
        let times = self.count(&key.name);
        let slow = key.name.starts_with("slow");
        tokio::time::sleep(if slow { Duration::from_millis(50) } else { Duration::ZERO }).await;
        if !key.name.starts_with("hangs") {
            self.running.fetch_sub(1, Ordering::SeqCst);
        }
        match key.name.as_str() {
            "panics" if times < 3 => panic!("on purpose"),
            "fails" if times < 3 => Err(Failure::retry("not yet")),
            "final" => Err(Failure::terminal("never")),
            "again" if times < 3 => Ok(Action::RequeueAfter(Duration::from_millis(10))),
            "hangs" | "hangs-too" => std::future::pending().await,
            _ => Ok(Action::Done),
        }
    }
}

struct Running {
    probe: Probe,
    client: kube::Client,
    stop: CancellationToken,
    task: tokio::task::JoinHandle<Result<(), vela_runtime::manager::Error>>,
}

impl Running {
    fn start(client: kube::Client, set_up: impl FnOnce(Controller, &Cache) -> Controller) -> Self {
        let probe = Probe::default();
        let cache = Cache::new(client.clone());
        let controller = set_up(Controller::new("probe", probe.clone()), &cache);
        let stop = CancellationToken::new();
        let task = tokio::spawn(Manager::new(client.clone(), cache).with(controller).run(stop.clone()));
        Self { probe, client, stop, task }
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

fn of_config_maps(controller: Controller, cache: &Cache) -> Controller {
    controller.for_kind(&cache.informer(Watch::full(config_maps())))
}

#[tokio::test]
async fn errors_and_panics_are_retried_and_terminal_failures_not() {
    let running =
        Running::start(client(), |c, cache| of_config_maps(c, cache).timeout(Duration::from_millis(500)));
    for name in ["panics", "fails", "final", "again", "hangs"] {
        create(&running.client, &config_map(name, json!({}))).await;
    }
    let probe = running.probe.clone();
    for name in ["panics", "fails", "again"] {
        until(name, || probe.count(name) >= 3).await;
    }
    until("a hung reconcile is cut off and tried again", || probe.count("hangs") >= 2).await;
    assert_eq!(probe.count("final"), 1);
    running.stop.cancel();
    // The hung reconcile is not waited for longer than its own limit.
    running.task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_deleted_object_is_reconciled_too() {
    let running = Running::start(client(), of_config_maps);
    create(&running.client, &config_map("a", json!({}))).await;
    let probe = running.probe.clone();
    until("it was created", || probe.count("a") == 1).await;
    api(&running.client).delete("a", &DeleteParams::default()).await.unwrap();
    until("it was deleted", || probe.count("a") == 2).await;
    running.end().await;
}

#[tokio::test]
async fn keys_run_on_as_many_workers_and_all_get_their_turn() {
    let client = client();
    for number in 0..8 {
        create(&client, &config_map(&format!("slow-{number}"), json!({}))).await;
    }
    let running = Running::start(client, |c, cache| of_config_maps(c, cache).workers(3));
    let probe = running.probe.clone();
    until("all had their turn", || probe.seen.lock().unwrap().len() >= 8).await;
    let most = probe.most.load(Ordering::SeqCst);
    assert!((2..=3).contains(&most), "{most}");
    running.end().await;
}

#[tokio::test]
async fn one_that_is_stuck_holds_up_its_own_key_only() {
    let stuck_after = Duration::from_millis(20);
    let running =
        Running::start(client(), |c, cache| of_config_maps(c, cache).workers(1).stuck_after(stuck_after));
    let probe = running.probe.clone();
    for name in ["hangs", "hangs-too"] {
        create(&running.client, &config_map(name, json!({}))).await;
        until("it is worked on", || probe.count(name) == 1).await;
    }
    for number in 0..6 {
        create(&running.client, &config_map(&format!("slow-{number}"), json!({}))).await;
    }
    until("all others had their turn", || probe.seen.lock().unwrap().len() >= 8).await;
    until("all others ended", || probe.running.load(Ordering::SeqCst) == 2).await;
    assert_eq!((probe.count("hangs"), probe.count("hangs-too")), (1, 1), "each key has one worker at a time");
    running.stop.cancel();
    running.task.abort();
}

#[tokio::test]
async fn only_the_controller_owner_is_woken() {
    let running = Running::start(client(), |controller, cache| {
        controller.owns(&cache.informer(Watch::metadata(config_maps())), "example.com", "Owner")
    });
    let owned = |name: &str, owner: &str, kind: &str, controller: bool| {
        object(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "default", "ownerReferences": [
                {"apiVersion": "example.com/v1", "kind": kind, "name": owner, "uid": "1", "controller": controller}
            ]},
        }))
    };
    create(&running.client, &owned("a", "not-controller", "Owner", false)).await;
    create(&running.client, &owned("b", "other-kind", "Other", true)).await;
    create(&running.client, &owned("c", "right", "Owner", true)).await;
    let probe = running.probe.clone();
    until("the owner was woken", || probe.count("right") == 1).await;
    assert_eq!(probe.seen.lock().unwrap().len(), 1);
    let patch = Patch::Merge(json!({"data": {"changed": "yes"}}));
    api(&running.client).patch("c", &PatchParams::default(), &patch).await.unwrap();
    until("a change wakes it again", || probe.count("right") == 2).await;
    running.end().await;
}

#[tokio::test]
async fn each_watch_wakes_for_what_its_predicate_lets_pass() {
    let running = Running::start(client(), |controller, cache| {
        let maps = cache.informer(Watch::full(config_maps()));
        let marked = Predicate::object(|object| object.metadata.name.as_deref() == Some("marked"));
        controller
            .for_kind(maps.only(Predicate::labels_changed().and(!Predicate::deleted())))
            .watches(maps.only(Predicate::deleted().and(marked)), |_| vec![Key::new("default", "told")])
    });
    let probe = running.probe.clone();
    for name in ["marked", "plain", "last"] {
        create(&running.client, &config_map(name, json!({}))).await;
        until("it was created", || probe.count(name) == 1).await;
    }
    let change = |name: &'static str, change: serde_json::Value| {
        let api = api(&running.client);
        async move { api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap() }
    };
    change("plain", json!({"data": {"a": "b"}})).await;
    change("plain", json!({"metadata": {"labels": {"a": "b"}}})).await;
    until("its labels were changed", || probe.count("plain") == 2).await;
    for name in ["plain", "marked"] {
        api(&running.client).delete(name, &DeleteParams::default()).await.unwrap();
    }
    until("one of them is told of", || probe.count("told") == 1).await;
    // What comes last shows that nothing else came before it.
    change("last", json!({"metadata": {"labels": {"a": "b"}}})).await;
    until("the last change came", || probe.count("last") == 2).await;
    assert_eq!((probe.count("marked"), probe.count("plain"), probe.count("told")), (1, 2, 1));
    running.end().await;
}
