//! Many applications at once: time, processor time and memory of each; printed, and growth is asserted to be linear.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, DynamicObject, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use vela_runtime::limiter::REQUESTS_IN_FLIGHT;

use super::plain_client;
use super::test_cluster::{TestCluster, application, web};

/// Requests of the person who creates the applications, at the same time.
const AT_ONCE: usize = 8;
/// All run before this, or the figure is given up.
const DEADLINE: Duration = Duration::from_secs(540);
/// Linux counts processor time in hundredths of a second.
const TICK: f64 = 0.01;

/// What one run cost.
struct Cost {
    stored: Duration,
    running: Duration,
    processor: f64,
    memory: f64,
    requests: f64,
}

/// User and system time of this process, in seconds.
pub(super) fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    f64::from(ticks) * TICK
}

/// Resident memory of this process in MiB.
pub(super) fn memory() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}

async fn cost(cluster: &TestCluster, count: usize, era: Era, at_once: usize) -> Cost {
    cluster.create(era.application("warm")).await;
    let api = cluster.api(era.api_version(), era.kind()).await;
    running(&api, era, 1).await;
    cluster.requests();
    let (processor_before, memory_before, started) = (processor(), memory(), Instant::now());
    let objects = (0..count).map(|number| {
        let object = era.application(&format!("app-{number:05}"));
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let api = api.clone();
        async move { api.create(&PostParams::default(), &object).await.map(drop) }
    });
    let created = async {
        stream::iter(objects).buffer_unordered(at_once).try_collect::<()>().await.unwrap();
        started.elapsed()
    };
    let (stored, ()) = tokio::join!(created, running(&api, era, count + 1));
    let running = started.elapsed();
    let each = |sum: f64| sum / count as f64;
    Cost {
        stored,
        running,
        processor: each(processor() - processor_before) * 1e3,
        memory: each(memory() - memory_before) * 1024.0,
        requests: each(cluster.requests().len() as f64),
    }
}

/// Wait until that many are running; a watch tells, so that waiting costs next to nothing.
async fn running(api: &Api<DynamicObject>, era: Era, count: usize) {
    let mut names = BTreeSet::new();
    let mut events = watcher(api.clone(), watcher::Config::default()).applied_objects().boxed();
    let wait = async {
        while names.len() < count {
            let Ok(object) = events.next().await.unwrap() else { continue };
            if era.runs(&object.data) {
                names.insert(object.metadata.name.unwrap());
            }
        }
    };
    let waited = tokio::time::timeout(DEADLINE, wait).await;
    assert!(waited.is_ok(), "{} of {count} run after {DEADLINE:?}", names.len());
}

#[derive(Clone, Copy)]
enum Era {
    /// `core.oam.dev/v1beta1`, applied directly.
    Beta,
    /// `core.oam.dev/v1alpha2`, by way of a configuration.
    Alpha,
}

impl Era {
    fn api_version(self) -> &'static str {
        match self {
            Self::Beta => "core.oam.dev/v1beta1",
            Self::Alpha => "core.oam.dev/v1alpha2",
        }
    }

    fn kind(self) -> &'static str {
        "Application"
    }

    fn application(self, name: &str) -> Value {
        match self {
            Self::Beta => application(
                name,
                &[json!({
                    "name": name, "type": "webservice", "properties": {"image": "nginx:1.27"},
                    "traits": [{"type": "scaler", "properties": {"replicas": 1}}],
                })],
            ),
            Self::Alpha => json!({
                "apiVersion": "core.oam.dev/v1alpha2", "kind": "Application", "metadata": {"name": name},
                "spec": {"components": [{
                    "name": name, "type": "webservice", "settings": {"image": "nginx:1.27"},
                    "traits": [{"name": "scaler", "properties": {"replicas": 1}}],
                }]},
            }),
        }
    }

    fn runs(self, data: &Value) -> bool {
        data["status"]["status"] == "running" || data["status"]["phase"] == "running"
    }
}

fn print(era: Era, count: usize, cost: &Cost) {
    println!(
        "scale: {} {count}: stored after {:.1?}, running after {:.1?}, processor {:.1} ms, memory {:.0} KiB, {:.1} requests each",
        era.api_version(),
        cost.stored,
        cost.running,
        cost.processor,
        cost.memory,
        cost.requests
    );
}

/// One application of many components, on a cluster that has it once already: the whole reconcile with all its writes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures: cargo xtask bench"]
async fn the_price_of_a_component_does_not_grow_with_their_number() {
    let cluster = TestCluster::new().await;
    let mut prices = Vec::new();
    for count in [1, 10, 100] {
        let components: Vec<Value> =
            (0..count).map(|number| web(&format!("c{count}-{number}"), "nginx:1")).collect();
        let name = format!("reconcile-{count}");
        let (before, started) = (processor(), Instant::now());
        cluster.create(application(&name, &components)).await;
        cluster.phase(&name, "running").await;
        let (took, each) = (started.elapsed(), (processor() - before) * 1e3 / f64::from(count));
        println!(
            "reconcile: {count} components: running after {took:.0?}, processor {each:.1} ms per component"
        );
        prices.push(each);
    }
    let (ten, hundred) = (prices[1], prices[2]);
    assert!(hundred < ten * 3.0, "a component among 100 costs {hundred:.1} ms, among 10 {ten:.1} ms");
}

/// How many applications; `SCALE=250,10000` chooses others.
fn counts() -> Vec<usize> {
    let asked = std::env::var("SCALE");
    asked.map_or_else(
        |_| vec![250, 1000],
        |counts| counts.split(',').map(|count| count.parse().unwrap()).collect(),
    )
}

/// As many applications as a plain client writes in the same run, with the same requests in flight.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures: cargo xtask bench"]
async fn the_price_in_time_beside_that_of_a_plain_client() {
    let count = counts().into_iter().max().unwrap();
    let mut cluster = TestCluster::without_controllers().await;
    cluster.limit_requests(REQUESTS_IN_FLIGHT);
    cluster.start();
    let cost = cost(&cluster, count, Era::Beta, REQUESTS_IN_FLIGHT).await;
    print(Era::Beta, count, &cost);
    // What they would make of the copies is not measured.
    cluster.stop().await;
    let plain = plain_client::write(&cluster, "app-00000", count, REQUESTS_IN_FLIGHT).await;
    let ratio = cost.running.as_secs_f64() / plain.as_secs_f64();
    println!(
        "scale: {count} applications: running after {:.1?}, a plain client writes the same after {plain:.1?}, ratio {ratio:.2}",
        cost.running
    );
}

/// Twice as many cost twice as much: a scan of everything per application would double the price of each.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures: cargo xtask bench"]
async fn the_price_of_an_application_does_not_depend_on_their_number() {
    let counts = counts();
    for era in [Era::Beta, Era::Alpha] {
        let mut prices = Vec::new();
        for count in &counts {
            let cost = cost(&TestCluster::new().await, *count, era, AT_ONCE).await;
            print(era, *count, &cost);
            prices.push(cost.processor);
        }
        let (first, last) = (prices.first().unwrap(), prices.last().unwrap());
        assert!(*last < first * 2.0, "an application among many costs {last:.1} ms, among few {first:.1} ms");
    }
}
