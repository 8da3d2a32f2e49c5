//! The reads of table cells from objects.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::age::age;

/// The text for an absent or unreadable time.
pub(super) const UNKNOWN: &str = "<unknown>";

pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(super) fn is_true(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer) == Some(&Value::Bool(true))
}

/// The first of two texts that is not empty.
pub(super) fn or<'a>(text: &'a str, other: &'a str) -> &'a str {
    if text.is_empty() { other } else { text }
}

/// How long ago the time at a pointer was.
pub(super) fn since(value: &Value, pointer: &str, now: Timestamp) -> String {
    match text(value, pointer).parse::<Timestamp>() {
        Ok(at) => age(now.duration_since(at)),
        Err(_) => UNKNOWN.to_owned(),
    }
}

/// A single value as text.
pub(super) fn scalar(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// Labels as `a=b,c=d`.
pub(super) fn labels(value: Option<&Value>) -> String {
    let pairs = value.and_then(Value::as_object).into_iter().flatten();
    let text = pairs.map(|(k, v)| format!("{k}={}", scalar(Some(v)))).collect::<Vec<_>>().join(",");
    or(&text, "<none>").to_owned()
}

/// `spec.selector` as `a=b,c in (d)`.
pub(super) fn selector(object: &Value) -> String {
    let mut parts = Vec::new();
    if let Some(exact) = object.pointer("/spec/selector/matchLabels").filter(|m| **m != json!({})) {
        parts.push(labels(Some(exact)));
    }
    for rule in list(object, "/spec/selector/matchExpressions") {
        let values: Vec<&str> = list(rule, "/values").iter().filter_map(Value::as_str).collect();
        let key = text(rule, "/key");
        parts.push(match text(rule, "/operator") {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    or(&parts.join(","), "<none>").to_owned()
}

/// Access modes as `RWO,ROX`.
pub(super) fn access_modes(value: &Value, pointer: &str) -> String {
    let short = |mode: &str| match mode {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    };
    list(value, pointer).iter().map(|m| short(m.as_str().unwrap_or_default())).collect::<Vec<_>>().join(",")
}
