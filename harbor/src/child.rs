//! One child on its way to the API server and back: its form, and what an error means for those that wait for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_runtime::graph::Cause;
use vela_runtime::{apply, dynamic_watch};

use crate::parts::{Id, Node};
use crate::status::ChildError;

/// A live object as a value with its kind, which lists leave out.
pub(crate) fn value(id: &Id, object: &DynamicObject) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(object)?;
    value["apiVersion"] = json!(id.api_version);
    value["kind"] = json!(id.kind);
    Ok(value)
}

/// Texts of a Secret as they are stored, so that what is stored can be compared.
pub(crate) fn encode(object: &mut Value) {
    let Some(texts) = object.as_object_mut().and_then(|object| object.remove("stringData")) else { return };
    for (key, text) in texts.as_object().into_iter().flatten() {
        object["data"][key] = json!(STANDARD.encode(text.as_str().unwrap_or_default()));
    }
}

/// A mistake in what was built or read.
pub(crate) fn malformed(id: &Id, error: &serde_json::Error) -> Cause<ChildError> {
    Cause::Unrecoverable(ChildError::Malformed { name: id.to_string(), message: error.to_string() })
}

/// Why a child could not be read.
pub(crate) fn unread(node: &Node, error: dynamic_watch::Error) -> Cause<ChildError> {
    if let (dynamic_watch::Error::Missing { again, .. }, Some(remedy)) = (&error, node.remedy) {
        let error = ChildError::NotServed { kind: node.id.group_kind(), remedy };
        return match again {
            Some(after) => Cause::Later { after: Some(*after), error },
            None => Cause::NotReady(error),
        };
    }
    match &error {
        dynamic_watch::Error::Missing { again, .. } => match *again {
            Some(after) => Cause::Later { after: Some(after), error: error.into() },
            // Its CRD wakes the object.
            None => Cause::NotReady(error.into()),
        },
        _ => Cause::later(error.into()),
    }
}

/// Why a child could not be written.
pub(crate) fn child_cause(error: apply::Error) -> Cause<ChildError> {
    match Cause::from(error) {
        Cause::Later { after, error } => Cause::Later { after, error: error.into() },
        Cause::Unrecoverable(error) => Cause::Unrecoverable(error.into()),
        Cause::NotReady(error) => Cause::NotReady(error.into()),
        Cause::Panicked(said) => Cause::Panicked(said),
    }
}
