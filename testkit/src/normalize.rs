//! Reduces Kubernetes objects to the part that two runs must agree on.

use serde_json::Value;

/// Metadata that every run makes anew.
const VOLATILE_METADATA: [&str; 6] =
    ["uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"];

/// Removes uids, times, resource versions, managed fields and last-applied annotations, at every depth.
pub fn normalize(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
                for key in VOLATILE_METADATA {
                    metadata.remove(key);
                }
                if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
                    annotations.retain(|key, _| !key.ends_with("/last-applied-configuration"));
                }
            }
            for key in
                ["lastTransitionTime", "lastUpdateTime", "lastProbeTime", "startTime", "completionTime"]
            {
                map.remove(key);
            }
            map.remove("uid");
            map.values_mut().for_each(normalize);
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        _ => {}
    }
}

/// Whether two values are the same: maps unordered, numbers by value.
#[must_use]
pub fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            x == y
                || match (x.as_i64(), y.as_i64()) {
                    (Some(i), Some(j)) => i == j,
                    _ => x.as_f64() == y.as_f64(),
                }
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, a)| y.get(k).is_some_and(|b| same_value(a, b)))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_between_runs_is_removed_and_nothing_else() {
        let mut object = json!({
            "metadata": {"name": "a", "uid": "1", "annotations": {"x/last-applied-configuration": "{}", "keep": "1"}},
            "status": {"conditions": [{"type": "Ready", "lastTransitionTime": "now"}]},
        });
        normalize(&mut object);
        assert_eq!(
            object,
            json!({"metadata": {"name": "a", "annotations": {"keep": "1"}}, "status": {"conditions": [{"type": "Ready"}]}})
        );
    }

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(same_value(&json!({"a": [1.0]}), &json!({"a": [1]})));
        assert!(!same_value(&json!({"a": 1}), &json!({"a": "1"})));
        assert!(!same_value(&json!({"a": 9007199254740993i64}), &json!({"a": 9007199254740992i64})));
    }
}
