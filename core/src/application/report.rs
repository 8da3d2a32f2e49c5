//! Status → one write, and events for what is new in it; an equal status writes nothing.

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Map, Value, json};
use vela_runtime::cache::Informer;
use vela_runtime::events::{Events, reference};

/// Write the status if it differs; gives the answer to the cache, so that the next lap starts from it.
pub(crate) async fn write(
    api: &Api<DynamicObject>,
    informer: &Informer,
    object: &DynamicObject,
    status: &Value,
) -> Result<bool, kube::Error> {
    let name = object.metadata.name.clone().unwrap_or_default();
    let old = object.data.get("status").cloned().unwrap_or_else(|| json!({}));
    let Some(patch) = difference(&old, status) else { return Ok(false) };
    let params =
        PatchParams { field_manager: Some(crate::context::FIELD_MANAGER.to_owned()), ..Default::default() };
    // The uid makes sure that a namesake created meanwhile does not get this status.
    let patch = json!({"metadata": {"uid": object.metadata.uid}, "status": patch});
    match api.patch_status(&name, &params, &Patch::Merge(&patch)).await {
        Ok(written) => {
            informer.observe(written);
            Ok(true)
        }
        // Gone meanwhile: nobody is left to tell.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

/// The merge patch that leads from old to new; nothing when they are equal.
fn difference(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return Some(new.clone()) };
    let mut patch = Map::new();
    for (name, new) in new {
        match old.get(name) {
            Some(old) => {
                if let Some(difference) = difference(old, new) {
                    patch.insert(name.clone(), difference);
                }
            }
            None => {
                patch.insert(name.clone(), new.clone());
            }
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}

/// Condition, reason of its event when it turns true, and when it turns false.
const TOLD: [(&str, &str, &str); 5] = [
    ("Parsed", "Parsed", "FailedParse"),
    ("Revision", "", "FailedRevision"),
    ("Policy", "", "FailedParse"),
    ("Render", "Rendered", "FailedRender"),
    ("Workflow", "Applied", "FailedApply"),
];

/// Tell what is new in the status, compared with the one before.
pub(crate) async fn tell(events: &Events, object: &DynamicObject, status: &Value) {
    let regarding = reference(object);
    let old = object.data.get("status").cloned().unwrap_or(Value::Null);
    let new_revision = old["latestRevision"]["name"] != status["latestRevision"]["name"];
    for (type_, good, bad) in TOLD {
        let (before, now) = (condition(&old, type_), condition(status, type_));
        match now["status"].as_str() {
            Some("True") if !good.is_empty() && (new_revision || before["status"] != now["status"]) => {
                events.normal(&regarding, good, "").await;
            }
            Some("False") if now["reason"] == "ReconcileError" && before["message"] != now["message"] => {
                events.warning(&regarding, bad, now["message"].as_str().unwrap_or_default()).await;
            }
            _ => {}
        }
    }
    match (old["status"].as_str(), status["status"].as_str()) {
        (before, Some("running")) if before != Some("running") || new_revision => {
            events.normal(&regarding, "Deployed", "all components are healthy").await;
        }
        (Some("running"), Some("unhealthy")) => {
            let message = condition(status, "Ready")["message"].as_str().unwrap_or_default();
            events.warning(&regarding, "FailedHealthCheck", message).await;
        }
        _ => {}
    }
}

fn condition<'a>(status: &'a Value, type_: &str) -> &'a Value {
    let conditions = status["conditions"].as_array();
    conditions
        .and_then(|list| list.iter().find(|condition| condition["type"] == type_))
        .unwrap_or(&Value::Null)
}
