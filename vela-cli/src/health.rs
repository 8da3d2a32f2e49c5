//! An object in, how it is and a few words about it out.

use anstyle::Style;
use serde_json::Value;

use crate::pointer::text;
use crate::screen::{BAD, BUSY, DIM, GOOD};

/// How an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Health {
    /// As it should be.
    Healthy,
    /// On its way.
    Progressing,
    /// Something stands against it.
    Unhealthy,
    /// It should exist and does not.
    Missing,
    /// Nobody has said.
    Unknown,
}

impl Health {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Progressing => "progressing",
            Self::Unhealthy => "unhealthy",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }

    pub(crate) fn style(self) -> Style {
        match self {
            Self::Healthy => GOOD,
            Self::Progressing => BUSY,
            Self::Unhealthy | Self::Missing => BAD,
            Self::Unknown => DIM,
        }
    }

    /// The health of a whole of two parts: that of the worse one; an unknown part says nothing.
    pub(crate) fn and(self, other: Self) -> Self {
        let badness = |health| match health {
            Self::Unknown => 0,
            Self::Healthy => 1,
            Self::Progressing => 2,
            Self::Missing => 3,
            Self::Unhealthy => 4,
        };
        if badness(other) > badness(self) { other } else { self }
    }
}

/// What is said of an object whose controller has not come to it yet.
const UNREPORTED: &str = "its controller has not reported yet";

/// How an object is: our own kinds by their phase and conditions, all others by the readiness of their kind.
pub(crate) fn judge(object: &Value) -> (Health, String) {
    if !text(object, "/metadata/deletionTimestamp").is_empty() {
        return (Health::Progressing, "deleting".to_owned());
    }
    let ours = text(object, "/apiVersion").starts_with("core.oam.dev/");
    match text(object, "/kind") {
        "Application" if ours => match text(object, "/status/status") {
            "running" => (Health::Healthy, "running".to_owned()),
            phase @ ("unhealthy" | "workflowFailed" | "workflowTerminated") => {
                (Health::Unhealthy, phase.to_owned())
            }
            "" => (Health::Unknown, String::new()),
            phase => (Health::Progressing, phase.to_owned()),
        },
        "HealthScope" if ours => match text(object, "/status/scopeHealthCondition/healthStatus") {
            "HEALTHY" => (Health::Healthy, String::new()),
            "UNHEALTHY" => (Health::Progressing, String::new()),
            "" => (Health::Progressing, UNREPORTED.to_owned()),
            _ => (Health::Unknown, String::new()),
        },
        _ if ours => synced(object),
        _ => {
            let readiness = vela_runtime::readiness::of(object);
            let health = if readiness.ready { Health::Healthy } else { Health::Progressing };
            (health, readiness.message)
        }
    }
}

/// Kinds whose controllers report one condition `Synced`.
fn synced(object: &Value) -> (Health, String) {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let synced = conditions.into_iter().flatten().find(|condition| text(condition, "/type") == "Synced");
    match synced.map(|condition| (text(condition, "/status"), text(condition, "/message"))) {
        Some(("True", _)) => (Health::Healthy, String::new()),
        Some((_, message)) => (Health::Unhealthy, message.to_owned()),
        // Not "unknown": a controller of ours owes this condition, and a wait that ended here would end too early.
        None => (Health::Progressing, UNREPORTED.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_worse_part_wins_and_unknown_says_nothing() {
        assert_eq!(Health::Healthy.and(Health::Progressing), Health::Progressing);
        assert_eq!(Health::Unhealthy.and(Health::Healthy), Health::Unhealthy);
        assert_eq!(Health::Unknown.and(Health::Healthy), Health::Healthy);
    }

    #[test]
    fn a_workload_that_nobody_has_reported_on_is_waited_for() {
        let mut workload = json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "ContainerizedWorkload"});
        assert_eq!(judge(&workload).0, Health::Progressing);
        workload["status"] = json!({"conditions": [{"type": "Synced", "status": "True"}]});
        assert_eq!(judge(&workload).0, Health::Healthy);
    }

    #[test]
    fn a_phase_is_a_health() {
        let object = |phase: &str| json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "status": {"status": phase}});
        assert_eq!(judge(&object("running")).0, Health::Healthy);
        assert_eq!(judge(&object("unhealthy")).0, Health::Unhealthy);
        assert_eq!(judge(&object("rendering")).0, Health::Progressing);
    }
}
