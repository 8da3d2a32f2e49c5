//! JSON Patch (RFC 6902): (target, operations) → patched object.
use serde_json::Value;

use super::Error;

/// A patch with more operations is refused, as the API server does, so that one request cannot keep it busy.
const MAX_OPERATIONS: usize = 10_000;

/// Applies the operations in order; nothing is changed if one fails.
pub(crate) fn apply(target: &Value, patch: &Value) -> Result<Value, Error> {
    if let Some(list) = patch.as_array()
        && list.len() > MAX_OPERATIONS
    {
        return Err(Error::bad_request(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            list.len()
        )));
    }
    let operations: json_patch::Patch = serde_json::from_value(patch.clone())
        .map_err(|e| Error::bad_request(format!("error decoding patch: {e}")))?;
    let mut out = target.clone();
    json_patch::patch(&mut out, &operations).map_err(|e| {
        Error::unprocessable(format!("the server rejected our request due to an error in our request: {e}"))
    })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failing_test_leaves_an_unprocessable_error() {
        let target = json!({"a": 1});
        let error = apply(&target, &json!([{"op": "test", "path": "/a", "value": 2}])).unwrap_err();
        assert_eq!(error.kind, super::super::ErrorKind::Unprocessable);
        let out = apply(&target, &json!([{"op": "add", "path": "/b", "value": [1]}])).unwrap();
        assert_eq!(out, json!({"a": 1, "b": [1]}));
    }
}
