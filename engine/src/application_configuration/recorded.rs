//! A recorded reference and the rendered workload → the identity of the object that is meant.

use serde_json::Value as Json;

use super::text;
use crate::observed::ObjectKey;

/// Identity of a recorded workload of the same kind as the rendered one.
pub(super) fn recorded_key(recorded: &Json, workload: &Json, namespace: &str) -> Option<ObjectKey> {
    let same = ["apiVersion", "kind"].iter().all(|f| text(recorded, &[f]) == text(workload, &[f]));
    let name = text(recorded, &["name"]);
    (same && !name.is_empty()).then(|| ObjectKey {
        api_version: text(workload, &["apiVersion"]).to_owned(),
        kind: text(workload, &["kind"]).to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}
