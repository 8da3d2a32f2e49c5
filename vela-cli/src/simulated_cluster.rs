//! A cluster inside this process whose clock jumps: API server, its simulated workloads and the real controllers.
//!
//! One thread, one paused clock, uids drawn from a count: what happens follows from what is applied and from nothing
//! else. There is no driver for sockets in this runtime, so nothing outside can be reached even by mistake.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use vela_apiserver::simulate;
use vela_apiserver::store::Store;
use vela_core::{Controllers, EgressOverride, Process, Stop};
use vela_embedded::{EmbeddedCluster, STEP};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::installation;
use crate::system_namespace::USUAL;

/// A cluster in which nothing was written for this long has come to rest: controllers wait for watches and not for time.
const QUIET: Duration = Duration::from_secs(2);
/// Steps of one simulation: a rollout of a thousand pods has some ten thousand.
const STEPS_AT_MOST: usize = 400_000;

/// The cluster.
pub(crate) struct SimulatedCluster {
    embedded: EmbeddedCluster,
    cluster: Cluster,
    egress_override: Arc<dyn EgressOverride>,
    running: Option<Running>,
    steps: usize,
}

struct Running {
    stop: Stop,
    task: JoinHandle<std::result::Result<(), vela_core::Error>>,
}

impl SimulatedCluster {
    /// A server with our kinds, the built-in definitions and the foreign kinds whose controllers it plays.
    pub(crate) async fn open(
        namespace: &str,
        foreign: &[&str],
        egress_override: Arc<dyn EgressOverride>,
    ) -> Result<Self> {
        let broken = |error| Error::internal(format!("the simulated cluster does not start: {error}"));
        let embedded = EmbeddedCluster::new().map_err(broken)?;
        let title = "the simulated cluster".to_owned();
        let client = Client::new(embedded.server().service(), namespace);
        let cluster = Cluster::new(client, title, namespace.to_owned()).with_system(Some(USUAL.to_owned()));
        let simulated = Self { embedded, cluster, egress_override, running: None, steps: 0 };
        let mut objects = installation::objects(USUAL)?;
        // A given definition of a foreign kind goes before ours.
        let named = |object: &Value| foreign.iter().any(|name| object["metadata"]["name"] == *name);
        objects.extend(simulate::definitions().into_iter().filter(|object| !named(object)));
        installation::apply(&simulated.cluster, &objects).await?;
        Ok(simulated)
    }

    /// The verbs of this cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Its objects.
    pub(crate) fn store(&self) -> &Store {
        self.embedded.store()
    }

    /// Time since the cluster was opened.
    pub(crate) fn now(&self) -> Duration {
        self.embedded.elapsed()
    }

    /// Starts the controllers, with empty caches.
    pub(crate) fn start(&mut self) {
        let stop = Stop::new();
        let client = Client::new(self.embedded.server().service(), "default");
        let egress_override = Some(self.egress_override.clone());
        let process = Process { stop: stop.clone(), egress_override, ..Process::default() };
        self.running = Some(Running { stop, task: tokio::spawn(Controllers::run(client, process)) });
    }

    /// Ends the controllers in the middle of whatever they do.
    pub(crate) fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.task.abort();
            running.stop.cancel();
        }
    }

    /// One turn of the simulated workloads. What it made may be changed before [`SimulatedCluster::pass`] lets it live.
    pub(crate) fn turn(&mut self) -> Option<Instant> {
        self.embedded.turn()
    }

    /// Lets time pass until something was written or is due, at most until `limit`.
    pub(crate) async fn pass(&mut self, due: Option<Instant>, limit: Duration) -> Result<()> {
        self.steps += 1;
        if self.steps > STEPS_AT_MOST {
            let message = format!("more happens in this simulation than {STEPS_AT_MOST} steps can follow");
            return Err(Error::user(message)
                .hint("simulate it with fewer pods: percentages stay the same")
                .into());
        }
        if let Some(running) = &self.running
            && running.task.is_finished()
        {
            return Err(Error::internal("the simulated controllers ended by themselves").into());
        }
        self.embedded.pass_until_news(due, limit).await;
        self.embedded.pass(STEP).await;
        Ok(())
    }

    /// Lets things happen until no controller writes any more; gives up after `longest`.
    pub(crate) async fn settle(&mut self, longest: Duration) -> Result<()> {
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
