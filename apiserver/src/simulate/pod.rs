//! Pod → scheduled, started, ready; or failing as its annotations or image names say.
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::object::{self, set, stamp, text};
use super::{Action, Outcome, View};

const FAIL: &str = "/metadata/annotations/simulate.vela.dev~1fail";
const START_SECONDS: &str = "/metadata/annotations/simulate.vela.dev~1start-seconds";
const RUN_SECONDS: &str = "/metadata/annotations/simulate.vela.dev~1run-seconds";
/// Where a pod reports its last change in place (OpenKruise).
const IN_PLACE_STATE: &str = "/metadata/annotations/apps.kruise.io~1inplace-update-state";
/// How ids of containers begin that do not really run.
const CONTAINER: &str = "simulated://";
const UNSCHEDULABLE: &str = "unschedulable";
const IMAGE_MARKER: &str = "simulate-fail-";
const DEFAULT_NODE: &str = "sandbox-0";

/// How a container ends up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContainerOutcome {
    Runs,
    NotReady,
    ImagePull,
    Crash,
    Exits(i64),
}

pub(super) fn reconcile(view: &dyn View, pod: &Value, now: Timestamp, out: &mut Outcome) {
    if object::is_deleted(pod) {
        // No container has to stop, so the pod goes at once.
        if pod.pointer("/metadata/finalizers").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            out.actions.push(object::delete("pods", pod));
        }
        return;
    }
    if matches!(text(pod, "/status/phase"), "Succeeded" | "Failed") {
        return;
    }
    if text(pod, "/spec/nodeName").is_empty() {
        schedule(view, pod, now, out);
        return;
    }
    let begun = object::time(pod, "/metadata/creationTimestamp");
    if let Some(wait) = seconds_left(pod, begun.max(changed_in_place(pod)), START_SECONDS, 0, now) {
        out.sooner(Duration::from_secs(wait));
        return;
    }
    run(pod, now, out);
}

/// When containers were last exchanged in a pod that stayed.
fn changed_in_place(pod: &Value) -> Option<Timestamp> {
    let state = text(pod, IN_PLACE_STATE);
    let state: Value = serde_json::from_str(state).ok()?;
    object::time(&state, "/updateTimestamp")
}

/// A pod of this simulation whose containers are about to be exchanged serves no traffic until they run. The kubelets of
/// other pods report it.
pub(super) fn stop_serving(pod: &Value, now: Timestamp, out: &mut Outcome) {
    if !text(pod, "/status/containerStatuses/0/containerID").starts_with(CONTAINER) {
        return;
    }
    let mut status = status_of(pod);
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array);
    let names: Vec<String> = containers.into_iter().flatten().map(|c| text(c, "/name").to_owned()).collect();
    conditions(&mut status, "Running", &names, now);
    object::put_status("pods", pod, status, out);
}

fn seconds_left(
    pod: &Value,
    since: Option<Timestamp>,
    annotation: &str,
    default: i64,
    now: Timestamp,
) -> Option<u64> {
    let wanted: i64 = text(pod, annotation).parse().unwrap_or(default);
    let since = since.unwrap_or(now);
    let left = wanted - (now.as_second() - since.as_second());
    u64::try_from(left).ok().filter(|left| *left > 0)
}

fn schedule(view: &dyn View, pod: &Value, now: Timestamp, out: &mut Outcome) {
    let nodes = view.list("nodes", None);
    let wanted = pod.pointer("/spec/nodeSelector").and_then(Value::as_object);
    let mut fitting: Vec<&str> = nodes
        .iter()
        .filter(|n| n.pointer("/spec/unschedulable") != Some(&Value::Bool(true)))
        .filter(|n| {
            let labels = n.pointer("/metadata/labels");
            wanted.into_iter().flatten().all(|(k, v)| labels.and_then(|l| l.get(k)) == Some(v))
        })
        .map(|n| object::name(n))
        .collect();
    fitting.sort_unstable();
    if text(pod, FAIL) == UNSCHEDULABLE {
        let message = format!("0/{} nodes are available: {} Insufficient cpu.", nodes.len(), nodes.len());
        return unschedulable(pod, message, now, out);
    }
    if nodes.is_empty() && wanted.is_none_or(Map::is_empty) {
        out.actions.push(Action::Create { resource: "nodes".to_owned(), object: node(DEFAULT_NODE, now) });
        fitting.push(DEFAULT_NODE);
    }
    if fitting.is_empty() {
        let message = format!(
            "0/{} nodes are available: {} node(s) didn't match Pod's node affinity/selector.",
            nodes.len(),
            nodes.len()
        );
        return unschedulable(pod, message, now, out);
    }
    let at = usize::try_from(object::hash(object::uid(pod)) % fitting.len() as u64).unwrap_or_default();
    let Some(node) = fitting.get(at) else { return };
    let mut next = pod.clone();
    set(&mut next, &["spec", "nodeName"], (*node).into());
    out.actions.push(Action::Update { resource: "pods".to_owned(), object: next });
    let message = format!("Successfully assigned {}/{} to {node}", object::namespace(pod), object::name(pod));
    out.actions.push(object::event(pod, "Pod", "Scheduled", message, "default-scheduler", now));
}

