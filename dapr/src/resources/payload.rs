//! An object → the JSON that sidecars get: without what only people and other writers need.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::ServedKind;

/// What `kubectl apply` writes: the whole object once more.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// What the API server and controllers keep for themselves: a sidecar compares objects by name and content. In lists of thousands it is
/// a third of all bytes, and a list has to fit into one message.
const BOOKKEEPING: [&str; 9] = [
    "creationTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// The JSON of an object of this kind. Its fields have one order always.
///
/// # Errors
/// The object cannot be written as JSON.
pub fn payload(kind: ServedKind, object: &DynamicObject) -> Result<Vec<u8>, serde_json::Error> {
    let mut value = serde_json::to_value(object)?;
    // Objects of a list do not name their kind.
    value["apiVersion"] = json!(format!("dapr.io/{}", kind.version()));
    value["kind"] = json!(kind.name());
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.retain(|name, _| !BOOKKEEPING.contains(&name.as_str()));
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }
    serde_json::to_vec(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sidecars_get_the_object_and_its_type_alone() {
        let object = json!({"metadata": {
            "name": "s", "namespace": "n", "managedFields": [{}], "annotations": {LAST_APPLIED: "{}"}, "uid": "u",
            "resourceVersion": "7", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f"],
        }, "spec": {"topic": "t"}});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let bytes = payload(ServedKind::Subscription, &object).unwrap();
        let expected = json!({"apiVersion": "dapr.io/v2alpha1", "kind": "Subscription",
            "metadata": {"name": "s", "namespace": "n"}, "spec": {"topic": "t"}});
        assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), expected);
    }
}
