//! Fields of an object by pointer or path, and the rules that many kinds have for one.

use serde_json::Value;

use crate::cause::Cause;

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A number that must not be below zero.
pub(super) fn not_negative(object: &Value, path: &str, out: &mut Vec<Cause>) {
    let pointer = format!("/{}", path.replace('.', "/"));
    if let Some(value) = object.pointer(&pointer).filter(|v| v.as_i64().is_some_and(|n| n < 0)) {
        out.push(Cause::invalid(path, value, "must be greater than or equal to 0"));
    }
}

pub(super) fn immutable(field: &str, old: &Value, new: &Value, out: &mut Vec<Cause>) {
    let pointer = format!("/{}", field.replace('.', "/"));
    if old.pointer(&pointer) != new.pointer(&pointer) {
        let value = new.pointer(&pointer).cloned().unwrap_or(Value::Null);
        out.push(Cause::invalid(field, &value, "field is immutable"));
    }
}
