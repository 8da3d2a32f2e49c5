//! What became of the children of a HarborCluster → a condition for each of its services, and one word about all of it.

use serde_json::{Value, json};
use vela_runtime::graph::{Cause, Outcome, Report};

use crate::owner::Owner;
use crate::parts::{CLUSTER_CONDITIONS, Id, Node};
use crate::status::{ChildError, Verdict, WAITS};

/// A condition for each service.
#[must_use]
pub(crate) fn of<T>(nodes: &[Node], report: &Report<Id, T, ChildError>) -> Vec<Value> {
    let conditions = CLUSTER_CONDITIONS.iter();
    conditions.map(|(condition, field)| service(condition, field, nodes, report)).collect()
}

fn service<T>(condition: &str, field: &str, nodes: &[Node], report: &Report<Id, T, ChildError>) -> Value {
    let ids: Vec<_> =
        nodes.iter().filter(|node| node.condition == Some(condition)).map(|node| &node.id).collect();
    let shown = |status: &str, reason: &str, message: &str| json!({ "type": condition, "status": status, "reason": reason, "message": message });
    if ids.is_empty() {
        let message =
            format!("{field} names a service outside of the cluster, which the operator does not ask");
        return shown("True", "External", &message);
    }
    let own = || report.causes().filter(|(id, _)| ids.contains(id));
    if let Some(verdict) = Verdict::of_causes(own()) {
        let broken = own().any(|(_, cause)| !waits(cause));
        let status = if broken { "False" } else { "Unknown" };
        return shown(status, verdict.reason.unwrap_or(WAITS), &message_of(own(), verdict.message));
    }
    let blocked = report.iter().find_map(|(id, outcome)| match outcome {
        Outcome::Blocked(blockers) if ids.contains(&id) => blockers.first(),
        _ => None,
    });
    match blocked {
        Some(blocker) => shown("Unknown", WAITS, &format!("waits for {blocker}")),
        None => shown("True", "Ready", "everything that was asked for is ready"),
    }
}

/// Does time alone help?
fn waits(cause: &Cause<ChildError>) -> bool {
    matches!(cause, Cause::NotReady(ChildError::NotReady { broken: false, .. }))
}

/// A child that waits says for what; the condition of the whole object only names the child.
fn message_of<'a>(
    mut causes: impl Iterator<Item = (&'a Id, &'a Cause<ChildError>)>,
    otherwise: String,
) -> String {
    let said = causes.find_map(|(_, cause)| match cause {
        Cause::NotReady(error @ ChildError::NotReady { kind, name, .. })
            if otherwise == format!("{kind} {name}") =>
        {
            Some(error.to_string())
        }
        _ => None,
    });
    said.unwrap_or(otherwise)
}

fn has_services(conditions: &Value) -> bool {
    let mut conditions = conditions.as_array().into_iter().flatten();
    conditions.any(|condition| CLUSTER_CONDITIONS.iter().any(|(name, _)| condition["type"] == *name))
}

/// Adds the word about the whole, and the number of its status.
pub(crate) fn summarize(owner: &Owner, verdict: &Verdict, status: &mut Value) {
    let any_false = |conditions: &Value| {
        let mut services = conditions.as_array().into_iter().flatten();
        services.any(|condition| {
            CLUSTER_CONDITIONS.iter().any(|(name, _)| condition["type"] == *name)
                && condition["status"] == "False"
        })
    };
    status["status"] = json!(match verdict.reason {
        None => "healthy",
        Some(_) if !verdict.recoverable || any_false(&status["conditions"]) => "unhealthy",
        // Nothing was asked for yet.
        Some(reason) if reason != WAITS && !has_services(&status["conditions"]) => "unhealthy",
        Some(_) => "provisioning",
    });
    let before = &owner.object()["status"];
    let is_same =
        ["conditions", "observedGeneration", "status"].iter().all(|field| before[field] == status[field]);
    let revision = before["revision"].as_i64().unwrap_or_default();
    // A number that counts changes repeats, a time does not.
    status["revision"] = json!(if is_same { revision } else { revision.saturating_add(1) });
}
