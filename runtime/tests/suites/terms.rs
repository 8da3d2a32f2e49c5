//! Terms of office: who works when several processes want to, and what happens when the server is away.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{Either, Empty};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::{Layer as _, ServiceExt as _};
use vela_apiserver::ApiServer;
use vela_runtime::cache::{Cache, Watch};
use vela_runtime::fault::{Entry, Faults, Injection};
use vela_runtime::lease;
use vela_runtime::manager::{Error, FOR_EVER, Manager};
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use super::cluster::{config_map, config_maps, create, until};

/// What happened, in order, and when.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(String, Instant)>>>);

impl Log {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push((what, Instant::now()));
    }

    fn at(&self, what: &str) -> Option<Instant> {
        self.0.lock().unwrap().iter().find(|(noted, _)| noted == what).map(|(_, at)| *at)
    }

    fn place(&self, what: &str) -> Option<usize> {
        self.0.lock().unwrap().iter().position(|(noted, _)| noted == what)
    }

    fn has(&self, what: &str) -> bool {
        self.at(what).is_some()
    }
}

/// Says when a reconcile ends, also when it is cut off.
struct Working(Log, String);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.note(format!("{} ended", self.1));
    }
}

/// Works for a while on everything.
struct Slow {
    log: Log,
    name: &'static str,
    takes: Duration,
}

impl Reconciler for Slow {
    async fn reconcile(&self, _: Key) -> Result<Action, Failure> {
        self.log.note(format!("{} began", self.name));
        let _working = Working(self.log.clone(), self.name.to_owned());
        tokio::time::sleep(self.takes).await;
        self.log.note(format!("{} finished", self.name));
        Ok(Action::Done)
    }
}

struct Process {
    faults: Faults,
    stop: CancellationToken,
    task: JoinHandle<Result<(), Error>>,
}

/// A process that reconciles config maps while it holds the lease.
fn process(
    server: &ApiServer,
    log: &Log,
    name: &'static str,
    takes: Duration,
    grace: Duration,
    set_up: impl FnOnce(Manager) -> Manager,
) -> Process {
    let faults = Faults::new();
    let client = kube::Client::new(faults.layer(server.service()), "default");
    let cache = Cache::new(client.clone());
    let controller = Controller::new("slow", Slow { log: log.clone(), name, takes })
        .for_kind(&cache.informer(Watch::full(config_maps())))
        .timeout(Duration::from_secs(3600));
    let lease =
        lease::Config { namespace: "default".into(), name: "leader".into(), identity: name.to_owned() };
    let stop = CancellationToken::new();
    let manager = Manager::new(client, cache).with(controller).lease(Some(lease)).grace(grace);
    let task = tokio::spawn(set_up(manager).run(stop.clone()));
    Process { faults, stop, task }
}

async fn server_with_one() -> ApiServer {
    let server = ApiServer::builder().build().unwrap();
    create(&kube::Client::new(server.service(), "default"), &config_map("a", json!({}))).await;
    server
}

