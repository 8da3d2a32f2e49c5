//! The cluster of one schedule: a forked server, the simulated network, and the processes of the controllers.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::Value;
use tokio::task::JoinHandle;
use vela_apiserver::ApiServer;
use vela_apiserver::store::Store;
use vela_core::options::{Capability, Generations, Options};
use vela_core::{Controllers, EgressOverride, LeaseConfig, Stop};
use vela_embedded::{Checkpoint, EmbeddedCluster, STEP};

use crate::egress::EgressService;
use crate::model::{Form, collection};
use crate::network::{Network, NetworkService, Process, identity};
use crate::outside::Outside;
use crate::sabotage::Sabotage;

/// Where the two replicas agree who leads.
pub(crate) const LEASE: &str = "vela-core";
/// Objects reconciled at the same time by one process.
const WORKERS: usize = 2;

/// The cluster of one schedule.
pub(crate) struct SimulatedCluster {
    embedded: EmbeddedCluster,
    pub(crate) network: Network,
    /// Whom the controllers ask elsewhere.
    pub(crate) egress: EgressService,
    processes: Vec<Option<Running>>,
    started: Process,
    elected: bool,
    /// Which generation of applications the controllers look after.
    pub(crate) form: Form,
    /// What steps of workflows send outside.
    pub(crate) outside: Outside,
}

struct Running {
    process: Process,
    stop: Stop,
    task: JoinHandle<Result<(), vela_core::Error>>,
}

impl SimulatedCluster {
    /// The controllers of one form against a cluster; must be called inside a runtime whose clock is paused.
    pub(crate) fn new(
        embedded: EmbeddedCluster,
        form: Form,
        replicas: usize,
        sabotage: Option<Sabotage>,
    ) -> Self {
        let network = Network::new(embedded.server(), sabotage);
        let processes = (0..replicas).map(|_| None).collect();
        let (egress, outside) = (EgressService::default(), Outside::default());
        let elected = replicas > 1;
        Self { embedded, network, egress, processes, started: 0, elected, form, outside }
    }

    /// The same from a checkpoint, with one process and without faults.
    pub(crate) fn calm(checkpoint: &Checkpoint, form: Form) -> Self {
        Self::new(EmbeddedCluster::fork(checkpoint), form, 1, None)
    }

    /// This cluster as it is now, for others to begin with.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        self.embedded.checkpoint()
    }

    /// Its API, past the network.
    pub(crate) fn server(&self) -> &ApiServer {
        self.embedded.server()
    }

    /// Its objects.
    pub(crate) fn store(&self) -> &Store {
        self.embedded.store()
    }

    /// Create an object as a user does.
    pub(crate) fn make(&self, object: &Value) -> Result<(), String> {
        let (code, answer) = self.user(Method::POST, &collection(object)?, Some(object));
        if code.is_success() { Ok(()) } else { Err(answer.to_string()) }
    }

    /// Let everything run that can run by itself, which takes one step of time.
    pub(crate) async fn settle_step(&self) {
        self.embedded.pass(STEP).await;
    }

    /// Let time pass.
    pub(crate) async fn pass(&self, time: Duration) {
        self.embedded.pass(time).await;
    }

    /// One turn of workload controllers and garbage collector.
    pub(crate) fn turn(&mut self) {
        self.embedded.turn();
    }

    /// A request of a user, past the network.
    pub(crate) fn user(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        self.embedded.send(method, path, body)
    }

    /// The running process of a replica.
    pub(crate) fn process(&self, replica: usize) -> Option<Process> {
        self.processes.get(replica)?.as_ref().map(|running| running.process)
    }

    /// True when one of the running processes leads, or needs not to.
    pub(crate) fn is_led(&self) -> bool {
        let lease = self.store().find("leases.coordination.k8s.io", "vela-system", LEASE);
        let holder = lease.as_ref().and_then(|lease| lease["spec"]["holderIdentity"].as_str());
        let mut running = self.processes.iter().flatten().map(|running| identity(running.process));
        !self.elected || running.any(|identity| holder == Some(&identity))
    }

    pub(crate) fn replicas(&self) -> usize {
        self.processes.len()
    }

    /// Start a replica with empty caches.
    pub(crate) fn start(&mut self, replica: usize) {
        self.started += 1;
        let process = self.started;
        let client = kube::Client::new(NetworkService::new(self.network.clone(), process), "default");
        let lease = self.elected.then(|| LeaseConfig {
            namespace: "vela-system".to_owned(),
            name: LEASE.to_owned(),
            identity: identity(process),
        });
        let options = Options {
            concurrent_reconciles: WORKERS,
            disabled: Capability::ALL.into_iter().collect(),
            generations: Generations {
                application_configurations: matches!(self.form, Form::Configuration | Form::RolloutSeed),
                applications: self.form != Form::Configuration,
            },
            ..Options::default()
        };
        let egress_override: Arc<dyn EgressOverride> = match self.form {
            Form::Workflow => Arc::new(self.outside.clone()),
            _ => Arc::new(self.egress.clone()),
        };
        let egress_override = Some(egress_override);
        let how = vela_core::Process { options, lease, egress_override, ..vela_core::Process::default() };
        let stop = how.stop.clone();
        let task = tokio::spawn(Controllers::run(client, how));
        if let Some(place) = self.processes.get_mut(replica) {
            *place = Some(Running { process, stop, task });
        }
    }

    /// End a replica in the middle of whatever it does, as SIGKILL would.
    pub(crate) fn kill(&mut self, replica: usize) {
        if let Some(running) = self.processes.get_mut(replica).and_then(Option::take) {
            self.network.kill(running.process);
            running.task.abort();
            running.stop.cancel();
        }
    }

    /// Start again what ended by itself: a leader that lost its lease exits, and its pod is restarted.
    pub(crate) fn restart_ended(&mut self) -> usize {
        let ended: Vec<usize> = (0..self.processes.len())
            .filter(|at| self.processes[*at].as_ref().is_some_and(|running| running.task.is_finished()))
            .collect();
        for replica in &ended {
            self.kill(*replica);
            self.start(*replica);
        }
        ended.len()
    }

    /// Start what is not running.
    pub(crate) fn start_all(&mut self) {
        for replica in 0..self.processes.len() {
            if self.processes[replica].is_none() {
                self.start(replica);
            }
        }
    }
}
