//! Components of one application written at the same time: within the limit, with the same requests, and how much faster.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use vela_core::{Options, Process, options};
use vela_runtime::fault::Entry;

use super::test_cluster::{TestCluster, application, web};

/// All objects are there before this.
const DEADLINE: Duration = Duration::from_secs(120);

async fn cluster(concurrent_writes: usize) -> TestCluster {
    let mut cluster = TestCluster::without_controllers().await;
    // A namespace of its own is made below.
    let bounds = options::Bounds { own_namespace: false, ..options::Bounds::SAFE };
    let options = Options { concurrent_writes, bounds, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    // So that discovery and watches of its kinds are there already.
    cluster.create(application("warm", &[web("warm", "nginx:1")])).await;
    cluster.phase("warm", "running").await;
    cluster.settled().await;
    cluster
}

fn components(prefix: &str, count: usize) -> Vec<Value> {
    (0..count).map(|number| web(&format!("{prefix}-{number}"), "nginx:1")).collect()
}

fn writes_an_object(entry: &Entry) -> bool {
    entry.method == http::Method::PATCH && entry.path.contains("/deployments/")
}

/// What was asked until the application rests; its first reconcile alone makes every object.
async fn requests(concurrent_writes: usize) -> (Vec<Entry>, usize) {
    let mut cluster = cluster(concurrent_writes).await;
    cluster.rested(1).await;
    cluster.requests();
    cluster.faults.slow(Duration::from_millis(100), writes_an_object);
    cluster.create(application("shop", &components("web", 12))).await;
    cluster.phase("shop", "running").await;
    // On a real control plane the controllers of one cluster would work in the other one too.
    cluster.stop().await;
    (cluster.requests(), cluster.faults.most_in_flight())
}

#[tokio::test]
async fn components_are_written_together_and_nothing_is_asked_twice() {
    let (one_by_one, one) = requests(1).await;
    let (together, several) = requests(options::CONCURRENT_WRITES).await;
    assert_eq!(one, 1);
    assert!((2..=options::CONCURRENT_WRITES).contains(&several), "{several} at the same time");
    for all in [&one_by_one, &together] {
        let first = all.iter().position(writes_an_object).unwrap();
        let record = |entry: &Entry| entry.writes() && entry.path.contains("/resourcetrackers");
        assert!(all[..first].iter().any(record), "the record is written before the first object: {all:#?}");
    }
    let objects = |all: &[Entry]| {
        let objects = all.iter().filter(|entry| entry.path.contains("/web-"));
        // Each cluster has a namespace of its own.
        let name = |entry: &Entry| entry.path.split_once("/web-").map(|(_, name)| name.to_owned());
        let mut objects: Vec<_> = objects.map(|entry| (entry.method.to_string(), name(entry))).collect();
        objects.sort();
        objects
    };
    assert_eq!(objects(&one_by_one), objects(&together));
    let order: Vec<_> = one_by_one.iter().filter(|entry| writes_an_object(entry)).collect();
    let name = |entry: &Entry| entry.path.rsplit('/').next().unwrap_or_default().to_owned();
    let written: Vec<usize> = order
        .iter()
        .filter_map(|entry| name(entry).split('?').next()?.strip_prefix("web-")?.parse().ok())
        .collect();
    assert_eq!(written, (0..12).collect::<Vec<_>>(), "one at a time, in the order written down");
}

#[tokio::test]
async fn one_component_that_fails_leaves_the_others_alone() {
    let cluster = cluster(options::CONCURRENT_WRITES).await;
    cluster
        .create(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web-3"}, "spec": {
            "selector": {"matchLabels": {"mine": "yes"}},
            "template": {"metadata": {"labels": {"mine": "yes"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
        }}))
        .await;
    cluster.create(application("shop", &components("web", 10))).await;
    let all = || async {
        let mut there = 0;
        for number in 0..10 {
            let service = cluster.get("v1", "Service", &format!("web-{number}")).await;
            there += usize::from(service.is_some());
        }
        there
    };
    super::test_cluster::until("nine components are there", || async { all().await == 9 }).await;
    assert!(
        cluster.get("v1", "Service", "web-3").await.is_none(),
        "the rest of the failed component is left alone"
    );
    let kept = cluster.deployment("web-3").await.unwrap();
    assert_eq!(kept["spec"]["template"]["spec"]["containers"][0]["image"], "a");
}

#[tokio::test]
async fn a_namespace_is_made_before_what_lives_in_it() {
    let cluster = cluster(options::CONCURRENT_WRITES).await;
    let inside = format!("{}-inside", cluster.namespace);
    let place = format!("/namespaces/{inside}");
    let makes_it = move |entry: &Entry| {
        entry.method == http::Method::PATCH
            && entry.path.split('?').next().is_some_and(|path| path.ends_with(&place))
    };
    cluster.faults.slow(Duration::from_millis(300), makes_it);
    cluster.requests();
    let raw = |name: &str, object: Value| json!({"name": name, "type": "raw", "properties": object});
    let place = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": inside}});
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": inside}, "data": {"a": "1"},
    });
    cluster.create(application("shop", &[raw("place", place), raw("settings", settings)])).await;
    cluster.phase("shop", "running").await;
    let written = cluster.requests();
    let tries = written.iter().filter(|entry| entry.writes() && entry.path.contains("/configmaps/settings"));
    assert_eq!(tries.count(), 1, "one that came too early would be refused and tried again: {written:#?}");
}

