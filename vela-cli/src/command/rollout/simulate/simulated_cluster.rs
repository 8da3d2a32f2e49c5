//! A cluster inside this process whose clock jumps: API server, its simulated workloads and the real controllers.
//!
//! One thread, one paused clock, uids drawn from a count: what happens follows from what is applied and from nothing
//! else. There is no driver for sockets in this runtime, so nothing outside can be reached even by mistake.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use vela_apiserver::store::Store;
use vela_apiserver::{ApiServer, Clock, ManualControllers, simulate};
use vela_core::{Controllers, EgressOverride, Process, Stop};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::installation;

/// Time that passes with every step, so that all that can run by itself does.
const STEP: Duration = Duration::from_millis(1);
/// A world in which nothing was written for this long has come to rest: controllers wait for watches and not for time.
const QUIET: Duration = Duration::from_secs(2);
/// Steps of one simulation: a rollout of a thousand pods has some ten thousand.
const STEPS_AT_MOST: usize = 400_000;
/// When simulated worlds begin: 2026-01-01. Any moment does, as long as it is the same in every run.
const EPOCH_MILLISECONDS: i64 = 1_767_225_600_000;

/// Runs on a clock that jumps to the next moment at which something is due.
pub(super) fn in_virtual_time<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| Error::internal(format!("the event loop cannot start: {error}")))?
        .block_on(work)
}

/// The cluster.
pub(super) struct SimulatedCluster {
    server: ApiServer,
    workloads: ManualControllers,
    cluster: Cluster,
    egress_override: Arc<dyn EgressOverride>,
    running: Option<Running>,
    began: Instant,
    steps: usize,
    /// The controllers on this thread have the same time as the server.
    _clock: vela_runtime::clock::Set,
}

struct Running {
    stop: Stop,
    task: JoinHandle<std::result::Result<(), vela_core::Error>>,
}

impl SimulatedCluster {
    /// A server with our kinds, the built-in definitions and the foreign kinds whose controllers it plays.
    pub(super) async fn open(
        namespace: &str,
        foreign: &[&str],
        egress_override: Arc<dyn EgressOverride>,
    ) -> Result<Self> {
        let began = Instant::now();
        let now = move || {
            let passed = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
            jiff::Timestamp::from_millisecond(EPOCH_MILLISECONDS.saturating_add(passed)).unwrap_or_default()
        };
        let broken = |error| Error::internal(format!("the simulated cluster does not start: {error}"));
        // A fork draws its uids from a count.
        let server = ApiServer::builder().build().map_err(broken)?.fork(Clock::from_fn(now));
        let title = "the simulated cluster".to_owned();
        let cluster = Cluster::new(Client::new(server.service(), namespace), title, namespace.to_owned());
        let workloads = server.manual_controllers();
        let clock = vela_runtime::clock::set(now);
        let simulated = Self {
            server,
            workloads,
            cluster,
            egress_override,
            running: None,
            began,
            steps: 0,
            _clock: clock,
        };
        let mut objects = installation::objects()?;
        // Whoever brings the real definition of a foreign kind means that one.
        let named = |object: &Value| foreign.iter().any(|name| object["metadata"]["name"] == *name);
        objects.extend(simulate::definitions().into_iter().filter(|object| !named(object)));
        installation::apply(&simulated.cluster, &objects, |_| ()).await?;
        Ok(simulated)
    }

    /// The verbs of this cluster.
    pub(super) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Its objects.
    pub(super) fn store(&self) -> &Store {
        self.server.store()
    }

    /// Time since the world was opened.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Starts the controllers, with empty caches.
    pub(super) fn start(&mut self) {
        let stop = Stop::new();
        let client = Client::new(self.server.service(), "default");
        let egress_override = Some(self.egress_override.clone());
        let process = Process { stop: stop.clone(), egress_override, ..Process::default() };
        self.running = Some(Running { stop, task: tokio::spawn(Controllers::run(client, process)) });
    }

    /// Ends the controllers in the middle of whatever they do.
    pub(super) fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.task.abort();
            running.stop.cancel();
        }
    }

    /// One turn of the simulated workloads. What it made may be changed before [`SimulatedCluster::pass`] lets it live.
    pub(super) fn turn(&mut self) -> Option<Instant> {
        self.workloads.turn()
    }

    /// Lets time pass until something was written or is due, at most until `limit`.
    pub(super) async fn pass(&mut self, due: Option<Instant>, limit: Duration) -> Result<()> {
        self.steps += 1;
        if self.steps > STEPS_AT_MOST {
            let message = format!("more happens in this rollout than {STEPS_AT_MOST} steps can follow");
            return Err(Error::user(message)
                .hint("simulate it with fewer pods: percentages stay the same")
                .into());
        }
        if let Some(running) = &self.running
            && running.task.is_finished()
        {
            return Err(Error::internal("the simulated controllers ended by themselves").into());
        }
        let limit = self.began + limit;
        let due = due.map_or(limit, |due| due.min(limit));
        tokio::select! {
            biased;
            () = self.workloads.news() => {}
            () = tokio::time::sleep_until(due) => {}
        }
        tokio::time::sleep(STEP).await;
        Ok(())
    }

    /// Lets things happen until nobody writes any more; gives up after `longest`.
    pub(super) async fn settle(&mut self, longest: Duration) -> Result<()> {
        let end = self.now() + longest;
        let (mut revision, mut since) = (self.store().revision(), self.now());
        while self.now() < end {
            let due = self.turn();
            self.pass(due, (since + QUIET).min(end)).await?;
            if self.store().revision() != revision {
                (revision, since) = (self.store().revision(), self.now());
            } else if self.now() >= since + QUIET {
                return Ok(());
            }
        }
        Ok(())
    }
}
