//! Counts the pods of a rollout: old or new, ready, on their way or failing.

use std::fmt::Write as _;

use serde_json::{Value, json};
use vela_apiserver::store::{Entry, Store};
use vela_crds::labels;
use vela_engine::readiness::holds;
use vela_engine::rollout::pods::problems;
use vela_engine::rollout::workload;

use crate::screen::{BAD, BUSY, DIM, GOOD, styled};

/// Columns of a picture; more pods share them.
const COLUMNS: usize = 40;

/// A workload that a rollout changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) component: String,
    pub(super) api_version: String,
    pub(super) kind: String,
    /// How many pods it asks for, where it says so.
    pub(super) replicas: Option<i64>,
}

/// What is looked at.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) namespace: String,
    pub(super) application: String,
    /// Number of the revision whose pods are the new ones.
    pub(super) target: u64,
    pub(super) workloads: Vec<Workload>,
}

/// How a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Ready,
    Starting,
    Failing,
}

/// A pod of the rollout.
#[derive(Clone, Debug)]
pub(super) struct Pod {
    pub(super) name: String,
    pub(super) uid: String,
    /// What it was made from: it changes when the pod changes in place.
    pub(super) template: String,
    /// Later ones have larger numbers.
    pub(super) made: u64,
    pub(super) is_new: bool,
    pub(super) health: Health,
}

/// The pods in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PodCounts {
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) old_ready: usize,
    pub(super) new_ready: usize,
    pub(super) failing: usize,
}

impl Workload {
    /// Do its pods stay in one object?
    pub(super) fn is_in_place(&self) -> bool {
        self.kind != "Deployment"
    }

    fn resource(&self) -> String {
        let plural = format!("{}s", self.kind.to_lowercase());
        match self.api_version.split_once('/') {
            Some((group, _)) => format!("{plural}.{group}"),
            None => plural,
        }
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Kind and name of the controller of an object.
fn controller(object: &Value) -> Option<(&str, &str)> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let owner = owners.iter().find(|owner| owner["controller"] == true)?;
    Some((text(owner, "/kind"), text(owner, "/name")))
}

/// All pods of the subject that are not on their way out, oldest first.
pub(super) fn pods(store: &Store, subject: &Subject) -> Vec<Pod> {
    let targets: Vec<Target> =
        subject.workloads.iter().map(|each| Target::of(store, subject, each)).collect();
    let entries = store.list("pods", Some(&subject.namespace)).0;
    let mut pods: Vec<Pod> = entries
        .iter()
        .filter_map(|entry| targets.iter().find_map(|target| target.pod(store, subject, entry)))
        .collect();
    pods.sort_by(|one, other| (one.made, &one.name).cmp(&(other.made, &other.name)));
    pods
}

/// A workload of the target as it is now.
struct Target<'a> {
    workload: &'a Workload,
    name: String,
    live: Value,
}

impl<'a> Target<'a> {
    fn of(store: &Store, subject: &Subject, workload: &'a Workload) -> Self {
        let name = workload::name(&workload.api_version, &workload.kind, &workload.component, subject.target);
        let live = store.find(&workload.resource(), &subject.namespace, &name);
        Self { workload, name, live: live.map_or(Value::Null, |live| live.value().clone()) }
    }

    fn pod(&self, store: &Store, subject: &Subject, entry: &Entry) -> Option<Pod> {
        let pod = entry.shared();
        let is_gone = !pod["metadata"]["deletionTimestamp"].is_null();
        if is_gone || matches!(text(&pod, "/status/phase"), "Succeeded" | "Failed") {
            return None;
        }
        let (kind, owner) = controller(&pod)?;
        let set = (kind == "ReplicaSet")
            .then(|| store.find("replicasets.apps", &subject.namespace, owner))
            .flatten();
        let set = set.map(|set| set.shared());
        let (kind, owner) = set.as_deref().and_then(controller).unwrap_or((kind, owner));
        let component = &self.workload.component;
        let is_ours = kind == self.workload.kind
            && (owner == self.name
                || owner == component
                || owner.strip_prefix(component.as_str()).is_some_and(|rest| rest.starts_with("-v")));
        if !is_ours {
            return None;
        }
        let template = text(&pod, "/metadata/labels/controller-revision-hash").to_owned();
        let is_new = match self.workload.is_in_place() {
            false => owner == self.name,
            true => self.is_new_in_place(subject, &pod, &template),
        };
        Some(Pod {
            name: text(&pod, "/metadata/name").to_owned(),
            uid: text(&pod, "/metadata/uid").to_owned(),
            template,
            made: text(&pod, "/metadata/resourceVersion").parse().unwrap_or(0),
            is_new,
            health: health(&pod),
        })
    }

    fn is_new_in_place(&self, subject: &Subject, pod: &Value, template: &str) -> bool {
        let revision = format!("{}-v{}", subject.application, subject.target);
        if self.live["metadata"]["labels"][labels::APP_REVISION] != revision.as_str() {
            return false;
        }
        match text(&self.live, "/status/updateRevision") {
            // A DaemonSet of Kubernetes does not tell how it calls its newest template.
            "" => self.live["spec"]["template"]["spec"]["containers"] == pod["spec"]["containers"],
            newest => newest == template,
        }
    }
}

fn health(pod: &Value) -> Health {
    if holds(pod, "Ready") {
        return Health::Ready;
    }
    match problems(std::slice::from_ref(pod), &[]).iter().any(|problem| problem.needs_a_hand) {
        true => Health::Failing,
        false => Health::Starting,
    }
}

impl PodCounts {
    /// The pods counted.
    pub(super) fn of(pods: &[Pod]) -> Self {
        let count = |which: &dyn Fn(&Pod) -> bool| pods.iter().filter(|pod| which(pod)).count();
        Self {
            old: count(&|pod| !pod.is_new),
            new: count(&|pod| pod.is_new),
            old_ready: count(&|pod| !pod.is_new && pod.health == Health::Ready),
            new_ready: count(&|pod| pod.is_new && pod.health == Health::Ready),
            failing: count(&|pod| pod.health == Health::Failing),
        }
    }

    pub(super) fn all(&self) -> usize {
        self.old + self.new
    }

    pub(super) fn ready(&self) -> usize {
        self.old_ready + self.new_ready
    }

    /// One column for each pod, or for as many as make `most` pods fit.
    pub(super) fn bar(&self, most: usize) -> String {
        let each = most.div_ceil(COLUMNS).max(1);
        let columns = |pods: usize| pods.div_ceil(each);
        let starting = self.all().saturating_sub(self.ready() + self.failing);
        let mut bar = String::new();
        let mut width = 0;
        for (style, sign, pods) in [
            (DIM, "░", self.old_ready),
            (GOOD, "█", self.new_ready),
            (BUSY, "▁", starting),
            (BAD, "✗", self.failing),
        ] {
            if pods > 0 {
                let _ = write!(bar, "{}", styled(style, &sign.repeat(columns(pods))));
                width += columns(pods);
            }
        }
        // Four parts that are each rounded up are at most three columns wider than the whole.
        let full = columns(most) + if each > 1 { 3 } else { 0 };
        bar + &" ".repeat(full.saturating_sub(width))
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "old": self.old, "oldReady": self.old_ready, "new": self.new, "newReady": self.new_ready, "failing": self.failing,
        })
    }
}