fn unschedulable(pod: &Value, message: String, now: Timestamp, out: &mut Outcome) {
    let mut status = status_of(pod);
    let condition =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
    object::set_condition(&mut status, condition, now);
    object::put_status("pods", pod, status, out);
}

fn status_of(pod: &Value) -> Map<String, Value> {
    pod.get("status").and_then(Value::as_object).cloned().unwrap_or_default()
}

fn outcome(pod: &Value, container: &Value) -> ContainerOutcome {
    let image = text(container, "/image");
    let by_image = image.find(IMAGE_MARKER).and_then(|at| image.get(at + IMAGE_MARKER.len()..));
    let word = match text(pod, FAIL) {
        "" => by_image.unwrap_or_default(),
        word => word,
    };
    let never_again = matches!(text(pod, "/spec/restartPolicy"), "Never");
    match word {
        w if w.starts_with("image-pull") => ContainerOutcome::ImagePull,
        w if w.starts_with("not-ready") => ContainerOutcome::NotReady,
        w if w.starts_with("crash") && !never_again => ContainerOutcome::Crash,
        w if w.starts_with("crash") || w.starts_with("exit") => {
            if text(pod, "/spec/restartPolicy") == "Always" {
                ContainerOutcome::Crash
            } else {
                ContainerOutcome::Exits(1)
            }
        }
        _ => ContainerOutcome::Runs,
    }
}

fn run(pod: &Value, now: Timestamp, out: &mut Outcome) {
    let mut status = status_of(pod);
    let started = text(pod, "/status/startTime");
    let start = if started.is_empty() { stamp(now) } else { started.to_owned() };
    let of_job = object::controller(pod).is_some_and(|o| text(o, "/kind") == "Job");
    let mut finished = false;
    if of_job {
        let mut with_start = pod.clone();
        set(&mut with_start, &["status", "startTime"], start.clone().into());
        match seconds_left(&with_start, object::time(&with_start, "/status/startTime"), RUN_SECONDS, 1, now) {
            Some(wait) => out.sooner(Duration::from_secs(wait)),
            None => finished = true,
        }
    }
    let containers = pod.pointer("/spec/containers").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut statuses = Vec::new();
    let mut unready = Vec::new();
    let mut outcomes = Vec::new();
    for container in &containers {
        let outcome = outcome(pod, container);
        let ended = finished
            && matches!(
                outcome,
                ContainerOutcome::Runs | ContainerOutcome::NotReady | ContainerOutcome::Exits(_)
            );
        let outcome = match (outcome, ended) {
            (ContainerOutcome::Runs | ContainerOutcome::NotReady, true) => ContainerOutcome::Exits(0),
            (ContainerOutcome::Exits(_), false) => ContainerOutcome::Runs,
            (outcome, _) => outcome,
        };
        if outcome != ContainerOutcome::Runs {
            unready.push(text(container, "/name").to_owned());
        }
        statuses.push(container_status(pod, container, outcome, &start, now));
        outcomes.push(outcome);
    }
    let phase = if outcomes.iter().any(|f| matches!(f, ContainerOutcome::Exits(code) if *code != 0)) {
        "Failed"
    } else if !outcomes.is_empty() && outcomes.iter().all(|f| *f == ContainerOutcome::Exits(0)) {
        "Succeeded"
    } else if outcomes.contains(&ContainerOutcome::ImagePull) {
        "Pending"
    } else {
        "Running"
    };
    let init = pod.pointer("/spec/initContainers").and_then(Value::as_array).cloned().unwrap_or_default();
    if !init.is_empty() {
        let list: Vec<Value> =
            init.iter().map(|c| container_status(pod, c, ContainerOutcome::Exits(0), &start, now)).collect();
        status.insert("initContainerStatuses".to_owned(), list.into());
    }
    status.insert("phase".to_owned(), phase.into());
    status.insert("startTime".to_owned(), start.into());
    status.insert("containerStatuses".to_owned(), statuses.into());
    status.insert("hostIP".to_owned(), "10.0.0.1".into());
    status.insert("hostIPs".to_owned(), json!([{"ip": "10.0.0.1"}]));
    let ip = address(pod);
    status.insert("podIP".to_owned(), ip.clone().into());
    status.insert("podIPs".to_owned(), json!([{"ip": ip}]));
    status.insert("observedGeneration".to_owned(), object::number(pod, "/metadata/generation").into());
    conditions(&mut status, phase, &unready, now);
    let begun = text(pod, "/status/phase") != phase;
    object::put_status("pods", pod, status, out);
    if begun {
        let (reason, message) = match phase {
            "Running" => ("Started", "Started container".to_owned()),
            "Pending" => ("Failed", "Error: ImagePullBackOff".to_owned()),
            _ => return,
        };
        out.actions.push(object::event(pod, "Pod", reason, message, "kubelet", now));
    }
}

