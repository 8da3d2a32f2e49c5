//! Reads the text at a pointer into JSON.

use serde_json::Value;

/// The text at a JSON pointer, or nothing.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}
