//! Resolves a recorded reference to the object that is meant, by the workload rendered now.

use serde_json::Value as Json;

use super::text;
use crate::observed::ObjectKey;

/// Identity of a recorded workload of the same kind as the rendered one.
pub(super) fn recorded_key(recorded: &Json, workload: &Json, namespace: &str) -> Option<ObjectKey> {
    let same = ["apiVersion", "kind"].iter().all(|f| text(recorded, &[f]) == text(workload, &[f]));
    let name = text(recorded, &["name"]);
    (same && !name.is_empty()).then(|| {
        ObjectKey::local(text(workload, &["apiVersion"]), text(workload, &["kind"]), namespace, name)
    })
}
