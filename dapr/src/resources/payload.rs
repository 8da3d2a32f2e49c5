//! An object → the JSON that sidecars get: without what only people and other writers need.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::ServedKind;

/// What `kubectl apply` writes: the whole object once more.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

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
        metadata.remove("managedFields");
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
            "name": "s", "namespace": "n", "managedFields": [{}], "annotations": {LAST_APPLIED: "{}"},
        }, "spec": {"topic": "t"}});
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let bytes = payload(ServedKind::Subscription, &object).unwrap();
        let expected = json!({"apiVersion": "dapr.io/v2alpha1", "kind": "Subscription",
            "metadata": {"name": "s", "namespace": "n"}, "spec": {"topic": "t"}});
        assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), expected);
    }
}
