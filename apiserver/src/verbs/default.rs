//! Second part of a write: the object that was asked for in, the same with what its kind and its past say of it out.

use serde_json::Value;

use crate::catalog::Resource;
use crate::{builtin, crd, object};

/// A new object with its defaults.
pub(super) fn new_object(resource: &Resource, new: &mut Value) {
    drop_empty_metadata(new);
    apply_defaults(resource, new);
}

/// A changed object with what a client may not change, and with its defaults.
pub(super) fn changed_object(resource: &Resource, subresource: &str, old: &Value, new: Value) -> Value {
    let mut new = preserve_immutable(resource, subresource, old, new);
    apply_defaults(resource, &mut new);
    new
}

/// Keeps what a client may not change.
fn preserve_immutable(resource: &Resource, subresource: &str, old: &Value, mut new: Value) -> Value {
    if subresource == "status" {
        let mut next = old.clone();
        if let (Some(next), Some(new)) = (next.as_object_mut(), new.as_object_mut()) {
            match new.remove("status") {
                Some(status) => next.insert("status".into(), status),
                None => next.remove("status"),
            };
        }
        // Server-side apply has already worked out who owns what.
        if let Some(fields) = object::metadata(&new).and_then(|m| m.get("managedFields")) {
            object::set_meta(&mut next, "managedFields", fields.clone());
        }
        return next;
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "generateName",
    ] {
        object::preserve_metadata(&mut new, old, field);
    }
    if (resource.status || subresource == "finalize")
        && let Some(map) = new.as_object_mut()
    {
        match old.get("status") {
            Some(status) => map.insert("status".into(), status.clone()),
            None => map.remove("status"),
        };
    }
    drop_empty_metadata(&mut new);
    new
}

fn apply_defaults(resource: &Resource, object: &mut Value) {
    match resource.structural() {
        Some(structural) => structural.apply_defaults(object),
        None if resource.is_definition() => crd::apply_defaults(object),
        None => builtin::apply_defaults(&resource.api_version, &resource.kind, object),
    }
}

fn drop_empty_metadata(object: &mut Value) {
    if let Some(metadata) = object::metadata_mut(object) {
        metadata.retain(|field, value| match value {
            Value::Null => false,
            Value::Object(map) => !map.is_empty() || !matches!(field.as_str(), "labels" | "annotations"),
            Value::Array(list) => !list.is_empty(),
            Value::String(text) => !text.is_empty(),
            _ => true,
        });
    }
}
