//! Applies operations to an object, with values encoded as the JSON patch texts of v1alpha2 are.

use std::borrow::Cow;

use serde_json::Value as Json;

use super::limits::size;
use super::{DOCUMENT_LIMIT, Operation, VALUE_LIMIT, Verb};
use crate::field_path::type_name;
use crate::observed::ObjectKey;

/// Why operations stopped: the operation's place in the configuration, and what is wrong.
pub(super) type Failure = (String, String);

/// A value on its way into a document.
enum Value {
    /// The data as a user wrote it: text that may be JSON.
    Written(String),
    /// As it was read.
    Read(Json),
}

/// Runs operations in order. `settled`: lists that have a value already do not get it again.
pub(super) fn run(
    target: &mut Json,
    operations: &[Operation],
    source: &Json,
    settled: bool,
) -> Result<(), Failure> {
    for operation in operations {
        one(target, operation, source, settled).map_err(|error| (operation.at.clone(), error))?;
    }
    Ok(())
}

fn one(target: &mut Json, operation: &Operation, source: &Json, settled: bool) -> Result<(), String> {
    let Operation { at: _, verb, to, data, value: _, from: _, conditions: _ } = operation;
    let found = to.find(target);
    if *verb == Verb::Remove {
        let Some(data) = data else { return to.change(target, Verb::Remove, Json::Null, settled) };
        let Some(mut document) = document(found)? else { return Ok(()) };
        data.change(&mut document, Verb::Remove, Json::Null, settled)?;
        return to.change(target, Verb::Replace, Json::String(document.to_string()), settled);
    }
    let value = value(operation, source)?;
    let new = match (data, document(data.as_ref().and(found))?) {
        (Some(data), Some(mut document)) => {
            data.change(&mut document, *verb, encoded(value, true)?, settled)?;
            Json::String(document.to_string())
        }
        // Without a document to change, the value is the document; but it stays a text where a document is meant.
        (data, _) => encoded(value, data.is_some())?,
    };
    if size(&new) > DOCUMENT_LIMIT {
        return Err(format!("{to} would be larger than {DOCUMENT_LIMIT} bytes"));
    }
    // Whatever the operation is, the place in the object is set: only the document in it is added to.
    to.change(target, Verb::Replace, new, settled)
}

/// The JSON that stands at a place: in a text, or as it is. An empty text is no document.
fn document(found: Option<&Json>) -> Result<Option<Json>, String> {
    match found {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) if text.is_empty() => Ok(None),
        Some(Json::String(text)) if text.len() > DOCUMENT_LIMIT => {
            Err(format!("the text is larger than {DOCUMENT_LIMIT} bytes"))
        }
        Some(Json::String(text)) => serde_json::from_str(text)
            .map(Some)
            .map_err(|error| format!("the text at toFieldPath is not JSON: {error}")),
        Some(other) => Ok(Some(other.clone())),
    }
}

fn value(operation: &Operation, source: &Json) -> Result<Value, String> {
    match (&operation.value, &operation.from) {
        (Some(value), _) => Ok(Value::Written(value.clone())),
        (None, Some(from)) => {
            let found = from.find(source).map_err(|error| format!("{from} cannot be read: {error}"))?;
            let found = found.ok_or_else(|| format!("{from} not found in object"))?;
            match size(&found) > VALUE_LIMIT {
                true => Err(format!("the value of {from} is larger than {VALUE_LIMIT} bytes")),
                false => Ok(Value::Read(found.into_owned())),
            }
        }
        (None, None) => Err("an operation needs value or valueFrom".to_owned()),
    }
}

/// A value as it goes into a document. A value between quotes is a string; any other is a string where `quoted` asks
/// for one, and otherwise must be JSON.
fn encoded(value: Value, quoted: bool) -> Result<Json, String> {
    let text = match value {
        Value::Read(Json::String(text)) => return Ok(Json::String(text)),
        Value::Read(other) if quoted => return Ok(Json::String(other.to_string())),
        Value::Read(other) => return Ok(other),
        Value::Written(text) => text,
    };
    let plain = unescaped(&text);
    let inside = plain.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inside {
        Some(inside) => Ok(Json::String(inside.to_owned())),
        None if quoted => Ok(Json::String(plain.into_owned())),
        // A text whose backslashes belong to its own strings is JSON only as it was written.
        None => serde_json::from_str(&plain).or_else(|_| serde_json::from_str(&text)).map_err(|error| {
            format!(
                "the value {text:?} is not JSON ({error}); a string is written between quotes: '\"text\"'"
            )
        }),
    }
}

/// `\"` is a quote and `\\` a backslash: people escape what they write for a JSON text.
fn unescaped(text: &str) -> Cow<'_, str> {
    match text.contains('\\') {
        true => Cow::Owned(text.replace("\\\"", "\"").replace("\\\\", "\\")),
        false => Cow::Borrowed(text),
    }
}

/// Operations may change what an object says, not which object it is or whose.
pub(super) fn same_identity(before: &Json, after: &Json) -> Result<(), String> {
    let owners = |object: &Json| object.get("metadata").and_then(|m| m.get("ownerReferences")).cloned();
    if !after.is_object() || !after.get("metadata").is_some_and(Json::is_object) {
        return Err(format!("the object would become {}", type_name(after)));
    }
    match ObjectKey::of(before) == ObjectKey::of(after) && owners(before) == owners(after) {
        true => Ok(()),
        false => {
            Err("apiVersion, kind, name, namespace and owners of an object cannot be changed by data flow"
                .to_owned())
        }
    }
}
