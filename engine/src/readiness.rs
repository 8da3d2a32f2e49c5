//! Decides how far a live object is: our own kinds by what their controllers report, all others by the table of
//! [`vela_kinds`].
//!
//! Component health, `vela status` and the console ask here, so none of them can contradict another.

use serde::Deserialize as _;
use serde_json::Value as Json;
use vela_crds::{AppRollout, condition::types};
pub use vela_kinds::readiness::{Readiness, State, holds};
use vela_kinds::readiness::{Rule, UNREPORTED, condition, of as of_kind};

use crate::rollout::rest::{Rest, doing, rest};

/// Our own group.
const CORE: &str = "core.oam.dev";

/// Kinds of OAM, and that of the terraform controller; one whose controller reports nothing needs no rule.
const OURS: [Rule; 11] = [
    Rule::new(CORE, "AppRollout", app_rollout),
    Rule::new(CORE, "Application", application),
    Rule::new(CORE, "ApplicationConfiguration", synced),
    Rule::new(CORE, "ComponentDefinition", synced),
    Rule::new(CORE, "ContainerizedWorkload", synced),
    Rule::new(CORE, "HealthScope", health_scope),
    Rule::new(CORE, "ManualScalerTrait", synced),
    Rule::new(CORE, "PolicyDefinition", synced),
    Rule::new(CORE, "TraitDefinition", synced),
    Rule::new(CORE, "WorkflowStepDefinition", synced),
    Rule::new("terraform.core.oam.dev", "Configuration", terraform),
];

/// Judges an object.
pub fn of(object: &Json) -> Readiness {
    of_kind(object, &OURS)
}

fn text<'a>(object: &'a Json, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

/// By its phase. The v1alpha2 form has one for the first look at its health and for every later one.
fn application(object: &Json) -> Readiness {
    let was_healthy = object.pointer("/status/workflow/finished") == Some(&Json::Bool(true));
    match text(object, "/status/status") {
        "" => Readiness::in_progress(UNREPORTED),
        phase @ "running" => Readiness::current(phase),
        phase @ "healthChecking" if was_healthy => Readiness::failed(phase),
        phase @ ("unhealthy" | "workflowFailed" | "workflowTerminated") => Readiness::failed(phase),
        phase => Readiness::in_progress(phase),
    }
}

/// By whether it got where it was sent; one that waits for a person is on its way.
fn app_rollout(object: &Json) -> Readiness {
    let Ok(rollout) = AppRollout::deserialize(object) else {
        return Readiness::failed("it cannot be read");
    };
    match rest(&rollout) {
        Some(Rest::Succeeded) => Readiness::current(""),
        Some(Rest::Waits(what)) => Readiness::in_progress(what),
        Some(Rest::Failed(why)) => Readiness::failed(why),
        None => Readiness::in_progress(doing(&rollout)),
    }
}

/// By the health of what it looks at.
fn health_scope(object: &Json) -> Readiness {
    match text(object, "/status/scopeHealthCondition/healthStatus") {
        "" => Readiness::in_progress(UNREPORTED),
        "HEALTHY" => Readiness::current(""),
        _ => Readiness::in_progress(""),
    }
}

/// Kinds whose controllers report the one condition `Synced`.
fn synced(object: &Json) -> Readiness {
    match condition(object, types::SYNCED) {
        None => Readiness::in_progress(UNREPORTED),
        Some(synced) if synced["status"] == "True" => Readiness::current(""),
        Some(synced) => Readiness::failed(text(synced, "/message")),
    }
}

/// By what the terraform controller says of the last run.
fn terraform(object: &Json) -> Readiness {
    let message = text(object, "/status/apply/message");
    match text(object, "/status/apply/state") {
        "Available" => Readiness::current(message),
        _ => Readiness::in_progress(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn our_kinds_are_judged_by_what_their_controllers_report() {
        let synced =
            |status: &str| json!({"conditions": [{"type": "Synced", "status": status, "message": "no"}]});
        let scope = |health: &str| json!({"scopeHealthCondition": {"healthStatus": health}});
        let phase = |phase: &str| json!({"status": phase});
        let again = json!({"status": "healthChecking", "workflow": {"finished": true}});
        let waits = || Readiness::in_progress(UNREPORTED);
        let core = |kind: &str| ("core.oam.dev/v1beta1".to_owned(), kind.to_owned());
        for ((api_version, kind), status, expected) in [
            (core("Application"), json!({}), waits()),
            (core("Application"), phase("rendering"), Readiness::in_progress("rendering")),
            (core("Application"), phase("unhealthy"), Readiness::failed("unhealthy")),
            (core("Application"), phase("running"), Readiness::current("running")),
            (core("Application"), phase("healthChecking"), Readiness::in_progress("healthChecking")),
            (core("Application"), again, Readiness::failed("healthChecking")),
            (core("ContainerizedWorkload"), json!({}), waits()),
            (core("ContainerizedWorkload"), synced("True"), Readiness::current("")),
            (core("ApplicationConfiguration"), synced("False"), Readiness::failed("no")),
            (core("HealthScope"), json!({}), waits()),
            (core("HealthScope"), scope("UNHEALTHY"), Readiness::in_progress("")),
            (core("HealthScope"), scope("HEALTHY"), Readiness::current("")),
            (core("AppRollout"), json!({}), Readiness::failed("it cannot be read")),
            // No controller reports anything of this kind.
            (core("ResourceTracker"), json!({}), Readiness::current("")),
            (("v1".to_owned(), "Application".to_owned()), json!({}), Readiness::current("")),
        ] {
            let object = json!({"apiVersion": api_version, "kind": kind, "status": status});
            assert_eq!(of(&object), expected, "{object}");
        }
    }

    #[test]
    fn a_terraform_configuration_is_ready_after_a_complete_run() {
        let of = |state: &str| {
            let apply = json!({"state": state, "message": "told"});
            of(
                &json!({"apiVersion": "terraform.core.oam.dev/v1beta2", "kind": "Configuration", "status": {"apply": apply}}),
            )
        };
        assert_eq!(of("Available"), Readiness::current("told"));
        assert_eq!(of("ConfigurationApplyFailed"), Readiness::in_progress("told"));
    }
}
