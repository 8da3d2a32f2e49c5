//! What a lap changed → events on the configuration; a lap that changed nothing says nothing.

use kube::api::DynamicObject;
use serde_json::Value;
use vela_runtime::events;

use super::Hands;
use super::phase::Wrong;

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

/// A lap that applied everything.
pub(super) async fn applied(
    hands: &Hands,
    configuration: &DynamicObject,
    old: Option<&Value>,
    new: &Value,
    changed: bool,
) {
    if !changed && is_synced(old) {
        return;
    }
    let regarding = events::reference(configuration);
    let events = &hands.context.events;
    if !hands.context.hooks.before.is_empty() {
        events.normal(&regarding, "ExecutePrehook", "Successfully executed the pre-hooks").await;
    }
    events.normal(&regarding, "RenderedComponents", "Successfully rendered components").await;
    let workloads = new["workloads"].as_array().map_or(0, Vec::len);
    let note = format!("Successfully applied components (workloads={workloads})");
    events.normal(&regarding, "AppliedComponents", &note).await;
}

/// A lap that something was wrong with; the same words are told once.
pub(super) async fn wrong(hands: &Hands, configuration: &DynamicObject, old: Option<&Value>, wrong: &Wrong) {
    let message = wrong.message();
    if failure(old) != Some(message.as_str()) {
        let regarding = events::reference(configuration);
        hands.context.events.warning(&regarding, wrong.phase.reason(), &message).await;
    }
}
