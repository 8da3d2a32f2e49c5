//! A live object → how far it is, and why: one table with a rule per kind, in the terms of kstatus (sigs.k8s.io/cli-utils).
//! Pure: it has no clock and sends no request.
//!
//! The common state of every kind is judged first: deletion, a spec that its controller has not seen, and the conditions
//! `Reconciling` and `Stalled`. Then the rule of the kind decides; a kind without one is judged by its condition `Ready`, and is
//! ready where it has none. Where a rule differs from kstatus on purpose, `docs/differences/applications.md` says why.

mod conditions;
mod resources;
#[cfg(test)]
mod tests;
mod verdict;
mod workloads;

use serde_json::Value;

pub use conditions::{condition, holds};
pub use verdict::{Readiness, State, UNREPORTED};

/// The rule of one kind, whatever its version.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The group; empty for the core group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The verdict of the rule for an object whose newest spec its controller has seen.
    pub judge: fn(&Value) -> Readiness,
}

impl Rule {
    /// The rule of a group and kind.
    pub const fn new(group: &'static str, kind: &'static str, judge: fn(&Value) -> Readiness) -> Self {
        Self { group, kind, judge }
    }
}

/// The kinds of Kubernetes, and those of others that are judged by more than their condition `Ready`.
const TABLE: [Rule; 17] = [
    Rule::new("", "PersistentVolumeClaim", resources::claim),
    Rule::new("", "Pod", workloads::pod),
    Rule::new("", "ReplicationController", workloads::replica_set),
    Rule::new("", "Service", resources::service),
    Rule::new("apiextensions.k8s.io", "CustomResourceDefinition", resources::custom_resource_definition),
    Rule::new("apps", "DaemonSet", workloads::daemon_set),
    Rule::new("apps", "Deployment", workloads::deployment),
    Rule::new("apps", "ReplicaSet", workloads::replica_set),
    Rule::new("apps", "StatefulSet", workloads::stateful_set),
    Rule::new("batch", "Job", workloads::job),
    Rule::new("cert-manager.io", "Certificate", resources::reports_ready),
    Rule::new("cert-manager.io", "ClusterIssuer", resources::reports_ready),
    Rule::new("cert-manager.io", "Issuer", resources::reports_ready),
    Rule::new("extensions", "DaemonSet", workloads::daemon_set),
    Rule::new("extensions", "Deployment", workloads::deployment),
    Rule::new("extensions", "ReplicaSet", workloads::replica_set),
    // Flux reports it at once; without a report Flux has not seen the release, or is not there.
    Rule::new("helm.toolkit.fluxcd.io", "HelmRelease", resources::reports_ready),
];

/// Judges an object. `more` are the rules of kinds that are not known here; they come first.
pub fn of(object: &Value, more: &[Rule]) -> Readiness {
    if let Some(verdict) = common(object) {
        return verdict;
    }
    let group = object["apiVersion"].as_str().and_then(|version| version.split_once('/'));
    let group = group.map_or("", |(group, _)| group);
    let kind = object["kind"].as_str().unwrap_or_default();
    let rule = more.iter().chain(&TABLE).find(|rule| rule.group == group && rule.kind == kind);
    rule.map_or_else(|| by_ready(object), |rule| (rule.judge)(object))
}

/// The verdict for an object of any kind; nothing where the rule of its kind decides.
fn common(object: &Value) -> Option<Readiness> {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return Some(Readiness { state: State::Terminating, message: "is being deleted".to_owned() });
    }
    if !is_observed(object) {
        return Some(Readiness::in_progress("its controller has not seen the change yet"));
    }
    let abnormal = |found: &&Value| found["type"] == "Reconciling" || found["type"] == "Stalled";
    let found = conditions::conditions(object).filter(abnormal).find(|found| found["status"] == "True")?;
    let message = conditions::message_of(found).unwrap_or_else(|| conditions::named(found));
    Some(match found["type"] == "Stalled" {
        true => Readiness::failed(message),
        false => Readiness::in_progress(message),
    })
}

/// The verdict of the condition `Ready`; an object that has none is there, and no more can be known.
fn by_ready(object: &Value) -> Readiness {
    match condition(object, "Ready") {
        Some(ready) => conditions::by(ready),
        None => Readiness::current(""),
    }
}

/// Does the status tell of the spec that is written now? A controller that does not say which spec it saw is believed.
pub fn is_observed(object: &Value) -> bool {
    let (generation, seen) =
        (object["metadata"]["generation"].as_i64(), object["status"]["observedGeneration"].as_i64());
    match (generation, seen) {
        (Some(generation), Some(seen)) => generation == seen,
        _ => true,
    }
}
