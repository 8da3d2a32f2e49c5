//! Fields of an object by pointer or path, and the rules that many kinds have for one.

use serde_json::Value;

use crate::cause::Cause;

/// The field that names separated by `/` or `.` lead to. Names of the built-in kinds have nothing to unescape, so that this allocates
/// nothing: each render asks for dozens.
pub(crate) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split(['/', '.']).filter(|name| !name.is_empty()).try_fold(value, |value, name| value.get(name))
}

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    at(value, pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    at(value, pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A number that must not be below zero.
pub(super) fn not_negative(object: &Value, path: &str, out: &mut Vec<Cause>) {
    if let Some(value) = at(object, path).filter(|v| v.as_i64().is_some_and(|n| n < 0)) {
        out.push(Cause::invalid(path, value, "must be greater than or equal to 0"));
    }
}

pub(super) fn immutable(field: &str, old: &Value, new: &Value, out: &mut Vec<Cause>) {
    if at(old, field) != at(new, field) {
        let value = at(new, field).cloned().unwrap_or(Value::Null);
        out.push(Cause::invalid(field, &value, "field is immutable"));
    }
}
