//! An embedded API server in the time of a clock that jumps, with the operator beside it.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tower::Layer as _;
use vela_apiserver::{ApiServer, Controllers};
use vela_dapr::{Process, Stop};
use vela_embedded::objects::namespace;
use vela_embedded::virtual_time::{EPOCH, VirtualClock};
use vela_runtime::fault::Faults;
use vela_runtime::metrics::Metrics;

/// In the time of the clock, which jumps: everything that can happen by itself has happened after it.
const SETTLED_AFTER: Duration = Duration::from_secs(10);

pub(crate) struct Cluster {
    pub(crate) counts: Arc<Metrics>,
    /// The requests of the operator.
    pub(crate) faults: Faults,
    server: ApiServer,
    stop: Stop,
    operator: Option<JoinHandle<Result<(), vela_dapr::Error>>>,
    process: Process,
    _workloads: Controllers,
    _clock: VirtualClock,
}

impl Cluster {
    /// Inside a runtime whose clock is paused.
    pub(crate) fn new() -> Self {
        Self::of(Process::default())
    }

    /// The same with another operator.
    pub(crate) fn of(process: Process) -> Self {
        let clock = VirtualClock::begin(EPOCH);
        let server = ApiServer::builder().build().unwrap().fork(clock.of_server());
        let workloads = server.run_controllers();
        let mut cluster = Self {
            counts: Arc::default(),
            faults: Faults::new(),
            server,
            stop: Stop::new(),
            operator: None,
            process,
            _workloads: workloads,
            _clock: clock,
        };
        cluster.start();
        cluster
    }

    /// Starts the operator as a new process would: with empty caches and memory.
    pub(crate) fn start(&mut self) {
        let (counts, stop) = (Arc::<Metrics>::default(), Stop::new());
        let process = Process { counts: counts.clone(), stop: stop.clone(), ..self.process.clone() };
        let client = kube::Client::new(self.faults.layer(self.server.service()), "default");
        self.operator = Some(tokio::spawn(vela_dapr::run(client, process)));
        (self.counts, self.stop) = (counts, stop);
    }

    pub(crate) async fn stop(&mut self) {
        self.stop.cancel();
        self.operator.take().unwrap().await.unwrap().unwrap();
    }

    /// Starts another operator in its place.
    pub(crate) async fn restart_as(&mut self, process: Process) {
        self.stop().await;
        self.process = process;
        self.start();
    }

