//! A Component → the ControllerRevision that keeps it whole, with the status it will have; pure.

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_crds::labels;

/// The revision object of that name and number.
pub(super) fn revision(component: &DynamicObject, name: &str, number: i64) -> Value {
    let metadata = &component.metadata;
    let mut data = json!({
        "metadata": serde_json::to_value(metadata).unwrap_or(Value::Null),
        "spec": component.data["spec"],
        "status": {
            "observedGeneration": metadata.generation,
            "latestRevision": {"name": name, "revision": number},
        },
    });
    if let Some(old) = component.data["status"].as_object() {
        for (field, value) in old {
            if data["status"].get(field).is_none() {
                data["status"][field] = value.clone();
            }
        }
    }
    let component_name = metadata.name.clone().unwrap_or_default();
    json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": name,
            "namespace": metadata.namespace,
            "labels": {labels::CONTROLLER_REVISION_COMPONENT: component_name},
            "ownerReferences": [{
                "apiVersion": "core.oam.dev/v1alpha2",
                "kind": "Component",
                "name": component_name,
                "uid": metadata.uid,
                "controller": true,
            }],
        },
        "revision": number,
        "data": data,
    })
}

/// The component spec a revision keeps.
pub(super) fn spec(revision: &DynamicObject) -> &Value {
    &revision.data["data"]["spec"]
}

/// Was the revision made for this very component, and not for a deleted namesake?
pub(super) fn belongs(revision: &DynamicObject, component: &DynamicObject) -> bool {
    let owners = revision.metadata.owner_references.as_deref().unwrap_or_default();
    owners.iter().any(|owner| Some(&owner.uid) == component.metadata.uid.as_ref())
}
