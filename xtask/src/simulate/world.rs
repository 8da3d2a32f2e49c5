//! One schedule's world: a forked server, the gate, the processes of the controllers, and a clock that jumps.

use std::time::Duration;

use futures::FutureExt as _;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower::Service as _;
use vela_apiserver::{ApiServer, Clock, ManualControllers};
use vela_core::options::{Capability, Generations, Options};
use vela_core::{Controllers, LeaseConfig, Stop};

use super::gate::{Gate, Process, Watch};
use super::model::{self, Form, NAMESPACE};
use super::rollout::{self, Scene};
use super::sabotage::Sabotage;

/// Time that passes with every step, so that all that can run by itself does.
pub(crate) const STEP: Duration = Duration::from_millis(1);
/// Where the two replicas agree who leads.
pub(crate) const LEASE: &str = "vela-core";
/// Seconds that each controller has to record the definitions before schedules begin: a reconcile takes milliseconds.
const LOOKS_BEFORE: usize = 10;
/// Objects reconciled at the same time by one process.
const WORKERS: usize = 2;

/// A world.
pub(crate) struct SimulatedCluster {
    pub(crate) server: ApiServer,
    pub(crate) gate: Gate,
    cluster: ManualControllers,
    processes: Vec<Option<Running>>,
    started: Process,
    elected: bool,
    form: Form,
    now: Now,
    /// The controllers on this thread have the same time as the server.
    _clock: vela_runtime::clock::Set,
}

type Now = Box<dyn Fn() -> jiff::Timestamp>;

struct Running {
    process: Process,
    stop: Stop,
    task: JoinHandle<Result<(), vela_core::Error>>,
}

/// What schedules begin with: a prepared server and what its own controllers know of it.
pub(crate) struct Beginning {
    server: ApiServer,
    cluster: ManualControllers,
    /// When it was made, in the simulated time.
    at_milliseconds: i64,
}

/// All beginnings.
pub(crate) struct Beginnings {
    /// Kinds, namespace and definitions, never seen by our controllers.
    pub(crate) fresh: Beginning,
    /// The same after our controllers have recorded the definitions, so that a schedule is about its application.
    pub(crate) known: Beginning,
    /// Those of rollouts, where they are asked for.
    pub(crate) scenes: Vec<Scene>,
}

/// Make them.
pub(crate) fn beginnings(form: Option<Form>) -> Result<Beginnings, String> {
    let fresh = fresh()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let known = runtime.map_err(|error| error.to_string())?.block_on(known(&fresh))?;
    let scenes = if form == Some(Form::Rollout) { rollout::scenes(&known)? } else { Vec::new() };
    Ok(Beginnings { fresh, known, scenes })
}

/// Let the controllers of both forms look at the fresh server until they have nothing to do.
async fn known(fresh: &Beginning) -> Result<Beginning, String> {
    let before = EPOCH_MILLISECONDS - BEFORE_MILLISECONDS;
    let mut world = SimulatedCluster::at(fresh, Form::Application, 1, None, before);
    world.gate.open();
    for form in [Form::Application, Form::Configuration] {
        world.form = form;
        world.start_all();
        for _ in 0..LOOKS_BEFORE {
            world.pass(Duration::from_secs(1)).await;
            world.turn();
        }
        world.kill(0);
    }
    if world.server.store().list("definitionrevisions.core.oam.dev", None).0.len()
        < model::definitions().len()
    {
        return Err("cannot prepare the world: the definitions have no revisions".to_owned());
    }
    let (server, cluster) = (world.server.clone(), world.cluster.fork(&world.server));
    Ok(Beginning { server, cluster, at_milliseconds: EPOCH_MILLISECONDS })
}

/// Kinds, namespace, definitions.
fn fresh() -> Result<Beginning, String> {
    // Made at one moment of the simulated past: what schedules begin with is the same on every day.
    let made =
        jiff::Timestamp::from_millisecond(EPOCH_MILLISECONDS - BEFORE_MILLISECONDS).unwrap_or_default();
    let server = ApiServer::builder().build().map_err(|error| error.to_string())?;
    let server = server.fork(Clock::from_fn(move || made));
    let crds = vela_crds::crds().map_err(|error| error.to_string())?;
    let mut objects = Vec::new();
    for crd in crds {
        objects.push(serde_json::to_value(crd).map_err(|error| error.to_string())?);
    }
    objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
    objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vela-system"}}));
    objects.extend(model::definitions());
    for object in objects {
        let answer = send(&server, Method::POST, &collection(&object)?, Some(&object));
        if !answer.0.is_success() {
            return Err(format!("cannot prepare the world: {}", answer.1));
        }
    }
    let mut cluster = server.manual_controllers().silent();
    for _ in 0..10 {
        cluster.turn();
    }
    Ok(Beginning { server, cluster, at_milliseconds: EPOCH_MILLISECONDS })
}

/// Where objects like this are created.
fn collection(object: &Value) -> Result<String, String> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let plural = match kind {
        "CustomResourceDefinition" => "customresourcedefinitions",
        "Namespace" => "namespaces",
        "ComponentDefinition" => "componentdefinitions",
        "TraitDefinition" => "traitdefinitions",
        "Application" => "applications",
        other => return Err(format!("no place known for kind {other}")),
    };
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    Ok(match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{plural}"),
    })
}

