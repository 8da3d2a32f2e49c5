//! The life of a namespace: nothing new in one that is not there or is going, and some that never go.

use serde_json::{Value, json};

use crate::catalog::Resource;
use crate::object;
use crate::status::{ApiError, ApiResult, Named};
use crate::verbs::Context;

/// Waits for the namespace's content.
const FINALIZER: &str = "kubernetes";
/// Namespaces that may not be deleted.
const IMMORTAL: &[&str] = &["default", "kube-system", "kube-public"];

/// Refuses a new object in a namespace that is not there or is going.
pub(super) fn check(
    context: &Context<'_>,
    resource: &Resource,
    namespace: &str,
    name: &str,
) -> ApiResult<()> {
    if !resource.namespaced {
        return Ok(());
    }
    let Some(found) = context.store.find("namespaces", "", namespace) else {
        let named = Named { group: "", plural: "namespaces", kind: "Namespace" };
        return Err(ApiError::not_found(named, namespace));
    };
    if object::is_deleting(&found) {
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        return Err(ApiError::namespace_terminating(resource.named(), name, namespace, &why));
    }
    Ok(())
}

/// Completes a new namespace.
pub(super) fn complete(namespace: &mut Value) {
    let name = object::name(namespace).to_owned();
    if let Some(metadata) = object::metadata_mut(namespace) {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        if let Some(labels) = labels.as_object_mut() {
            labels.insert("kubernetes.io/metadata.name".into(), name.into());
        }
    }
    object::set_at(namespace, "spec.finalizers", json!([FINALIZER]));
    object::set_at(namespace, "status.phase", "Active".into());
}

/// Refuses to delete a namespace that every cluster needs.
pub(super) fn check_delete(resource: &Resource, name: &str) -> ApiResult<()> {
    if resource.is_namespace() && IMMORTAL.contains(&name) {
        return Err(ApiError::forbidden(resource.named(), name, "this namespace may not be deleted"));
    }
    Ok(())
}
