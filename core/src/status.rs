//! An object and its new status in; one status write out, or none where nothing changed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use serde::Serialize;
use serde_json::{Value, json};
use vela_runtime::{Failure, Key};

use crate::context::{Context, FIELD_MANAGER};

/// Writes `status` when it differs from what the object has.
pub(crate) async fn write(
    context: &Context,
    resource: &ApiResource,
    live: &DynamicObject,
    status: &impl Serialize,
) -> Result<bool, Failure> {
    let status = serde_json::to_value(status).map_err(Failure::terminal)?;
    let old = live.data.get("status").cloned().unwrap_or_else(|| json!({}));
    if old == status {
        return Ok(false);
    }
    let key = Key::of(live);
    let api: Api<DynamicObject> = Api::namespaced_with(context.client.clone(), &key.namespace, resource);
    let patch = json!({
        // The object whose status this is, not one that took its name meanwhile.
        "metadata": { "uid": live.metadata.uid },
        "status": difference(&old, &status),
    });
    match api.patch_status(&key.name, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(&patch)).await {
        Ok(_) => Ok(true),
        // Gone meanwhile: nobody is left to read it.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(Failure::from(error)),
    }
}

/// The merge patch from one status to another: what vanished is named with null, at every depth.
fn difference(old: &Value, new: &Value) -> Value {
    let mut patch = new.clone();
    if let (Value::Object(old), Value::Object(patch)) = (old, &mut patch) {
        for (name, was) in old {
            let becomes = patch.get(name).map_or(Value::Null, |becomes| difference(was, becomes));
            patch.insert(name.clone(), becomes);
        }
    }
    patch
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
        assert_eq!(patch, json!({"a": 3, "b": null}));
        let patch = difference(&json!({"a": {"x": 1, "y": 1}}), &json!({"a": {"x": 2}}));
        assert_eq!(patch, json!({"a": {"x": 2, "y": null}}));
    }
}
