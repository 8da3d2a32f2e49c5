//! The price of a queue and of a cached object: printed for `docs/benchmarks.md`, not judged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use vela_runtime::cache::{Cache, Watch};
use vela_runtime::queue::{Queue, Verdict};
use vela_runtime::{Action, Controller, Failure, Key, Manager, Reconciler};

use super::cluster::config_maps;

/// Keys through an empty worker.
const ITEMS: usize = 500_000;
const OBJECTS: usize = 10_000;

fn keys(count: usize) -> impl Iterator<Item = Key> {
    (0..count).map(|number| Key::new("default", format!("application-{number}")))
}

/// Keys a second through that many workers that do nothing.
async fn through(workers: usize) -> f64 {
    let queue = Arc::new(Queue::new());
    let began = Instant::now();
    let working: Vec<_> = (0..workers)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut done = 0;
                while let Some(item) = queue.next().await {
                    queue.done(&item.key, Verdict::Forget);
                    done += 1;
                }
                done
            })
        })
        .collect();
    keys(ITEMS).for_each(|key| queue.add(key));
    while !queue.idle() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let took = began.elapsed();
    queue.close();
    let mut done = 0;
    for worker in working {
        done += worker.await.unwrap();
    }
    assert_eq!(done, ITEMS);
    ITEMS as f64 / took.as_secs_f64()
}

struct Nothing;

impl Reconciler for Nothing {
    async fn reconcile(&self, _: Key) -> Result<Action, Failure> {
        Ok(Action::Done)
    }
}

/// Keys a second through a whole controller: span, recovery, deadline, metrics.
async fn reconciled(workers: usize) -> f64 {
    let (client, _) = super::cluster::recorded();
    let controller = Controller::new("figures", Nothing).workers(workers);
    let (queue, stop, cache) = (controller.queue(), CancellationToken::new(), Cache::new(client.clone()));
    keys(ITEMS).for_each(|key| queue.add(key));
    let task = tokio::spawn(Manager::new(client, cache).with(controller).run(stop.clone()));
    let began = Instant::now();
    while !queue.idle() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let took = began.elapsed();
    stop.cancel();
    task.await.unwrap().unwrap();
    ITEMS as f64 / took.as_secs_f64()
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap_or(0) * 1024
}

/// A server that has that many objects of the size of an application, each with its managed fields.
fn many() -> kube::Client {
    let answer = |request: http::Request<kube::client::Body>| async move {
        let query = request.uri().query().unwrap_or_default().to_owned();
        if query.contains("watch=true") {
            std::future::pending::<()>().await;
        }
        let after = query.split("continue=").nth(1).and_then(|rest| rest.split('&').next());
        let first: usize = after.and_then(|number| number.parse().ok()).unwrap_or(0);
        let last = (first + 500).min(OBJECTS);
        let items: Vec<_> = (first..last).map(|number| object(number).to_string()).collect();
        let next = if last < OBJECTS { last.to_string() } else { String::new() };
        let list = format!(
            r#"{{"apiVersion":"v1","kind":"List","metadata":{{"resourceVersion":"99999999","continue":"{next}"}},"items":[{}]}}"#,
            items.join(",")
        );
        Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::from(list.into_bytes())))
    };
    fn object(number: usize) -> serde_json::Value {
        let component = json!({
            "name": format!("web-{number}"), "type": "webservice",
            "properties": {"image": "registry.example.com/team/web:1.27", "port": 8080, "cpu": "0.5", "env": [
                {"name": "MODE", "value": "production"}, {"name": "REGION", "value": format!("region-{}", number % 7)}]},
            "traits": [{"type": "scaler", "properties": {"replicas": 3}},
                {"type": "ingress", "properties": {"domain": format!("web-{number}.example.com"), "http": {"/": 8080}}}],
        });
        let fields =
            json!({"f:spec": {"f:components": {}}, "f:status": {"f:conditions": {}, "f:services": {}}});
        let managed: Vec<_> = (0..3)
            .map(|writer| {
                json!({"manager": format!("writer-{writer}"), "operation": "Update", "apiVersion": "v1",
                    "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields})
            })
            .collect();
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": format!("application-{number}"), "namespace": format!("team-{}", number % 100),
                "uid": format!("00000000-0000-4000-8000-{number:012}"), "resourceVersion": (number + 1).to_string(),
                "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"team": format!("team-{}", number % 100), "tier": "web"},
                "annotations": {"description": "an application of the usual size"}, "managedFields": managed,
            },
            "spec": {"components": [component]},
            "status": {"status": "running", "conditions": [{"type": "Ready", "status": "True", "reason": "Ready",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}], "services": [{"name": "web", "healthy": true}]},
        })
    }
    kube::Client::new(tower::service_fn(answer), "default")
}

/// Bytes that ten thousand cached objects keep resident.
async fn resident_bytes(watch: Watch) -> usize {
    let cache = Cache::new(many());
    let before = resident();
    let informer = cache.informer(watch);
    cache.synced().await.unwrap();
    assert_eq!(informer.keys().len(), OBJECTS);
    resident().saturating_sub(before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints figures: cargo xtask bench --manager"]
#[allow(clippy::print_stdout)]
async fn figures_of_queue_and_cache() {
    // Metadata first: what the larger objects leave to the allocator must not hide its own.
    for (name, watch) in [("metadata", Watch::metadata(config_maps())), ("whole", Watch::full(config_maps()))]
    {
        let bytes = resident_bytes(watch).await;
        println!(
            "cache: {OBJECTS} objects, {name}: {:.1} MB resident, {} bytes each",
            bytes as f64 / 1e6,
            bytes / OBJECTS
        );
    }
    for workers in [1, 8] {
        let (queue, controller) = (through(workers).await, reconciled(workers).await);
        println!(
            "queue: {workers} workers: {queue:.0} items/s through the queue, {controller:.0} through a controller"
        );
    }
}
