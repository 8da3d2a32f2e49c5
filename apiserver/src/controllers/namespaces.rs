//! The objects that a namespace needs when it comes, and those that go with it.

use serde_json::{Value, json};

use super::act::{act, own, stored};
use crate::object;
use crate::propagation::Propagation;
use crate::simulate::Action;
use crate::status::ApiResult;
use crate::verbs::{Context, DeleteOptions, Deleted, ObjectRef, delete_object, update_object};

/// Gives a namespace the service account that every pod needs.
pub(super) fn create_service_account(context: &Context<'_>, namespace: &str) -> ApiResult<()> {
    let Some(found) = context.store.find("namespaces", "", namespace) else { return Ok(()) };
    if object::is_deleting(&found) || context.store.find("serviceaccounts", namespace, "default").is_some() {
        return Ok(());
    }
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount",
                          "metadata": { "name": "default", "namespace": namespace } });
    act(context, Action::Create { resource: "serviceaccounts".into(), object: account })
}

/// Deletes what is in a namespace that is going away, and the namespace once it is empty. Says whether there is nothing
/// left to do for it.
pub(super) fn empty(context: &Context<'_>, namespace: &str) -> ApiResult<bool> {
    let Some(found) = context.store.find("namespaces", "", namespace) else { return Ok(true) };
    if !object::is_deleting(&found) {
        return Ok(true);
    }
    if delete_content(context, namespace)? > 0 {
        // The deletion of the last object brings us back.
        return Ok(false);
    }
    let resource = stored(context, "namespaces")?;
    let target = ObjectRef { resource: &resource, namespace: "", name: namespace, subresource: "finalize" };
    update_object(context, &target, &own(), |old| {
        let mut next = old.clone();
        if let Some(spec) = next.get_mut("spec").and_then(Value::as_object_mut) {
            spec.remove("finalizers");
        }
        Ok(next)
    })?;
    Ok(true)
}

/// Deletes everything in a namespace and says how many objects are left.
fn delete_content(context: &Context<'_>, namespace: &str) -> ApiResult<usize> {
    let mut left = 0;
    for resource in context.catalog.catalog().stored().iter().filter(|r| r.namespaced) {
        for entry in context.store.list(&resource.store, Some(namespace)).0 {
            left += 1;
            if object::is_deleting(&entry) {
                continue;
            }
            let options = DeleteOptions {
                propagation: Some(Propagation::Background),
                grace_seconds: Some(0),
                ..DeleteOptions::default()
            };
            match delete_object(context, resource, namespace, object::name(&entry), &options) {
                Ok(Deleted::Gone(_)) => left -= 1,
                Ok(Deleted::Waiting(_)) => {}
                Err(error) if error.reason == "NotFound" => left -= 1,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(left)
}
