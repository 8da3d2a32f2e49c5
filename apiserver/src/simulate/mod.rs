//! The simulated controllers of a cluster: one object by name in, the writes that bring it one step further out.
//!
//! Level-triggered and pure: a reconcile looks at the present objects through [`View`], never at what happened, and
//! gives back [`Action`]s. The simulation does not poll: the caller reconciles what an event touches ([`affected`]) and
//! comes back after [`Outcome::again_after`] by its own clock. No containers run. Kinds of other projects are played
//! where their definitions are installed ([`definitions`]).
//!
//! Pods behave unless told otherwise, by annotations of the pod (or the workload's pod template):
//! * `simulate.vela.dev/fail`: `image-pull`, `crash`, `not-ready`, `exit` or `unschedulable`; the same word after
//!   `simulate-fail-` in an image name, e.g. `nginx:simulate-fail-crash`, fails that way too (all but the last).
//! * `simulate.vela.dev/start-seconds`: how long the pod stays pending (default 0), also after a change in place.
//! * `simulate.vela.dev/run-seconds`: how long a job's pod runs (default 1).
mod clone_set;
mod daemon_set;
mod deployment;
mod in_place;
mod job;
mod kinds;
mod object;
mod pod;
mod replica_set;
mod revision;
mod service;
mod stateful_set;
mod step;
mod template;
mod volume;

use jiff::Timestamp;
use serde_json::Value;

pub use self::kinds::definitions;
pub(crate) use self::step::{Action, Outcome, View};
pub(crate) use crate::propagation::Propagation;
pub(crate) use crate::store::IndexKey;

/// The resources whose changes must be given to [`affected`].
pub(crate) const RESOURCES: &[&str] = &[
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    clone_set::RESOURCE,
    stateful_set::ADVANCED,
    "jobs.batch",
    "pods",
    "nodes",
    "services",
    "endpoints",
    "endpointslices.discovery.k8s.io",
    "persistentvolumeclaims",
    "persistentvolumes",
];

/// An object by resource, namespace and name.
pub(crate) type Key = (String, String, String);

/// The objects to reconcile when this object was created, changed or deleted; the object itself is among them.
pub(crate) fn affected(view: &dyn View, resource: &str, object: &Value) -> Vec<Key> {
    let namespace = object::namespace(object).to_owned();
    let key = |resource: &str, name: &str| (resource.to_owned(), namespace.clone(), name.to_owned());
    let mut out = vec![key(resource, object::name(object))];
    if let Some(owner) = object::controller(object) {
        let group = object::text(owner, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let resource = match (group, object::text(owner, "/kind")) {
            ("apps", "Deployment") => "deployments.apps",
            ("apps", "ReplicaSet") => "replicasets.apps",
            ("apps", "StatefulSet") => "statefulsets.apps",
            ("apps", "DaemonSet") => "daemonsets.apps",
            (clone_set::GROUP, "CloneSet") => clone_set::RESOURCE,
            (clone_set::GROUP, "StatefulSet") => stateful_set::ADVANCED,
            ("batch", "Job") => "jobs.batch",
            _ => "",
        };
        if let (false, Some(name)) = (resource.is_empty(), owner.get("name").and_then(Value::as_str)) {
            out.push(key(resource, name));
        }
    }
    match resource {
        "pods" => {
            for service in service::candidates(view, object) {
                if service::selects(&service, object) {
                    out.push(key("services", object::name(&service)));
                }
            }
        }
        "endpoints" => out.push(key("services", object::name(object))),
        "endpointslices.discovery.k8s.io" => {
            if let Some(service) = object.pointer("/metadata/labels/kubernetes.io~1service-name") {
                out.push(key("services", service.as_str().unwrap_or_default()));
            }
        }
        "nodes" => {
            for resource in ["daemonsets.apps", "pods"] {
                for other in view.list(resource, None) {
                    out.push((
                        resource.to_owned(),
                        object::namespace(&other).to_owned(),
                        object::name(&other).to_owned(),
                    ));
                }
            }
        }
        _ => {}
    }
    out
}

/// Brings one object a step further.
pub(crate) fn reconcile(
    view: &dyn View,
    resource: &str,
    namespace: &str,
    name: &str,
    now: Timestamp,
) -> Outcome {
    let mut out = Outcome::default();
    let Some(found) = view.get(resource, namespace, name) else {
        if resource == "services" {
            service::gone(view, namespace, name, &mut out);
        }
        return out;
    };
    match resource {
        "pods" => pod::reconcile(view, &found, now, &mut out),
        _ if object::is_deleted(&found) => {}
        "deployments.apps" => deployment::reconcile(view, &found, now, &mut out),
        "replicasets.apps" => replica_set::reconcile(view, &found, now, &mut out),
        "statefulsets.apps" | stateful_set::ADVANCED => stateful_set::reconcile(view, &found, now, &mut out),
        "daemonsets.apps" => daemon_set::reconcile(view, &found, now, &mut out),
        clone_set::RESOURCE => clone_set::reconcile(view, &found, now, &mut out),
        "jobs.batch" => job::reconcile(view, &found, now, &mut out),
        "services" => service::reconcile(view, &found, now, &mut out),
        "persistentvolumeclaims" => volume::reconcile(view, &found, &mut out),
        "persistentvolumes" => volume::settle(&found, &mut out),
        "nodes" => pod::settle_node(&found, now, &mut out),
        _ => {}
    }
    out
}

#[cfg(test)]
mod tests;
