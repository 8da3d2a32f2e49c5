//! The reports of a reconcile beside its status: warnings, and events for changes of the status.

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::condition::types;
use vela_engine::status::REFUSED;
use vela_engine::{Diagnostics, Secrets};
use vela_runtime::Key;
use vela_runtime::events::{EventRecorder, reference};

/// The findings of a reconcile, for events and messages.
#[derive(Default)]
pub(super) struct Report {
    pub(super) warnings: Diagnostics,
    /// Confidential values of the application, of its inputs and of its objects.
    pub(super) secrets: Secrets,
    /// It waits for a slot to take up changed definitions.
    pub(super) waits: bool,
}

const RENDERED: &str = "the objects of all components were rendered";
const APPLIED: &str = "the objects of all components were rendered and applied";

/// Condition, reason and message of its event when it turns true, and the reason when it turns false. The last ones are those
/// of the v1alpha2 form.
const EVENTS: [(&str, &str, &str, &str); 8] = [
    (types::PARSED, "Parsed", "the application and the definitions that it names were read", "FailedParse"),
    (types::REVISION, "", "", "FailedRevision"),
    (types::POLICY, "", "", "FailedParse"),
    (types::RENDER, "Rendered", RENDERED, "FailedRender"),
    (types::WORKFLOW, "Applied", APPLIED, "FailedApply"),
    (types::BUILT, "Rendered", RENDERED, "FailedRender"),
    (types::ROLLOUT, "Rollout", "the rollout came to its end", "FailedRollout"),
    (types::APPLIED, "Applied", APPLIED, "FailedApply"),
];

/// The phases of an application on the way to its objects. The event of its objects reports success; a phase has an event of
/// its own only where it failed before, so that a user who heard of a mistake learns that it is mended.
const ON_THE_WAY: [&str; 3] = [types::PARSED, types::RENDER, types::BUILT];

/// Publish events for what is new in the status, compared with the one before.
pub(super) async fn publish_events(
    events: &EventRecorder,
    object: &DynamicObject,
    status: &Value,
    report: &Report,
) {
    let warnings = report.secrets.hide(&report.warnings.to_string()).into_owned();
    let regarding = reference(object);
    let old = object.data.get("status").cloned().unwrap_or(Value::Null);
    let new_revision = old["latestRevision"]["name"] != status["latestRevision"]["name"];
    if !warnings.is_empty() && old["observedGeneration"] != status["observedGeneration"] {
        events.warning(&regarding, "Doubtful", &warnings).await;
    }
    for (type_, good, message, bad) in EVENTS {
        let (before, now) = (condition(&old, type_), condition(status, type_));
        match now["status"].as_str() {
            Some("True") if !good.is_empty() && is_news(type_, before, now, new_revision) => {
                events.normal(&regarding, good, message).await;
            }
            Some("False") if is_error(now) && before["message"] != now["message"] => {
                let message = now["message"].as_str().unwrap_or_default();
                let why = message.lines().collect::<Vec<_>>().join("; ");
                tracing::warn!(application = %Key::of(object), reason = bad, why, "the application is not applied");
                events.warning(&regarding, bad, message).await;
            }
            _ => {}
        }
    }
    match (old["status"].as_str(), status["status"].as_str()) {
        (before, Some("running")) if before != Some("running") || new_revision => {
            events.normal(&regarding, "Deployed", "all components are healthy").await;
        }
        (Some("running"), Some("unhealthy" | "healthChecking")) if !new_revision => {
            let health =
                [types::READY, types::HEALTH_CHECK].map(|type_| &condition(status, type_)["message"]);
            let message = health.into_iter().find_map(Value::as_str).unwrap_or_default();
            events.warning(&regarding, "FailedHealthCheck", message).await;
        }
        _ => {}
    }
}

/// Is it news that the condition is met?
fn is_news(type_: &str, before: &Value, now: &Value, new_revision: bool) -> bool {
    match ON_THE_WAY.contains(&type_) {
        true => before["status"] == "False",
        false => new_revision || before["status"] != now["status"],
    }
}

/// The first condition that is not met, for a log.
pub(super) fn reason(status: &Value) -> &str {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let mut bad = conditions.filter(|condition| condition["status"] == "False");
    bad.find_map(|condition| condition["message"].as_str()).unwrap_or("nothing says why")
}

/// Did something go wrong, rather than take its time?
fn is_error(condition: &Value) -> bool {
    condition["reason"] == "ReconcileError" || condition["reason"] == REFUSED
}

fn condition<'a>(status: &'a Value, type_: &str) -> &'a Value {
    let conditions = status["conditions"].as_array();
    conditions
        .and_then(|list| list.iter().find(|condition| condition["type"] == type_))
        .unwrap_or(&Value::Null)
}
