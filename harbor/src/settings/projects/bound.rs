//! A wish and what the Harbor has → the PullSecretBinding of a namespace, and whether what is there does it already. Pure.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_runtime::cache::Change;
use vela_runtime::{Key, owner as ownership};

use super::super::namespace::name_of;
use super::harbor::Access;
use super::wish::{PROJECT, ROBOT, Wish};
use crate::parts::kinds;

pub(super) const KIND: kinds::Kind = kinds::goharbor("PullSecretBinding");
/// The name of the binding in each namespace.
const NAME: &str = "harbor-project";

/// Where the binding of a namespace is.
pub(super) fn key(namespace: &DynamicObject) -> Key {
    Key::new(name_of(namespace), NAME)
}

/// The namespace of a binding that changes.
pub(super) fn place(change: &Change) -> Vec<Key> {
    let place = change.object().and_then(|binding| binding.metadata.namespace.clone());
    place.map(|place| Key::new("", place)).into_iter().collect()
}

/// What binds the account of a namespace to its server.
#[derive(Debug)]
pub(super) enum Found {
    /// The binding that the operator made for this namespace.
    Own(Arc<DynamicObject>),
    /// One that others made; the operator adds none to it.
    Foreign(Arc<DynamicObject>),
    /// One of its name that others made for something else, and whose it is.
    Taken(String),
    /// None.
    Nothing,
}

/// What of the bindings of the namespace is for this account and server. Its own one always is, so that it follows the namespace. Asked
/// before anything is made in the Harbor.
pub(super) fn find(
    bindings: &[Arc<DynamicObject>],
    namespace: &DynamicObject,
    server: &str,
    wish: &Wish,
) -> Found {
    if let Some(own) = bindings.iter().find(|binding| is_own(binding, namespace)) {
        return Found::Own(own.clone());
    }
    let binds = |binding: &&Arc<DynamicObject>| {
        let spec = &binding.data["spec"];
        spec["harborServerConfig"] == server && spec["serviceAccount"] == wish.account.as_str()
    };
    if let Some(foreign) = bindings.iter().find(binds) {
        return Found::Foreign(foreign.clone());
    }
    let taken = bindings.iter().find(|binding| name_of(binding) == NAME);
    match taken.map(|taken| controlled(taken, namespace)) {
        Some(Err(reason)) => Found::Taken(reason),
        _ => Found::Nothing,
    }
}

/// Did the operator make it for this namespace?
pub(super) fn is_own(binding: &DynamicObject, namespace: &DynamicObject) -> bool {
    name_of(binding) == NAME && controlled(binding, namespace).is_ok()
}

fn controlled(binding: &DynamicObject, namespace: &DynamicObject) -> Result<(), String> {
    ownership::controlled_by(binding, namespace.metadata.uid.as_deref().unwrap_or_default())
}

/// Does this binding give what is asked for? Then the Harbor need not be asked.
pub(super) fn does(binding: &DynamicObject, server: &str, wish: &Wish) -> bool {
    let (spec, annotations) = (&binding.data["spec"], binding.metadata.annotations.as_ref());
    let robot = wish.robot.map(|robot| robot.to_string());
    spec["harborServerConfig"] == server
        && spec["serviceAccount"] == wish.account.as_str()
        && robot.is_some_and(|robot| spec["robotId"] == robot.as_str())
        && annotations.and_then(|all| all.get(PROJECT)) == Some(&wish.project)
}

/// The binding that is wanted.
pub(super) fn desired(namespace: &DynamicObject, server: &str, wish: &Wish, access: Access) -> Value {
    let Key { namespace: place, name } = key(namespace);
    json!({
        "apiVersion": KIND.0,
        "kind": KIND.1,
        "metadata": {
            "name": name,
            "namespace": place,
            "annotations": { PROJECT: wish.project, ROBOT: access.robot.to_string() },
            // To hold up the deletion of a namespace would need a right of its own, and helps nothing.
            "ownerReferences": [{
                "apiVersion": "v1",
                "kind": "Namespace",
                "name": place,
                "uid": namespace.metadata.uid,
                "controller": true,
            }],
        },
        "spec": {
            "harborServerConfig": server,
            "projectId": access.project.to_string(),
            "robotId": access.robot.to_string(),
            "serviceAccount": wish.account,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> DynamicObject {
        serde_json::from_value(value).unwrap()
    }

    fn wish(robot: Option<u64>) -> Wish {
        Wish { project: "team".to_owned(), is_own: robot.is_none(), robot, account: "default".to_owned() }
    }

    #[test]
    fn a_binding_does_what_is_asked_for_until_one_of_it_changes() {
        let namespace = object(json!({"metadata": {"name": "shop", "uid": "u-1"}}));
        let made = desired(&namespace, "main", &wish(None), Access { project: 3, robot: 7 });
        let binding = object(made.clone());
        assert!(is_own(&binding, &namespace));
        assert!(!is_own(&binding, &object(json!({"metadata": {"name": "shop", "uid": "u-2"}}))));
        assert!(does(&binding, "main", &wish(Some(7))));
        assert!(!does(&binding, "other", &wish(Some(7))));
        assert!(!does(&binding, "main", &wish(Some(8))));
        assert!(!does(&binding, "main", &wish(None)), "its number is not written down yet");
        assert!(!does(&binding, "main", &Wish { project: "b".to_owned(), ..wish(Some(7)) }));
        assert!(!does(&binding, "main", &Wish { account: "b".to_owned(), ..wish(Some(7)) }));
        let mut foreign = made;
        foreign["metadata"]["ownerReferences"] = json!([]);
        let foreign = Arc::new(object(foreign));
        let bindings = [foreign, Arc::new(binding)];
        assert!(matches!(find(&bindings, &namespace, "main", &wish(None)), Found::Own(_)));
        assert!(matches!(find(&bindings[..1], &namespace, "main", &wish(None)), Found::Foreign(_)));
        assert!(matches!(find(&bindings[..1], &namespace, "b", &wish(None)), Found::Taken(_)));
        assert!(matches!(find(&[], &namespace, "b", &wish(None)), Found::Nothing));
    }
}