#[tokio::test(start_paused = true)]
async fn a_stop_keeps_the_lease_until_the_last_reconcile_has_ended() {
    let (server, log) = (server_with_one().await, Log::default());
    // Longer than a lease holds without renewal.
    let takes = Duration::from_secs(25);
    let first = process(&server, &log, "first", takes, vela_runtime::manager::GRACE, |manager| manager);
    until("the first works", || log.has("first began")).await;
    let second = process(&server, &log, "second", takes, vela_runtime::manager::GRACE, |manager| manager);
    tokio::time::sleep(Duration::from_secs(1)).await;
    first.stop.cancel();
    first.task.await.unwrap().unwrap();
    assert!(log.has("first finished"), "it was not cut off");
    until("the second works", || log.has("second began")).await;
    let between = log.at("second began").unwrap() - log.at("first ended").unwrap();
    assert!(log.place("second began") > log.place("first ended"));
    assert!(between < Duration::from_secs(1), "a clean hand-over takes {between:?}");
    second.stop.cancel();
    second.task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_cuts_off_what_works_before_another_may_begin() {
    let (server, log) = (server_with_one().await, Log::default());
    let takes = Duration::from_secs(600);
    let first = process(&server, &log, "first", takes, FOR_EVER, |manager| manager);
    until("the first works", || log.has("first began")).await;
    let second = process(&server, &log, "second", takes, Duration::ZERO, |manager| manager);
    tokio::time::sleep(Duration::from_secs(5)).await;
    first.faults.inject(|entry| if entry.writes() { Injection::DropRequest } else { Injection::Pass });
    let cut = Instant::now();
    let end = first.task.await.unwrap();
    assert!(matches!(&end, Err(Error::LeaseLost(name)) if name == "leader"), "{end:?}");
    assert!(!log.has("first finished"));
    until("the second works", || log.has("second began")).await;
    let (ended, began) = (log.at("first ended").unwrap(), log.at("second began").unwrap());
    assert!(
        began - ended > Duration::from_secs(3),
        "time for a write that was on its way: {:?}",
        began - ended
    );
    assert!(began - cut <= lease::LEASE_DURATION + Duration::from_secs(3));
    second.stop.cancel();
    second.task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_as_long_as_it_is_told_to() {
    for (grace, finishes) in [(Duration::ZERO, false), (Duration::from_secs(5), false), (FOR_EVER, true)] {
        let (server, log) = (server_with_one().await, Log::default());
        let running = process(&server, &log, "first", Duration::from_secs(300), grace, |manager| manager);
        until("it works", || log.has("first began")).await;
        let asked = Instant::now();
        running.stop.cancel();
        running.task.await.unwrap().unwrap();
        assert_eq!(log.has("first finished"), finishes, "{grace:?}");
        assert!(log.has("first ended"), "{grace:?}: nothing goes on");
        assert!(finishes || asked.elapsed() <= grace + Duration::from_secs(1), "{:?}", asked.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn what_needs_no_leader_runs_while_another_leads() {
    let (server, log) = (server_with_one().await, Log::default());
    let takes = Duration::from_secs(1);
    let beside = |name: &'static str| {
        let log = log.clone();
        move |manager: Manager| {
            manager.beside(move |stop| async move {
                log.note(format!("beside {name} began"));
                stop.cancelled().await;
                log.note(format!("beside {name} ended"));
            })
        }
    };
    let first = process(&server, &log, "first", takes, FOR_EVER, beside("first"));
    until("the first works", || log.has("first began")).await;
    assert!(log.place("beside first began") < log.place("first began"));
    let second = process(&server, &log, "second", takes, FOR_EVER, beside("second"));
    until("it runs beside the second", || log.has("beside second began")).await;
    assert!(!log.has("second began"));
    for running in [second, first] {
        running.stop.cancel();
        running.task.await.unwrap().unwrap();
    }
    assert!(log.has("beside first ended") && log.has("beside second ended"));
    assert!(!log.has("second began"), "a process that stops while waiting never leads");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_at_the_start_is_waited_for() {
    let (server, log) = (server_with_one().await, Log::default());
    let takes = Duration::ZERO;
    let faults = Faults::new();
    faults.inject(|_| Injection::DropRequest);
    let client = kube::Client::new(faults.layer(server.service()), "default");
    let cache = Cache::new(client.clone());
    let controller = Controller::new("slow", Slow { log: log.clone(), name: "it", takes })
        .for_kind(&cache.informer(Watch::full(config_maps())));
    let stop = CancellationToken::new();
    let task = tokio::spawn(Manager::new(client, cache).with(controller).run(stop.clone()));
    // Longer than any limit of a start.
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(!task.is_finished(), "a start that gives up must be started again by its caller");
    let requests = faults.take().len();
    assert!((60..200).contains(&requests), "{requests} requests in ten minutes");
    faults.heal();
    let back = Instant::now();
    until("it works", || log.has("it finished")).await;
    assert!(back.elapsed() <= Duration::from_secs(6), "{:?}", back.elapsed());
    stop.cancel();
    task.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_a_list_ends_the_start() {
    let server = ApiServer::builder().build().unwrap();
    let client = kube::Client::new(server.service(), "default");
    let cache = Cache::new(client.clone());
    let unknown = kube::api::ApiResource {
        group: "example.com".into(),
        version: "v1".into(),
        api_version: "example.com/v1".into(),
        kind: "Unknown".into(),
        plural: "unknowns".into(),
    };
    cache.informer(Watch::full(unknown));
    let began = Instant::now();
    let error = Manager::new(client, cache).run(CancellationToken::new()).await.unwrap_err().to_string();
    assert!(error.contains("cannot list Unknown (example.com/v1)") && error.contains("installed"), "{error}");
    assert!(
        began.elapsed() <= vela_runtime::cache::SYNC_TIMEOUT + Duration::from_secs(20),
        "{:?}",
        began.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_at_once_are_not_begun_without_pause() {
    let (server, log) = (server_with_one().await, Log::default());
    let (faults, service) = (Faults::new(), server.service());
    let ending = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let service = service.clone();
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        async move {
            if is_watch {
                return Ok(http::Response::new(Either::Right(Empty::<Bytes>::new())));
            }
            service.oneshot(request).await.map(|answer| answer.map(Either::Left))
        }
    });
    let client = kube::Client::new(faults.layer(ending), "default");
    let cache = Cache::new(client.clone());
    let controller = Controller::new("slow", Slow { log: log.clone(), name: "it", takes: Duration::ZERO })
        .for_kind(&cache.informer(Watch::full(config_maps())));
    let stop = CancellationToken::new();
    let task = tokio::spawn(Manager::new(client, cache).with(controller).run(stop.clone()));
    until("it works", || log.has("it finished")).await;
    faults.take();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let (watches, others): (Vec<_>, Vec<_>) = faults.take().into_iter().partition(Entry::is_watch);
    assert!((50..=62).contains(&watches.len()), "{} watches in a minute", watches.len());
    // Each asks first where the server is.
    assert!(others.len() <= watches.len() + 1, "{} other requests in a minute", others.len());
    stop.cancel();
    task.await.unwrap().unwrap();
}
