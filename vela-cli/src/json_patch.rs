//! Changes of objects in the form of RFC 6902.

use kube::api::Patch;
use serde_json::Value;

use crate::error::{Error, Result};

/// Operations of RFC 6902.
pub(crate) fn json_patch(operations: Vec<Value>) -> Result<Patch<Value>> {
    let operations = serde_json::from_value(Value::Array(operations))
        .map_err(|error| Error::internal(format!("the change cannot be written: {error}")))?;
    Ok(Patch::Json(operations))
}
