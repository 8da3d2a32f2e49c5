//! JSON Merge Patch (RFC 7396): (target, patch) → patched object.
use serde_json::Value;

use super::Error;

/// Merges the patch into the target; `null` removes a field.
pub(crate) fn apply(target: &Value, patch: &Value) -> Result<Value, Error> {
    if !patch.is_object() {
        return Err(Error::bad_request("error decoding patch: a merge patch must be a JSON object"));
    }
    let mut out = target.clone();
    json_patch::merge(&mut out, patch);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_removes() {
        let out = apply(&json!({"a": {"b": 1, "c": 2}}), &json!({"a": {"b": null}})).unwrap();
        assert_eq!(out, json!({"a": {"c": 2}}));
        assert!(apply(&json!({}), &json!([1])).is_err());
    }
}