    pub(crate) async fn settle(&self) {
        self.pass(SETTLED_AFTER).await;
    }

    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
        assert!(self.operator.as_ref().is_some_and(|operator| !operator.is_finished()), "the operator runs");
    }

    pub(crate) fn send(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        vela_embedded::send(&self.server, method, path, body)
    }

    pub(crate) fn namespace(&self, name: &str) {
        let (code, answer) = self.send(Method::POST, "/api/v1/namespaces", Some(&namespace(name)));
        assert_eq!(code, StatusCode::CREATED, "{answer}");
    }

    pub(crate) fn create(&self, namespace: &str, object: &Value) {
        let path = path(namespace, object["kind"].as_str().unwrap());
        let (code, answer) = self.send(Method::POST, &path, Some(object));
        assert_eq!(code, StatusCode::CREATED, "{answer}");
    }

    /// Changes an object by a merge patch.
    pub(crate) fn change(&self, namespace: &str, kind: &str, name: &str, patch: &Value) {
        let path = format!("{}/{name}", path(namespace, kind));
        let (code, answer) = self.send(Method::PATCH, &path, Some(patch));
        assert_eq!(code, StatusCode::OK, "{answer}");
    }

    /// Changes annotations of the pod template of a Deployment.
    pub(crate) fn annotate(&self, namespace: &str, deployment: &str, annotations: &Value) {
        let template = json!({"metadata": {"annotations": annotations}});
        self.change(namespace, "Deployment", deployment, &json!({"spec": {"template": template}}));
    }

    pub(crate) fn delete(&self, namespace: &str, kind: &str, name: &str, propagation: &str) {
        let path = format!("{}/{name}?propagationPolicy={propagation}", path(namespace, kind));
        let (code, answer) = self.send(Method::DELETE, &path, None);
        assert_eq!(code, StatusCode::OK, "{answer}");
    }

    pub(crate) fn list(&self, namespace: &str, kind: &str) -> Vec<Value> {
        let (code, answer) = self.send(Method::GET, &path(namespace, kind), None);
        assert_eq!(code, StatusCode::OK, "{answer}");
        answer["items"].as_array().unwrap().clone()
    }

    /// The Services of a namespace as they were recorded: without what two runs never agree on.
    pub(crate) fn services(&self, namespace: &str) -> Vec<Value> {
        let services = self.list(namespace, "Service");
        services.iter().map(recorded).collect()
    }

    /// The name of the workload that has a Service; nothing where there is no such Service.
    pub(crate) fn owner(&self, namespace: &str, service: &str) -> Option<String> {
        let services = self.services(namespace);
        let found = services.iter().find(|found| found["metadata"]["name"] == service)?;
        Some(found["metadata"]["ownerReferences"][0]["name"].as_str().unwrap_or_default().to_owned())
    }

    /// What people are shown of each object: kind and name, reason and note.
    pub(crate) fn events(&self, namespace: &str) -> Vec<String> {
        let mut events: Vec<String> = self
            .list(namespace, "Event")
            .iter()
            .filter(|event| event["reportingController"] == "vela-dapr")
            .map(|event| {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let of = &event["regarding"];
                let (kind, name) = (text(&of["kind"]), text(&of["name"]));
                format!("{kind} {name}: {}: {}", text(&event["reason"]), text(&event["note"]))
            })
            .collect();
        events.sort();
        events
    }
}

/// Where objects of a kind are.
fn path(namespace: &str, kind: &str) -> String {
    let (group, resource) = match kind {
        "Service" => ("api/v1", "services"),
        "Pod" => ("api/v1", "pods"),
        "Event" => ("apis/events.k8s.io/v1", "events"),
        "Deployment" => ("apis/apps/v1", "deployments"),
        "StatefulSet" => ("apis/apps/v1", "statefulsets"),
        "DaemonSet" => ("apis/apps/v1", "daemonsets"),
        "Rollout" => ("apis/argoproj.io/v1alpha1", "rollouts"),
        "Job" => ("apis/batch/v1", "jobs"),
        other => panic!("where are objects of {other}?"),
    };
    format!("/{group}/namespaces/{namespace}/{resource}")
}

fn recorded(service: &Value) -> Value {
    let metadata = &service["metadata"];
    let mut kept = json!({"name": metadata["name"]});
    for name in ["labels", "annotations", "ownerReferences"] {
        if !metadata[name].is_null() {
            kept[name] = metadata[name].clone();
        }
    }
    // What vela notes for itself, and another operator does not.
    if let Some(annotations) = kept.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("dapr.io/applied");
    }
    let owners = kept.get_mut("ownerReferences").and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten() {
        owner.as_object_mut().unwrap().remove("uid");
    }
    let mut spec = service["spec"].clone();
    if spec["clusterIP"] != "None" {
        spec["clusterIP"] = json!("<ASSIGNED>");
        spec["clusterIPs"] = json!(["<ASSIGNED>"]);
    }
    json!({"apiVersion": "v1", "kind": "Service", "metadata": kept, "spec": spec})
}

/// A Deployment without replicas whose pods would have a sidecar.
pub(crate) fn deployment(name: &str, app_id: &str) -> Value {
    workload("Deployment", name, &json!({"dapr.io/enabled": "true", "dapr.io/app-id": app_id}))
}

pub(crate) fn workload(kind: &str, name: &str, annotations: &Value) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": annotations},
                "spec": {"containers": [{"name": "web", "image": "example.org/web:1"}]},
            },
        },
    })
}
