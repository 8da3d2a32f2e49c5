//! Start and stop in order, and what the endpoints tell.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vela_runtime::cache::{Cache, Watch};
use vela_runtime::manager::{Endpoint, Error, Manager};
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};
use vela_testkit::silent;

use super::cluster::{client, config_map, config_maps, create, recorded, until};

#[derive(Clone, Default)]
struct Slow {
    began: Arc<AtomicBool>,
    goes_on: Arc<Notify>,
    ended: Arc<AtomicBool>,
}

impl Reconciler for Slow {
    async fn reconcile(&self, _: Key) -> Result<Action, Failure> {
        self.began.store(true, Ordering::SeqCst);
        self.goes_on.notified().await;
        self.ended.store(true, Ordering::SeqCst);
        Ok(Action::Done)
    }
}

/// What an operator's dashboard finds while the first reconcile runs.
const METRICS: &str = r#"
    controller_runtime_active_workers{controller="slow"} 1
    controller_runtime_max_concurrent_reconciles{controller="slow"} 1
    controller_runtime_reconcile_total{controller="slow",result="success"} 0
    controller_runtime_reconcile_total{controller="slow",result="error"} 0
    controller_runtime_reconcile_total{controller="slow",result="requeue"} 0
    controller_runtime_reconcile_total{controller="slow",result="requeue_after"} 0
    controller_runtime_reconcile_errors_total{controller="slow"} 0
    controller_runtime_terminal_reconcile_errors_total{controller="slow"} 0
    controller_runtime_reconcile_panics_total{controller="slow"} 0
    controller_runtime_reconcile_timeouts_total{controller="slow"} 0
    controller_runtime_reconcile_time_seconds_count{controller="slow"} 0
    workqueue_depth{name="slow",controller="slow"} 0
    workqueue_adds_total{name="slow",controller="slow"} 1
    workqueue_retries_total{name="slow",controller="slow"} 0
    workqueue_queue_duration_seconds_count{name="slow",controller="slow"} 1
    workqueue_work_duration_seconds_count{name="slow",controller="slow"} 0
    workqueue_unfinished_work_seconds{name="slow",controller="slow"} 0.
    workqueue_longest_running_processor_seconds{name="slow",controller="slow"} 0.
"#;

async fn free_address() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

async fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = tokio::net::TcpStream::connect(address).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

#[tokio::test]
async fn a_stop_ends_after_the_running_reconcile_and_closes_endpoints() {
    let client = client();
    create(&client, &config_map("a", serde_json::json!({}))).await;
    let (health, metrics) = (free_address().await, free_address().await);
    let slow = Slow::default();
    let cache = Cache::new(client.clone());
    let controller =
        Controller::new("slow", slow.clone()).for_kind(&cache.informer(Watch::full(config_maps())));
    let manager = Manager::new(client, cache)
        .with(controller)
        .health(Some(health.into()))
        .metrics_address(Some(metrics.into()));
    let stop = CancellationToken::new();
    let task = tokio::spawn(manager.run(stop.clone()));
    until("a reconcile began", || slow.began.load(Ordering::SeqCst)).await;
    assert!(get(health, "/healthz").await.unwrap().ends_with("ok"));
    assert!(get(health, "/readyz?verbose").await.unwrap().contains("[+]caches ok"));
    for (path, status) in
        [("/", 404), ("/readyz/caches", 200), ("/readyz/nothing", 404), ("/healthz/ping", 200)]
    {
        let answer = get(health, path).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answer}");
    }
    let text = get(metrics, "/metrics").await.unwrap();
    for line in METRICS.lines().map(str::trim).filter(|line| !line.is_empty()) {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    stop.cancel();
    slow.goes_on.notify_one();
    task.await.unwrap().unwrap();
    assert!(slow.ended.load(Ordering::SeqCst), "the reconcile was not cut off");
    assert!(get(health, "/healthz").await.is_none_or(|answer| answer.is_empty()));
}

