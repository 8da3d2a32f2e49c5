//! A change of the store → what one sidecar is sent of it: created, updated or deleted as that sidecar sees it.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_runtime::Change;

use super::Viewer;

/// What happened to an object in the eyes of a sidecar; the numbers are those of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateType {
    /// It is there, or within the sidecar's scope, since now.
    Created = 1,
    /// It differs.
    Updated = 2,
    /// It is gone, or out of the sidecar's scope.
    Deleted = 3,
}

/// One update of one sidecar.
#[derive(Clone, Debug)]
pub struct Update {
    /// What happened.
    pub update_type: UpdateType,
    /// The object now; of one that is gone, or out of scope, as the sidecar knows it.
    pub object: Arc<DynamicObject>,
}

/// What a sidecar is sent of a change, in order: nothing, one update, or two where another object took the place of one. What was
/// there when the watch began is no update: a sidecar lists it before.
#[must_use]
pub fn updates(viewer: &Viewer, change: &Change) -> Vec<Update> {
    if change.initial {
        return Vec::new();
    }
    let seen = |object: &Option<Arc<DynamicObject>>| object.clone().filter(|object| viewer.sees(object));
    let of = |update_type, object| Update { update_type, object };
    match (seen(&change.old), seen(&change.new)) {
        (None, None) => Vec::new(),
        (None, Some(new)) => vec![of(UpdateType::Created, new)],
        (Some(old), None) => vec![of(UpdateType::Deleted, old)],
        (Some(old), Some(new)) if old.metadata.uid != new.metadata.uid => {
            vec![of(UpdateType::Deleted, old), of(UpdateType::Created, new)]
        }
        // The same again, as after a watch was lost.
        (Some(old), Some(new)) if old.metadata.resource_version == new.metadata.resource_version => {
            Vec::new()
        }
        (Some(_), Some(new)) => vec![of(UpdateType::Updated, new)],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::UpdateType::{Created, Deleted, Updated};
    use super::*;

    fn object(uid: &str, version: u32, scopes: &[&str]) -> Arc<DynamicObject> {
        let metadata =
            json!({"name": "w", "namespace": "h1", "uid": uid, "resourceVersion": version.to_string()});
        let object = json!({"apiVersion": "dapr.io/v1alpha1", "kind": "Component", "metadata": metadata, "scopes": scopes});
        Arc::new(serde_json::from_value(object).unwrap())
    }

    fn viewer(app_id: &str) -> Viewer {
        Viewer::authorized(&format!("spiffe://t/ns/h1/{app_id}").parse().unwrap(), "h1").unwrap()
    }

    /// What each step of the life of an object is to two sidecars.
    #[test]
    fn each_sidecar_sees_its_own_kind_of_change() {
        let life: Vec<Option<&[&str]>> = vec![
            Some(&[]),
            Some(&[]),
            Some(&["other"]),
            Some(&["other"]),
            Some(&["cart", "other"]),
            Some(&["another"]),
            Some(&[]),
            None,
        ];
        let expected = [
            (Some(Created), Some(Created)),
            (Some(Updated), Some(Updated)),
            (Some(Deleted), Some(Updated)),
            (None, Some(Updated)),
            (Some(Created), Some(Updated)),
            (Some(Deleted), Some(Deleted)),
            (Some(Created), Some(Created)),
            (Some(Deleted), Some(Deleted)),
        ];
        let mut old = None;
        for (version, (scopes, expected)) in life.into_iter().zip(expected).enumerate() {
            let new = scopes.map(|scopes| object("u", u32::try_from(version).unwrap(), scopes));
            let change = Change { old: old.clone(), new: new.clone(), initial: false };
            let found =
                ["cart", "other"].map(|app| updates(&viewer(app), &change).pop().map(|u| u.update_type));
            assert_eq!((found[0], found[1]), expected, "step {version}");
            old = new;
        }
    }

    #[test]
    fn a_namesake_is_a_deletion_and_a_creation() {
        let change =
            Change { old: Some(object("u", 1, &[])), new: Some(object("v", 2, &[])), initial: false };
        let found: Vec<_> = updates(&viewer("cart"), &change).iter().map(|u| u.update_type).collect();
        assert_eq!(found, [Deleted, Created]);
    }

    #[test]
    fn the_same_again_and_other_namespaces_are_no_update() {
        let same = Change { old: Some(object("u", 1, &[])), new: Some(object("u", 1, &[])), initial: false };
        let first = Change { old: None, new: Some(object("u", 1, &[])), initial: true };
        for change in [same, first] {
            assert!(updates(&viewer("cart"), &change).is_empty());
        }
        let elsewhere = Viewer::authorized(&"spiffe://t/ns/h2/cart".parse().unwrap(), "h2").unwrap();
        let created = Change { old: None, new: Some(object("u", 1, &[])), initial: false };
        assert!(updates(&elsewhere, &created).is_empty());
    }
}
