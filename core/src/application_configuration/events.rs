//! Changes of a reconcile → events on the configuration; one that changed nothing sends none.

use kube::api::DynamicObject;
use serde_json::Value;
use vela_runtime::events;

use super::error::PhaseError;
use super::reconciler::ApplicationConfigurationReconciler;

/// The message of a failing `Synced` condition, or nothing for one that holds.
fn failure(status: Option<&Value>) -> Option<&str> {
    let conditions = status?["conditions"].as_array()?;
    let synced = conditions.iter().find(|condition| condition["type"] == "Synced")?;
    if synced["status"] == "False" { synced["message"].as_str() } else { None }
}

fn is_synced(status: Option<&Value>) -> bool {
    let conditions = status.and_then(|status| status["conditions"].as_array());
    conditions.is_some_and(|all| all.iter().any(|c| c["type"] == "Synced" && c["status"] == "True"))
}

/// A reconcile that applied everything.
pub(super) async fn applied(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &DynamicObject,
    old: Option<&Value>,
    new: &Value,
    changed: bool,
) {
    if !changed && is_synced(old) {
        return;
    }
    let regarding = events::reference(configuration);
    let events = &reconciler.context.events;
    if !reconciler.context.hooks.before.is_empty() {
        events.normal(&regarding, "ExecutePrehook", "Successfully executed the pre-hooks").await;
    }
    events.normal(&regarding, "RenderedComponents", "Successfully rendered components").await;
    let workloads = new["workloads"].as_array().map_or(0, Vec::len);
    let note = format!("Successfully applied components (workloads={workloads})");
    events.normal(&regarding, "AppliedComponents", &note).await;
}

/// A phase that failed; the same words are told once.
pub(super) async fn failed(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &DynamicObject,
    old: Option<&Value>,
    error: &PhaseError,
) {
    let message = error.to_string();
    if failure(old) != Some(message.as_str()) {
        let regarding = events::reference(configuration);
        reconciler.context.events.warning(&regarding, error.reason(), &message).await;
    }
}
