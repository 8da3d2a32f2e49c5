//! An object and its new status in; one status write out, or none where nothing changed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde::Serialize;
use serde_json::{Map, Value, json};
use vela_runtime::{Failure, Informer, Key};

use crate::context::{Context, FIELD_MANAGER};

/// [`write`] for a status with a type, in the kind and the copies of `informer`.
pub(crate) async fn write_typed(
    context: &Context,
    informer: &Informer,
    live: &DynamicObject,
    status: &impl Serialize,
) -> Result<bool, Failure> {
    let status = serde_json::to_value(status).map_err(Failure::terminal)?;
    let resource = &informer.watch().resource;
    let api = Api::namespaced_with(context.client.clone(), &Key::of(live).namespace, resource);
    Ok(write(&api, informer, live, &status).await?)
}

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
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..Default::default() };
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

/// The time now, for conditions.
pub(crate) fn now() -> Time {
    Time(k8s_openapi::jiff::Timestamp::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_vanished_is_removed_by_the_patch() {
        let patch = difference(&json!({"a": 1, "b": 2}), &json!({"a": 3}));
        assert_eq!(patch, Some(json!({"a": 3, "b": null})));
        let patch = difference(&json!({"a": {"x": 1, "y": 1}}), &json!({"a": {"x": 2}}));
        assert_eq!(patch, Some(json!({"a": {"x": 2, "y": null}})));
    }
}