/// A request past the gate, as a user sends it.
pub(crate) fn send(
    server: &ApiServer,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> (StatusCode, Value) {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let bytes = body.map(Value::to_string).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .header("user-agent", "user")
        .body(Full::new(bytes::Bytes::from(bytes)));
    let answer = request.ok().and_then(|request| server.service().call(request).now_or_never());
    let Some(Ok(response)) = answer else { return (StatusCode::BAD_REQUEST, Value::Null) };
    let code = response.status();
    let bytes = response.into_body().collect().now_or_never().and_then(Result::ok).map(|all| all.to_bytes());
    (code, bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null))
}

impl SimulatedCluster {
    /// A world of its own from the common beginning; must be called inside a runtime whose clock is paused.
    pub(crate) fn new(
        beginning: &Beginning,
        form: Form,
        replicas: usize,
        sabotage: Option<Sabotage>,
    ) -> Self {
        Self::at(beginning, form, replicas, sabotage, beginning.at_milliseconds)
    }

    /// This world as it is now, for others to begin with.
    pub(crate) fn beginning(&self) -> Beginning {
        let now = (self.now)();
        let server = self.server.fork(Clock::from_fn(move || now));
        let cluster = self.cluster.fork(&server);
        Beginning { server, cluster, at_milliseconds: now.as_millisecond() }
    }

    /// Create an object as a user does.
    pub(crate) fn make(&self, object: &Value) -> Result<(), String> {
        let (code, told) = self.user(Method::POST, &collection(object)?, Some(object));
        if code.is_success() { Ok(()) } else { Err(told.to_string()) }
    }

    /// Let every line that waits through; says whether there was one.
    pub(crate) fn deliver_all(&self) -> bool {
        let waiting = |watch: &Watch| (!watch.lines.is_empty()).then_some(watch.lines.len());
        let ready: Vec<(u64, usize)> = {
            let state = self.gate.lock();
            state.watches.iter().filter_map(|(id, watch)| Some((*id, waiting(watch)?))).collect()
        };
        ready.iter().for_each(|(id, lines)| self.gate.deliver(*id, *lines));
        !ready.is_empty()
    }

    fn at(
        beginning: &Beginning,
        form: Form,
        replicas: usize,
        sabotage: Option<Sabotage>,
        epoch_milliseconds: i64,
    ) -> Self {
        let start = Instant::now();
        let now = move || {
            let passed = i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
            jiff::Timestamp::from_millisecond(epoch_milliseconds.saturating_add(passed)).unwrap_or_default()
        };
        let server = beginning.server.fork(Clock::from_fn(now));
        let gate = Gate::new(&server, sabotage);
        let cluster = beginning.cluster.fork(&server);
        let processes = (0..replicas).map(|_| None).collect();
        Self {
            server,
            gate,
            cluster,
            processes,
            started: 0,
            elected: replicas > 1,
            form,
            now: Box::new(now),
            _clock: vela_runtime::clock::set(now),
        }
    }

    /// Let everything run that can run by itself, which takes one step of time.
    pub(crate) async fn settle_step(&self) {
        tokio::time::sleep(STEP).await;
    }

    /// Let time pass.
    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// One turn of workload controllers and garbage collector.
    pub(crate) fn turn(&mut self) {
        self.cluster.turn();
    }

    pub(crate) fn user(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        send(&self.server, method, path, body)
    }

    /// The running process of a replica.
    pub(crate) fn process(&self, replica: usize) -> Option<Process> {
        self.processes.get(replica)?.as_ref().map(|running| running.process)
    }

    /// True when one of the running processes leads, or needs not to.
    pub(crate) fn is_led(&self) -> bool {
        let lease = self.server.store().find("leases.coordination.k8s.io", "vela-system", LEASE);
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
        let client = kube::Client::new(self.gate.gated_service(process), "default");
        let lease = self.elected.then(|| LeaseConfig {
            namespace: "vela-system".to_owned(),
            name: LEASE.to_owned(),
            identity: identity(process),
        });
        let options = Options {
            concurrent_reconciles: WORKERS,
            disabled: Capability::ALL.into_iter().collect(),
            generations: Generations {
                application_configurations: self.form == Form::Configuration,
                applications: self.form != Form::Configuration,
            },
            ..Options::default()
        };
        let how = vela_core::Process { options, lease, ..vela_core::Process::default() };
        let stop = how.stop.clone();
        let task = tokio::spawn(Controllers::run(client, how));
        if let Some(place) = self.processes.get_mut(replica) {
            *place = Some(Running { process, stop, task });
        }
    }

    /// End a replica in the middle of whatever it does, as SIGKILL would.
    pub(crate) fn kill(&mut self, replica: usize) {
        if let Some(running) = self.processes.get_mut(replica).and_then(Option::take) {
            self.gate.kill(running.process);
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

/// How a process signs the lease.
pub(crate) fn identity(process: Process) -> String {
    format!("process-{process}")
}

/// 2026-01-01: any moment does.
const EPOCH_MILLISECONDS: i64 = 1_767_225_600_000;

/// How long before that the definitions were made and recorded.
const BEFORE_MILLISECONDS: i64 = 3_600_000;
