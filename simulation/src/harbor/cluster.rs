//! The cluster of one schedule: a forked server, the simulated network, the process of the operator, and a cert-manager that is played.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::Service as _;
use vela_apiserver::ApiServer;
use vela_apiserver::store::Store;
use vela_embedded::{Checkpoint, EmbeddedCluster, STEP};
use vela_harbor::EgressOverride;
use vela_harbor::controller::Operator;
use vela_harbor::parts::Settings;
use vela_runtime::egress;
use vela_runtime::{Cache, Manager};

use super::model::{self, CERTIFICATES, NAMESPACE};
use super::registry::Registry;
use super::sabotage::SabotagedService;
use crate::network::{Network, NetworkService, Peer, Process};
use crate::sabotage::Sabotage;

/// Objects of one kind that are reconciled at the same time.
const WORKERS: usize = 2;

/// Where objects of a kind lie.
pub(super) fn collection(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]).to_lowercase());
    let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    let place = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/namespaces/{namespace}"),
        None => String::new(),
    };
    format!("{root}{place}/{kind}s")
}

/// The path of an object by its store resource and name.
pub(super) fn path(resource: &str, name: &str) -> String {
    path_in(NAMESPACE, resource, name)
}

/// The same in another namespace, or in none where that is empty.
pub(super) fn path_in(namespace: &str, resource: &str, name: &str) -> String {
    let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
    let root = match group {
        "" => "/api/v1".to_owned(),
        "goharbor.io" => "/apis/goharbor.io/v1beta1".to_owned(),
        group => format!("/apis/{group}/v1"),
    };
    match namespace {
        "" => format!("{root}/{plural}/{name}"),
        _ => format!("{root}/namespaces/{namespace}/{plural}/{name}"),
    }
}

/// The cluster of one schedule.
pub(super) struct Cluster {
    pub(super) embedded: EmbeddedCluster,
    pub(super) network: Network,
    /// The Harbor that runs.
    pub(super) registry: Registry,
    sabotage: Option<Sabotage>,
    running: Option<Running>,
    started: Process,
}

struct Running {
    process: Process,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Cluster {
    /// No process runs yet; must be called inside a runtime whose clock is paused.
    pub(super) fn new(checkpoint: &Checkpoint, sabotage: Option<Sabotage>) -> Self {
        let embedded = EmbeddedCluster::fork(checkpoint);
        let registry = Registry::default();
        let answering = registry.clone();
        let peer = Peer::new(move |request| answering.answer(request));
        let network = Network::new(embedded.server(), None).with_peer(peer);
        Self { embedded, network, registry, sabotage, running: None, started: 0 }
    }

    pub(super) fn server(&self) -> &ApiServer {
        self.embedded.server()
    }

    pub(super) fn store(&self) -> &Store {
        self.embedded.store()
    }

    /// An object as it is.
    pub(super) fn object(&self, resource: &str, name: &str) -> Option<Value> {
        self.object_in(NAMESPACE, resource, name)
    }

    /// An object of another namespace, or of none.
    pub(super) fn object_in(&self, namespace: &str, resource: &str, name: &str) -> Option<Value> {
        self.store().find(resource, namespace, name).map(|entry| entry.value().clone())
    }

    /// A request of a person, past the network.
    pub(super) fn person(&self, method: Method, path: &str, body: Option<&Value>) -> StatusCode {
        self.embedded.send(method, path, body).0
    }

    /// Creates an object as a person does.
    pub(super) fn create(&self, object: &Value) -> StatusCode {
        self.person(Method::POST, &collection(object), Some(object))
    }

    /// Lets everything run that can run by itself, which takes one step of time.
    pub(super) async fn settle_step(&self) {
        self.embedded.pass(STEP).await;
    }

    pub(super) async fn pass(&self, time: Duration) {
        self.embedded.pass(time).await;
    }

    /// One turn of workload controllers and garbage collector.
    pub(super) fn turn(&mut self) {
        self.embedded.turn();
    }

    /// Issues the Certificates that are not issued; says whether there was one.
    pub(super) fn issue(&self) -> bool {
        let all = self.store().list(CERTIFICATES, Some(NAMESPACE)).0;
        let open: Vec<String> = all
            .iter()
            .filter(|certificate| !model::is_issued(certificate.value()))
            .filter_map(|certificate| certificate["metadata"]["name"].as_str().map(str::to_owned))
            .collect();
        for name in &open {
            let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
            let path = format!("{}/status", path(CERTIFICATES, name));
            self.person(Method::PATCH, &path, Some(&ready));
        }
        !open.is_empty()
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Starts the operator with empty caches, where it does not run.
    pub(super) fn start(&mut self) -> Result<(), String> {
        if self.running.is_some() {
            return Ok(());
        }
        self.started += 1;
        let process = self.started;
        let network = NetworkService::new(self.network.clone(), process);
        let service = SabotagedService::new(network, self.sabotage);
        let instead = asked_through(service.clone());
        let client = kube::Client::new(service, "default");
        // Bytes that repeat, and differ from process to process.
        let next = AtomicU8::new(u8::try_from(process % 251).unwrap_or_default());
        let chance = Arc::new(move || next.fetch_add(37, Ordering::Relaxed));
        let cache = Cache::new(client.clone());
        let operator = Operator::new(client.clone(), cache.clone(), Settings::default(), chance);
        let operator = operator.map_err(|error| error.to_string())?.answered_by(instead);
        let mut manager = Manager::new(client, cache);
        for controller in operator.controllers(WORKERS) {
            manager = manager.with(controller);
        }
        let stop = CancellationToken::new();
        let until = stop.clone();
        let task = tokio::spawn(async move {
            let _ = manager.run(until).await;
        });
        self.running = Some(Running { process, stop, task });
        Ok(())
    }

    /// Ends the operator in the middle of whatever it does, as SIGKILL would.
    pub(super) fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            self.network.kill(running.process);
            running.task.abort();
            running.stop.cancel();
        }
    }
}

/// Requests to Harbors go through the same network as all others of the process.
fn asked_through(service: SabotagedService) -> EgressOverride {
    Arc::new(move |request| {
        let asked = service.clone().call(request.map(|bytes| Full::new(Bytes::from(bytes))));
        async move {
            let answer = asked.await.map_err(|error| egress::Error::Failed(error.to_string()))?;
            let (parts, body) = answer.into_parts();
            let body = body.collect().await.map_or_else(|never| match never {}, |all| all.to_bytes());
            Ok(egress::Answer { status: parts.status, headers: parts.headers, body })
        }
        .boxed()
    })
}
