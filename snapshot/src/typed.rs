//! An object of the client as plain JSON that says what it is.

use kube::ResourceExt as _;
use kube::api::{ApiResource, DynamicObject};
use serde_json::Value;

/// An object as plain JSON; the engine reads kind and version from the object itself.
pub(crate) fn with_type(mut object: DynamicObject, resource: &ApiResource) -> Value {
    object.types.get_or_insert_with(|| kube::api::TypeMeta {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
    });
    object.managed_fields_mut().clear();
    serde_json::to_value(object).unwrap_or_default()
}