fn conditions(status: &mut Map<String, Value>, phase: &str, unready: &[String], now: Timestamp) {
    let done = phase == "Succeeded";
    for kind in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] {
        let needs_containers = matches!(kind, "Ready" | "ContainersReady");
        let condition = if needs_containers && done {
            json!({"type": kind, "status": "False", "reason": "PodCompleted"})
        } else if needs_containers && !unready.is_empty() {
            let message = format!("containers with unready status: [{}]", unready.join(" "));
            json!({"type": kind, "status": "False", "reason": "ContainersNotReady", "message": message})
        } else {
            json!({"type": kind, "status": "True"})
        };
        object::set_condition(status, condition, now);
    }
}

fn container_status(
    pod: &Value,
    container: &Value,
    outcome: ContainerOutcome,
    start: &str,
    now: Timestamp,
) -> Value {
    let name = text(container, "/name");
    let image = text(container, "/image");
    // A state that has not changed keeps its times.
    let old = ["containerStatuses", "initContainerStatuses"]
        .iter()
        .filter_map(|l| pod.pointer(&format!("/status/{l}"))?.as_array())
        .flatten()
        .find(|s| text(s, "/name") == name);
    let id = format!("{CONTAINER}{:016x}", object::hash(&format!("{}{name}", object::uid(pod))));
    let base = json!({
        "name": name, "image": image, "imageID": image, "restartCount": 0, "lastState": {}, "containerID": id,
    });
    let mut out = base;
    let finished = old
        .map(|s| text(s, "/state/terminated/finishedAt").to_owned())
        .filter(|t| !t.is_empty())
        .unwrap_or_else(|| stamp(now));
    let (ready, running, state) = match outcome {
        ContainerOutcome::Runs | ContainerOutcome::NotReady => {
            let at =
                old.map(|s| text(s, "/state/running/startedAt")).filter(|t| !t.is_empty()).unwrap_or(start);
            (outcome == ContainerOutcome::Runs, true, json!({"running": {"startedAt": at}}))
        }
        ContainerOutcome::ImagePull => {
            let message = format!("Back-off pulling image {image:?}");
            (false, false, json!({"waiting": {"reason": "ImagePullBackOff", "message": message}}))
        }
        ContainerOutcome::Crash => {
            let message =
                format!("back-off 10s restarting failed container={name} pod={}", object::name(pod));
            set(&mut out, &["restartCount"], 1.into());
            let ended = json!({"exitCode": 1, "reason": "Error", "startedAt": start, "finishedAt": start});
            set(&mut out, &["lastState"], json!({ "terminated": ended }));
            (false, false, json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}}))
        }
        ContainerOutcome::Exits(code) => {
            let reason = if code == 0 { "Completed" } else { "Error" };
            let ended = json!({
                "exitCode": code, "reason": reason, "startedAt": start, "finishedAt": finished, "containerID": id,
            });
            (code == 0 && text(pod, "/status/phase") != "Running", false, json!({ "terminated": ended }))
        }
    };
    set(&mut out, &["ready"], ready.into());
    set(&mut out, &["started"], running.into());
    set(&mut out, &["state"], state);
    out
}

/// An address of the simulated pod network, by the pod's uid.
fn address(pod: &Value) -> String {
    let [.., a, b] = object::hash(object::uid(pod)).to_be_bytes();
    format!("10.244.{a}.{}", b.max(1))
}

/// A simulated node that is ready.
pub(super) fn node(name: &str, now: Timestamp) -> Value {
    let size = json!({"cpu": "32", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"});
    let condition = |kind: &str, state: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": state, "reason": reason, "message": message,
            "lastHeartbeatTime": stamp(now), "lastTransitionTime": stamp(now),
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
            // The older names, which every kubelet still sets and older manifests select by.
            "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
            "simulate.vela.dev/node": "true",
        }},
        "spec": {},
        "status": {
            "capacity": size, "allocatable": size,
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": name}],
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                condition("Ready", "True", "KubeletReady", "the node is simulated"),
            ],
            "nodeInfo": {
                "architecture": "amd64", "operatingSystem": "linux", "kubeletVersion": "simulated", "osImage": "simulated",
                "kernelVersion": "simulated", "containerRuntimeVersion": "simulated://0", "kubeProxyVersion": "",
                "machineID": "", "systemUUID": "", "bootID": "",
            },
        },
    })
}

/// A simulated node without a status yet gets the one it was made with: status is written by itself.
pub(super) fn settle_node(found: &Value, now: Timestamp, out: &mut Outcome) {
    let simulated = text(found, "/metadata/labels/simulate.vela.dev~1node") == "true";
    if simulated
        && object::condition(found, "Ready").is_none()
        && let Some(Value::Object(status)) = node(object::name(found), now).get("status").cloned()
    {
        object::put_status("nodes", found, status, out);
    }
}
