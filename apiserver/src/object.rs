//! The metadata of an object, read and written without a type.

use serde_json::{Map, Value, json};

/// `metadata`, or an empty map.
pub(crate) fn metadata(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata").and_then(Value::as_object)
}

/// `metadata`, created when absent. `None` when the object is not a map or `metadata` is something else.
pub(crate) fn metadata_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let map = object.as_object_mut()?;
    let metadata = map.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    metadata.as_object_mut()
}

/// A text field of `metadata`, empty when absent.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    metadata(object).and_then(|m| m.get(field)).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    meta(object, "name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    meta(object, "namespace")
}

pub(crate) fn uid(object: &Value) -> &str {
    meta(object, "uid")
}

pub(crate) fn set_meta(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(metadata) = metadata_mut(object) {
        metadata.insert(field.to_owned(), value.into());
    }
}

pub(crate) fn remove_meta(object: &mut Value, field: &str) {
    if let Some(metadata) = metadata_mut(object) {
        metadata.remove(field);
    }
}

/// Carries a field of `metadata` over from the old object, or removes it where the old one has none.
pub(crate) fn preserve_metadata(object: &mut Value, old: &Value, field: &str) {
    match metadata(old).and_then(|m| m.get(field)) {
        Some(value) => set_meta(object, field, value.clone()),
        None => remove_meta(object, field),
    }
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    metadata(object).is_some_and(|m| m.get("deletionTimestamp").is_some_and(|v| !v.is_null()))
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    metadata(object)
        .and_then(|m| m.get("finalizers"))
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default()
}

pub(crate) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    if finalizers.is_empty() {
        remove_meta(object, "finalizers");
    } else {
        set_meta(object, "finalizers", finalizers);
    }
}

/// The value at a dotted path (`spec.replicas`), where each part is a plain field name.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|p| !p.is_empty()).try_fold(object, |value, part| value.get(part))
}

/// Sets the value at a dotted path and creates the maps on the way.
pub(crate) fn set_at(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.split('.').filter(|p| !p.is_empty()) {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Some(map) = place.as_object_mut() else { return };
        place = map.entry(part).or_insert(Value::Null);
    }
    *place = value;
}

/// A text at a JSON pointer, empty when absent.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// `PartialObjectMetadata` of an object.
pub(crate) fn partial(object: &Value) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
}
