//! Judges kinds, a Deployment, its lease and rights by what this program would install.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::controller::Controller;
use super::findings::Finding;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::health::Health;
use crate::pointer::text;

/// How to mend what an installation brings.
pub(super) const AGAIN: &str = "run `vela install` with the flags of this installation again";

/// Are the kinds of the cluster those that this program would install? `install` is the command that brings them.
pub(super) async fn kinds(
    cluster: &Cluster,
    about: &'static str,
    ours: &[Value],
    install: &str,
) -> Result<Vec<Finding>> {
    let (mut missing, mut other) = (Vec::new(), Vec::new());
    for crd in ours {
        let name = text(crd, "/metadata/name");
        let live = cluster.get(text(crd, "/apiVersion"), text(crd, "/kind"), None, name).await?;
        match live.map(|live| json!(live)) {
            None => missing.push(name),
            Some(live) if !contains(&live["spec"]["versions"], &crd["spec"]["versions"]) => other.push(name),
            Some(_) => {}
        }
    }
    let mut findings = Vec::new();
    if !missing.is_empty() {
        let message =
            format!("{} of {} kinds are not there: {}", missing.len(), ours.len(), missing.join(", "));
        findings.push(Finding::wrong(about, message, format!("run `{install}`")));
    }
    if !other.is_empty() {
        let message =
            format!("{} kinds are of another version than this program: {}", other.len(), other.join(", "));
        let mend =
            format!("run `{install}` of the release of the controller, or use the `vela` of that release");
        findings.push(Finding::wrong(about, message, mend));
    }
    if findings.is_empty() {
        findings.push(Finding::right(about, format!("all {} kinds are those of this program", ours.len())));
    }
    Ok(findings)
}

/// Does the live value say all that ours says? An API server adds defaults and takes nothing away.
fn contains(live: &Value, ours: &Value) -> bool {
    match (live, ours) {
        (Value::Object(live), Value::Object(ours)) => {
            ours.iter().all(|(name, ours)| live.get(name).is_some_and(|live| contains(live, ours)))
        }
        (Value::Array(live), Value::Array(ours)) => {
            live.len() == ours.len() && live.iter().zip(ours).all(|(live, ours)| contains(live, ours))
        }
        (Value::Number(live), Value::Number(ours)) => live.as_f64() == ours.as_f64(),
        (live, ours) => live == ours,
    }
}

/// Does its Deployment run, where there is one, and does a process lead?
pub(super) fn controller(about: &'static str, namespace: &str, controller: &Controller) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(deployment) = controller.deployment() {
        let (health, message) = deployment.health();
        findings.push(match health {
            Health::Healthy => Finding::right(about, format!("{} runs", deployment.image())),
            _ => {
                let mend = format!("`kubectl -n {namespace} describe pods` tells why its pods do not run");
                Finding::wrong(about, format!("its Deployment is {}: {message}", health.word()), mend)
            }
        });
    }
    match (controller.leader(), controller.silent_for(Timestamp::now())) {
        (Some(leader), Some(silent)) => {
            let message = format!("its leader {leader} has been silent for {} s", silent.as_secs());
            let mend = "look at the log of the controller, or start it again";
            findings.push(Finding::wrong(about, message, mend));
        }
        (Some(leader), None) => findings.push(Finding::right(about, format!("{leader} leads"))),
        (None, _) => {}
    }
    findings
}

/// Has an account the rights that this program would give it?
pub(super) async fn rights(cluster: &Cluster, about: &'static str, ours: &[Value]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for object in ours {
        let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
        let namespace = Some(text(object, "/metadata/namespace")).filter(|one| !one.is_empty());
        let live = cluster.get(text(object, "/apiVersion"), kind, namespace, name).await?;
        let message = match live.map(|live| json!(live)) {
            None => format!("{kind} {name} is not there, so the controller lacks rights"),
            Some(live) if differs(&live, object) => {
                format!("{kind} {name} gives other rights than this version needs")
            }
            Some(_) => continue,
        };
        findings.push(Finding::wrong(about, message, AGAIN));
    }
    if findings.is_empty() {
        let message = format!("all {} roles, bindings and accounts are as they should be", ours.len());
        findings.push(Finding::right(about, message));
    }
    Ok(findings)
}

/// An aggregated role gets its rules from others.
fn differs(live: &Value, ours: &Value) -> bool {
    let is_aggregated = ours.get("aggregationRule").is_some_and(|rule| !rule.is_null());
    let fields = ["subjects", "roleRef", "rules"];
    let compared = if is_aggregated { &fields[..2] } else { &fields[..] };
    compared.iter().any(|field| {
        let ours = ours.get(field).filter(|value| !value.is_null());
        ours.is_some_and(|ours| !contains(live.get(field).unwrap_or(&Value::Null), ours))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_adds_is_no_other_version() {
        let ours = json!([{"name": "v1", "schema": {"type": "object", "minimum": 1}}]);
        assert!(contains(
            &json!([{"name": "v1", "schema": {"type": "object", "minimum": 1.0, "x": 1}, "served": true}]),
            &ours
        ));
        assert!(!contains(&json!([{"name": "v1", "schema": {"type": "object"}}]), &ours));
        assert!(!contains(&json!([]), &ours));
    }
}
