//! Takes what Secrets contain, and what repeats whole objects, out of an object before anybody sees it.

use serde_json::{Map, Value};

/// What stands in the place of a value.
const HIDDEN: &str = "(hidden)";
/// kubectl's copy of a whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Nothing deeper is shown.
const DEPTH_AT_MOST: usize = 64;

/// The object without what is confidential: values of Secrets wherever one is written, managed fields, copies of itself.
pub(crate) fn hide(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    walk(object, 0);
}

fn walk(value: &mut Value, depth: usize) {
    if depth > DEPTH_AT_MOST {
        *value = Value::from(HIDDEN);
        return;
    }
    match value {
        Value::Object(fields) => {
            if fields.get("kind").and_then(Value::as_str) == Some("Secret") {
                hide_values(fields);
            }
            if let Some(annotations) = fields.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.remove(LAST_APPLIED);
            }
            fields.values_mut().for_each(|field| walk(field, depth + 1));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, depth + 1)),
        _ => {}
    }
}

fn hide_values(secret: &mut Map<String, Value>) {
    for name in ["data", "stringData"] {
        match secret.get_mut(name) {
            Some(Value::Object(values)) => {
                values.values_mut().for_each(|value| *value = Value::from(HIDDEN));
            }
            Some(other) => *other = Value::from(HIDDEN),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_secrets_are_hidden_wherever_one_is_written() {
        let secret = json!({"kind": "Secret", "data": {"a": "c2VjcmV0"}, "stringData": {"b": "secret"}});
        let mut object = json!({
            "metadata": {"managedFields": [1], "annotations": {LAST_APPLIED: "secret", "b": "c"}},
            "spec": {"components": [{"properties": {"objects": [secret]}}]},
        });
        hide(&mut object);
        let text = object.to_string();
        assert!(
            !text.contains("secret") && !text.contains("c2Vj") && !text.contains("managedFields"),
            "{text}"
        );
        assert_eq!(object["spec"]["components"][0]["properties"]["objects"][0]["data"]["a"], HIDDEN);
        assert_eq!(object["metadata"]["annotations"]["b"], "c");
    }
}
