//! Pod templates → pods, and which labels select which pods.
use serde_json::{Map, Value, json};

use super::object::{name, namespace, owner_reference};

/// More pods than this are not created or deleted in one step; the events of the first ones bring the next step.
pub(super) const MAX_PODS_A_STEP: usize = 200;

/// A pod made from the template of a workload, without a name.
pub(super) fn pod(owner: &Value, api_version: &str, kind: &str, template: &Value) -> Value {
    let empty = || Value::Object(Map::new());
    let labels = template.pointer("/metadata/labels").cloned().unwrap_or_else(empty);
    let mut metadata = json!({
        "generateName": format!("{}-", name(owner)),
        "namespace": namespace(owner),
        "labels": labels,
        "ownerReferences": owner_reference(api_version, kind, owner),
    });
    for field in ["annotations", "finalizers"] {
        if let (Some(value), Some(map)) =
            (template.pointer(&format!("/metadata/{field}")), metadata.as_object_mut())
        {
            map.insert(field.to_owned(), value.clone());
        }
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template.get("spec").cloned().unwrap_or_else(empty),
    })
}

/// Whether a label selector (matchLabels, matchExpressions) selects these labels; an empty one selects everything.
pub(super) fn selects(selector: &Value, labels: Option<&Value>) -> bool {
    let value_of = |key: &str| labels.and_then(|l| l.get(key)).and_then(Value::as_str);
    let exact = selector.get("matchLabels").and_then(Value::as_object);
    if !exact.into_iter().flatten().all(|(k, v)| value_of(k) == v.as_str()) {
        return false;
    }
    let rules = selector.get("matchExpressions").and_then(Value::as_array);
    rules.into_iter().flatten().all(|rule| {
        let found = value_of(rule.get("key").and_then(Value::as_str).unwrap_or_default());
        let among = || {
            let values = rule.get("values").and_then(Value::as_array);
            values.into_iter().flatten().any(|v| v.as_str() == found && found.is_some())
        };
        match rule.get("operator").and_then(Value::as_str) {
            Some("In") => among(),
            Some("NotIn") => !among(),
            Some("Exists") => found.is_some(),
            Some("DoesNotExist") => found.is_none(),
            _ => false,
        }
    })
}

/// `25%` or a number, of a total.
pub(super) fn share(value: Option<&Value>, total: i64, round_up: bool) -> i64 {
    match value {
        Some(Value::Number(n)) => n.as_i64().unwrap_or_default(),
        Some(Value::String(text)) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or_default();
            let exact = percent.saturating_mul(total);
            if round_up { exact.saturating_add(99) / 100 } else { exact / 100 }
        }
        _ => 0,
    }
}
