//! A live object in → whether it does its work yet, and why not; pure, one rule per kind.

mod dependency;

use serde_json::Value;

pub use dependency::{by_conditions, dependency, secret_with};

/// Whether an object is ready, with the reason for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// True when nothing is waited for.
    pub ready: bool,
    /// What is there or missing.
    pub message: String,
}

impl Readiness {
    fn new(ready: bool, message: impl Into<String>) -> Self {
        Self { ready, message: message.into() }
    }
}

/// Judge an object by its kind; a kind without a rule is judged by its `Ready` condition, or exists and is ready.
pub fn of(object: &Value) -> Readiness {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return Readiness::new(false, "is being deleted");
    }
    let group = object["apiVersion"]
        .as_str()
        .and_then(|version| version.split_once('/'))
        .map_or("", |(group, _)| group);
    match (group, object["kind"].as_str().unwrap_or_default()) {
        ("apps", "Deployment") => replicas(object, "updatedReplicas", "availableReplicas"),
        ("apps", "StatefulSet") => replicas(object, "updatedReplicas", "readyReplicas"),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => {
            replicas(object, "replicas", "readyReplicas")
        }
        ("apps", "DaemonSet") => daemon_set(object),
        ("batch", "Job") => job(object),
        ("", "Pod") => pod(object),
        ("", "PersistentVolumeClaim") => phase(object, &["Bound"]),
        ("", "Namespace") => phase(object, &["Active"]),
        ("", "Service") => service(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => condition(object, "Established"),
        ("cert-manager.io", "Certificate" | "Issuer" | "ClusterIssuer") => condition(object, "Ready"),
        _ => {
            if find(object, "Ready").is_some() {
                condition(object, "Ready")
            } else {
                Readiness::new(true, "exists")
            }
        }
    }
}

fn number(object: &Value, field: &str) -> i64 {
    object["status"][field].as_i64().unwrap_or(0)
}

fn observed(object: &Value) -> bool {
    number(object, "observedGeneration") >= object["metadata"]["generation"].as_i64().unwrap_or(0)
}

fn replicas(object: &Value, updated: &str, available: &str) -> Readiness {
    let want = object["spec"]["replicas"].as_i64().unwrap_or(1);
    let have = number(object, available);
    if !observed(object) {
        return Readiness::new(false, "its controller has not seen the change yet");
    }
    let done = number(object, updated) >= want && have >= want;
    // Old replicas still serve: the change is not through.
    let old = object["kind"] == "Deployment" && number(object, "replicas") > number(object, updated);
    Readiness::new(done && !old, format!("{have}/{want} replicas ready"))
}

fn daemon_set(object: &Value) -> Readiness {
    let want = number(object, "desiredNumberScheduled");
    let have = number(object, "numberReady");
    let done = observed(object) && have >= want && number(object, "updatedNumberScheduled") >= want;
    Readiness::new(done, format!("{have}/{want} pods ready"))
}

fn job(object: &Value) -> Readiness {
    if let Some(failed) = find(object, "Failed").filter(|condition| condition["status"] == "True") {
        return Readiness::new(false, format!("failed: {}", failed["message"].as_str().unwrap_or_default()));
    }
    let want = object["spec"]["completions"].as_i64().unwrap_or(1);
    let have = number(object, "succeeded");
    Readiness::new(have >= want, format!("{have}/{want} completed"))
}

fn pod(object: &Value) -> Readiness {
    match object["status"]["phase"].as_str().unwrap_or("Pending") {
        "Succeeded" => Readiness::new(true, "completed"),
        "Running" => condition(object, "Ready"),
        phase => Readiness::new(false, format!("phase {phase}")),
    }
}

fn phase(object: &Value, ready: &[&str]) -> Readiness {
    let phase = object["status"]["phase"].as_str().unwrap_or("Pending");
    Readiness::new(ready.contains(&phase), format!("phase {phase}"))
}

fn service(object: &Value) -> Readiness {
    if object["spec"]["type"] != "LoadBalancer" {
        return Readiness::new(true, "exists");
    }
    let assigned =
        object["status"]["loadBalancer"]["ingress"].as_array().is_some_and(|list| !list.is_empty());
    Readiness::new(assigned, if assigned { "has an address" } else { "waits for an address" })
}

fn find<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == type_)
}

fn condition(object: &Value, type_: &str) -> Readiness {
    let Some(condition) = find(object, type_) else {
        return Readiness::new(false, format!("condition {type_} is not there yet"));
    };
    let ready = condition["status"] == "True";
    let message = condition["message"].as_str().filter(|message| !message.is_empty());
    Readiness::new(ready, message.map_or_else(|| format!("condition {type_}"), str::to_owned))
}
