//! A live object that others are made from in → whether they may be made yet: stricter than [`super::of`], since what
//! has said nothing of itself yet is not ready. Pure; the present moment is given.

use jiff::Timestamp;
use serde_json::Value;

use super::{Readiness, condition, observed};

/// Judge an object that others wait for, by its kind and else by what its conditions say.
pub fn dependency(object: &Value, now: Timestamp) -> Readiness {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return Readiness::new(false, "is being deleted");
    }
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    match (group, object["kind"].as_str().unwrap_or_default()) {
        ("", "Secret") => secret(object),
        ("", "ConfigMap" | "ServiceAccount")
        | ("networking.k8s.io" | "extensions", "Ingress" | "NetworkPolicy") => Readiness::new(true, "exists"),
        ("cert-manager.io", "Certificate") => certificate(object, now),
        // These report by numbers and phases, for which there are rules.
        ("", _) | ("apps", "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => {
            super::of(object)
        }
        _ => by_conditions(object),
    }
}

/// Judge by conditions alone: `Ready` and `Available` have to be true, what tells of work under way or of failure
/// false; without any condition its controller has not looked at it.
pub fn by_conditions(object: &Value) -> Readiness {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if conditions.is_empty() {
        return Readiness::new(false, "its controller has said nothing of it yet");
    }
    if object["status"]["observedGeneration"].is_number() && !observed(object) {
        return Readiness::new(false, "its controller has not seen the change yet");
    }
    let in_the_way = conditions.iter().find(|found| !is_good(found));
    in_the_way.map_or_else(|| Readiness::new(true, "all conditions are good"), explain)
}

fn is_good(condition: &Value) -> bool {
    let status = condition["status"].as_str().unwrap_or_default();
    match condition["type"].as_str().unwrap_or_default() {
        "Ready" | "Available" => status == "True",
        "InProgress" | "Progressing" | "Reconciling" => match condition["reason"].as_str() {
            // A Deployment says so with status true: the change is through.
            Some("NewReplicaSetAvailable") => true,
            // And so with status false: it gave up.
            Some("ProgressDeadlineExceeded") => false,
            _ => status == "False",
        },
        "Failed" | "ReplicaFailure" | "Stalled" => status == "False",
        // What the rest mean, nobody agreed on.
        _ => true,
    }
}

fn explain(condition: &Value) -> Readiness {
    let part = |field: &str| condition[field].as_str().unwrap_or_default();
    let why = [part("message"), part("reason")].into_iter().find(|text| !text.is_empty());
    let colon = why.map(|why| format!(": {why}")).unwrap_or_default();
    Readiness::new(false, format!("condition {} is {}{colon}", part("type"), part("status")))
}

/// Issued, and not run out while nobody looked.
fn certificate(object: &Value, now: Timestamp) -> Readiness {
    let issued = condition(object, "Ready");
    if !issued.ready {
        return issued;
    }
    let end = object["status"]["notAfter"].as_str();
    match end.map(str::parse::<Timestamp>) {
        Some(Ok(end)) if end <= now => Readiness::new(false, format!("expired on {end}")),
        Some(Err(_)) => Readiness::new(false, "status.notAfter is no time"),
        _ => issued,
    }
}

/// Has a Secret the keys that its type promises? The API server refuses one without them, except for those that it
/// does not check.
fn secret(object: &Value) -> Readiness {
    let keys: &[&str] = match object["type"].as_str().unwrap_or_default() {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        _ => &[],
    };
    secret_with(object, keys)
}

/// Has a Secret these keys, with something in them? cert-manager makes one before it has what goes into it.
pub fn secret_with(object: &Value, keys: &[&str]) -> Readiness {
    let has = |key: &&&str| {
        let filled = |field: &str| object[field][**key].as_str().is_some_and(|value| !value.is_empty());
        filled("data") || filled("stringData")
    };
    let missing: Vec<&str> = keys.iter().filter(|key| !has(key)).copied().collect();
    if missing.is_empty() {
        return Readiness::new(true, "exists");
    }
    Readiness::new(false, format!("lacks {}", missing.join(", ")))
}