#[tokio::test]
async fn silent_peers_keep_no_probe_from_its_answer() {
    silent::many_files().unwrap();
    let client = client();
    let (health, metrics) = (free_address().await, free_address().await);
    let manager = Manager::new(client.clone(), Cache::new(client))
        .health(Some(health.into()))
        .metrics_address(Some(metrics.into()));
    let stop = CancellationToken::new();
    let task = tokio::spawn(manager.run(stop.clone()));
    until("the endpoints are there", || std::net::TcpStream::connect(metrics).is_ok()).await;
    for (address, path) in [(health, "/healthz"), (metrics, "/metrics")] {
        let peers = silent::peers(address, silent::MANY, None).await.unwrap();
        let answer = tokio::time::timeout(silent::DEADLINE, get(address, path)).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        drop(peers);
    }
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn added_checks_and_handlers_are_served_beside_our_own() {
    let client = client();
    let (health, metrics) = (free_address().await, free_address().await);
    let connected = Arc::new(AtomicBool::new(false));
    let look = connected.clone();
    let manager = Manager::new(client.clone(), Cache::new(client))
        .health(Some(health.into()))
        .metrics_address(Some(metrics.into()))
        .add_healthz_check("disk", || Ok(()))
        .add_readyz_check("database", move || match look.load(Ordering::SeqCst) {
            true => Ok(()),
            false => Err("the password \"secret\" was refused".into()),
        })
        .add_metrics_handler("/debug/state", |request| {
            http::Response::new(format!("asked for {}", request.uri().query().unwrap_or("nothing")).into())
        })
        .add_metrics_handler("/debug/broken", |_| panic!("a mistake in the handler"));
    let stop = CancellationToken::new();
    let task = tokio::spawn(manager.run(stop.clone()));
    until("the endpoints are there", || std::net::TcpStream::connect(metrics).is_ok()).await;
    let body = get(health, "/healthz?verbose").await.unwrap();
    assert!(body.contains("[+]ping ok\n[+]disk ok\n"), "{body}");
    let body = get(health, "/readyz").await.unwrap();
    assert!(
        body.starts_with("HTTP/1.1 500") && body.contains("[-]database failed: reason withheld"),
        "{body}"
    );
    assert!(!body.contains("secret"), "{body}");
    connected.store(true, Ordering::SeqCst);
    assert!(get(health, "/readyz/database").await.unwrap().starts_with("HTTP/1.1 200"));
    assert!(get(metrics, "/debug/state?all").await.unwrap().ends_with("asked for all"));
    assert!(get(metrics, "/debug/broken").await.unwrap().starts_with("HTTP/1.1 500"));
    assert!(get(metrics, "/metrics").await.unwrap().starts_with("HTTP/1.1 200"));
    let probe = get(health, "/debug/state").await.unwrap();
    assert!(probe.starts_with("HTTP/1.1 404"), "not where probes ask: {probe}");
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_check_or_handler_that_cannot_be_served_ends_the_start() {
    let client = client();
    let manager = || Manager::new(client.clone(), Cache::new(client.clone()));
    let handler = |_: &http::Request<()>| http::Response::default();
    for (manager, message) in [
        (
            manager().add_healthz_check("ping", || Ok(())),
            "the healthz check \"ping\": another check has this name",
        ),
        (manager().add_readyz_check("a/b", || Ok(())), "the readyz check \"a/b\": it is part of a path"),
        (manager().add_metrics_handler("/metrics", handler), "\"/metrics\": this path is served already"),
        (manager().add_metrics_handler("state", handler), "\"state\": write it as /debug/state"),
        (manager().add_metrics_handler("/a", handler).add_metrics_handler("/a", handler), "another handler"),
    ] {
        let error = manager.run(CancellationToken::new()).await.unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[tokio::test]
async fn two_controllers_of_one_name_are_refused() {
    let client = client();
    let cache = Cache::new(client.clone());
    let twice = || Controller::new("same", Slow::default());
    let result = Manager::new(client, cache).with(twice()).with(twice()).run(CancellationToken::new()).await;
    assert!(matches!(result, Err(Error::DuplicateName(name)) if name == "same"));
}

#[tokio::test]
async fn a_taken_address_is_told() {
    let client = client();
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let manager =
        Manager::new(client.clone(), Cache::new(client)).health(taken.local_addr().ok().map(Into::into));
    let error = manager.run(CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("choose another address"), "{error}");
}

#[tokio::test]
async fn a_taken_address_of_no_flag_is_done_without() {
    let client = client();
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint { address: taken.local_addr().unwrap(), optional: true };
    let stop = CancellationToken::new();
    stop.cancel();
    Manager::new(client.clone(), Cache::new(client)).health(Some(endpoint)).run(stop).await.unwrap();
}

/// Counts what it is asked for.
#[derive(Clone, Default)]
struct Counting(Arc<Mutex<BTreeMap<String, usize>>>);

impl Reconciler for Counting {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        *self.0.lock().unwrap().entry(key.name).or_default() += 1;
        Ok(Action::Done)
    }
}

#[tokio::test(start_paused = true)]
async fn a_resync_delivers_objects_once_a_period_without_requests() {
    const OBJECTS: usize = 100;
    const PERIOD: Duration = Duration::from_secs(3600);
    let (client, faults) = recorded();
    for number in 0..OBJECTS {
        create(&client, &config_map(&format!("a{number}"), serde_json::json!({}))).await;
    }
    let (counting, cache) = (Counting::default(), Cache::new(client.clone()));
    let controller =
        Controller::new("counting", counting.clone()).for_kind(&cache.informer(Watch::full(config_maps())));
    let manager = Manager::new(client, cache).with(controller).resync(Some(PERIOD));
    let stop = CancellationToken::new();
    let task = tokio::spawn(manager.run(stop.clone()));
    let total = || counting.0.lock().unwrap().values().sum::<usize>();
    until("all were reconciled at the start", || total() == OBJECTS).await;
    faults.take();
    tokio::time::sleep(PERIOD / 2).await;
    let half = total() - OBJECTS;
    assert!(
        (OBJECTS / 4..OBJECTS * 3 / 4).contains(&half),
        "spread over the period, but {half} came in its half"
    );
    tokio::time::sleep(PERIOD / 2 + PERIOD / 32).await;
    assert!(counting.0.lock().unwrap().values().all(|times| (2..=3).contains(times)), "{:?}", counting.0);
    // A watch that goes on asks first where the server is.
    let of_watches =
        |entry: &vela_runtime::fault::Entry| entry.is_watch() || entry.path.ends_with("?limit=1");
    let requests: Vec<_> = faults.take().into_iter().filter(|entry| !of_watches(entry)).collect();
    assert!(requests.is_empty(), "{requests:?}");
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_process_that_has_no_copies_yet_lives_and_is_not_ready() {
    let (client, faults) = recorded();
    faults.inject(|_| vela_runtime::fault::Injection::DropRequest);
    let health = free_address().await;
    let cache = Cache::new(client.clone());
    cache.informer(Watch::full(config_maps()));
    let stop = CancellationToken::new();
    let task = tokio::spawn(Manager::new(client, cache).health(Some(health.into())).run(stop.clone()));
    let asked = async |path: &str, status: &str| {
        while !get(health, path).await.is_some_and(|answer| answer.starts_with(status)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(silent::DEADLINE, asked("/healthz", "HTTP/1.1 200")).await.unwrap();
    assert!(get(health, "/healthz").await.unwrap().ends_with("ok"));
    let answer = get(health, "/readyz").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    assert!(answer.contains("[-]caches failed: reason withheld\nreadyz check failed\n"), "{answer}");
    assert!(get(health, "/readyz?exclude=caches").await.unwrap().ends_with("ok"));
    faults.heal();
    tokio::time::timeout(silent::DEADLINE, asked("/readyz", "HTTP/1.1 200")).await.unwrap();
    stop.cancel();
    task.await.unwrap().unwrap();
}
