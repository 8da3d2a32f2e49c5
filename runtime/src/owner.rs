//! Owner references: who controls an object, and whether a controller may change it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::DynamicObject;

/// The reference of the object's controller, if it has one.
pub fn controller_of(object: &DynamicObject) -> Option<&OwnerReference> {
    let owners = object.metadata.owner_references.as_deref().unwrap_or_default();
    owners.iter().find(|owner| owner.controller == Some(true))
}

/// True when any owner reference of the object names this uid.
pub fn is_owned_by(object: &DynamicObject, uid: &str) -> bool {
    object.metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid)
}

/// An object that exists may only be changed by its controller.
///
/// # Errors
/// The owner and the remedy.
pub fn controlled_by(live: &DynamicObject, uid: &str) -> Result<(), String> {
    match controller_of(live) {
        Some(owner) if owner.uid == uid => Ok(()),
        Some(owner) => {
            Err(format!("it is controlled by {} {}; rename one of the two", owner.kind, owner.name))
        }
        None => Err("it exists and nothing controls it; delete or rename it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(owners: serde_json::Value) -> DynamicObject {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "ownerReferences": owners},
        }))
        .unwrap()
    }

    #[test]
    fn only_the_controller_may_change_an_object() {
        let owner = |uid: &str, controller: bool| serde_json::json!({"apiVersion": "a/v1", "kind": "Foo", "name": "f", "uid": uid, "controller": controller});
        let both = object(serde_json::json!([owner("helper", false), owner("boss", true)]));
        assert_eq!(controlled_by(&both, "boss"), Ok(()));
        assert!(controlled_by(&both, "helper").unwrap_err().contains("Foo f"));
        assert!(is_owned_by(&both, "helper") && !is_owned_by(&both, "other"));
        assert!(controlled_by(&object(serde_json::json!([])), "boss").unwrap_err().contains("nothing"));
    }
}
