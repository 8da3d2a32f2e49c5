//! Fields of an object: set where they are not given, found, made.

use serde_json::{Map, Value};

/// An object as JSON.
pub(super) type Object = Map<String, Value>;

/// Sets a field that is absent.
pub(super) fn set(map: &mut Object, name: &str, value: impl Into<Value>) {
    let slot = map.entry(name.to_owned()).or_insert(Value::Null);
    if slot.is_null() {
        *slot = value.into();
    }
}

/// Sets a text that is absent or empty.
pub(super) fn set_text(map: &mut Object, name: &str, value: &str) {
    let slot = map.entry(name.to_owned()).or_insert(Value::Null);
    if slot.is_null() || slot.as_str() == Some("") {
        *slot = value.into();
    }
}

pub(super) fn inner<'a>(map: &'a mut Object, name: &str) -> Option<&'a mut Object> {
    map.get_mut(name).and_then(Value::as_object_mut)
}

/// The object at `name`, made if it is absent.
pub(super) fn ensure<'a>(map: &'a mut Object, name: &str) -> Option<&'a mut Object> {
    set(map, name, Value::Object(Object::new()));
    inner(map, name)
}

pub(super) fn items<'a>(map: &'a mut Object, name: &str) -> impl Iterator<Item = &'a mut Object> {
    map.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

pub(super) fn text<'a>(map: &'a Object, name: &str) -> &'a str {
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}