/// The time from the application to its last object.
async fn time(cluster: &TestCluster, name: &str, count: usize) -> Duration {
    let api = cluster.api("apps/v1", "Deployment").await;
    let mut events = watcher(api, watcher::Config::default()).applied_objects().boxed();
    let started = Instant::now();
    cluster.create(application(name, &components(name, count))).await;
    let mut there = BTreeSet::new();
    let wait = async {
        while there.len() < count {
            let Ok(object) = events.next().await.unwrap() else { continue };
            let found = object.metadata.name.unwrap_or_default();
            if found.strip_prefix(name).is_some_and(|rest| rest.starts_with('-')) {
                there.insert(found);
            }
        }
        started.elapsed()
    };
    let time = tokio::time::timeout(DEADLINE, wait).await.unwrap();
    cluster.phase(name, "running").await;
    time
}

/// Rounds of which the fastest counts: the machine has other things to do.
const ROUNDS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures: cargo test -p vela-core --test core -- the_time_of_one --ignored --nocapture"]
async fn the_time_of_one_application() {
    for delay in [Duration::ZERO, Duration::from_millis(5)] {
        let mut found = Vec::new();
        for limit in [1, options::CONCURRENT_WRITES] {
            // One after the other: on a real control plane the controllers of both would work on everything.
            let mut cluster = cluster(limit).await;
            cluster.faults.slow(delay, |entry| !entry.is_watch());
            let mut of_limit = Vec::new();
            for count in [1, 10, 100] {
                of_limit.push((count, best(&cluster, limit, count).await));
            }
            cluster.stop().await;
            found.push(of_limit);
        }
        let limit = options::CONCURRENT_WRITES;
        for ((count, (alone, asked)), (_, (together, asked_together))) in found[0].iter().zip(&found[1]) {
            let [alone, together] = [alone, together].map(|time| time.as_secs_f64() * 1e3);
            println!(
                "{delay:?} a request, {count} components: {alone:.0} ms one by one ({asked} requests), {together:.0} ms \
                 {limit} at a time ({asked_together} requests), ratio {:.2}",
                alone / together,
            );
        }
    }
}

/// The fastest of the rounds, and the most requests for objects.
async fn best(cluster: &TestCluster, limit: usize, count: usize) -> (Duration, usize) {
    let mut best = (Duration::MAX, 0);
    for round in 0..ROUNDS {
        cluster.requests();
        let name = format!("l{limit}c{count}r{round}");
        best.0 = best.0.min(time(cluster, &name, count).await);
        best.1 = best.1.max(count_of(&name, &cluster.requests()));
        cluster.delete("core.oam.dev/v1beta1", "Application", &name).await;
        cluster.gone("core.oam.dev/v1beta1", "Application", &name).await;
    }
    best
}

/// Requests for its objects; how often its status is written depends on when they run.
fn count_of(name: &str, requests: &[Entry]) -> usize {
    requests.iter().filter(|entry| entry.path.contains(&format!("/{name}-")) && !entry.is_event()).count()
}
