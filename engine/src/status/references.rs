//! Applied objects as the status of an application names them.

use serde_json::{Value as Json, json};

use crate::observed::{ObjectKey, Observed};

/// An entry of `status.appliedResources`; `creator` is `workflow` or `policy`.
pub(super) fn reference(key: &ObjectKey, creator: &str) -> Json {
    let mut reference =
        json!({"apiVersion": key.api_version, "kind": key.kind, "name": key.name, "creator": creator});
    if !key.namespace.is_empty() {
        reference["namespace"] = json!(key.namespace);
    }
    if !key.cluster.is_empty() {
        reference["cluster"] = json!(key.cluster);
    }
    reference
}

/// The object as it is called in the cluster, where it was seen: a rollout gives every revision a workload of its own.
pub(super) fn live_key(key: ObjectKey, observed: &Observed) -> Option<ObjectKey> {
    let live = observed.object(&key)?;
    let name = live.pointer("/metadata/name").and_then(Json::as_str).unwrap_or(&key.name).to_owned();
    Some(ObjectKey { name, ..key })
}
