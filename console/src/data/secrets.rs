//! Takes what Secrets contain, and what repeats whole objects, out of an object before anybody sees it.

use serde_json::{Map, Value};
use vela_engine::field_path;

/// What stands in the place of a value.
const HIDDEN: &str = "(hidden)";
/// kubectl's copy of a whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The fields of a Secret that hold its content.
const CONTENTS: [&str; 2] = ["data", "stringData"];
/// Nothing deeper is shown.
const DEPTH_AT_MOST: usize = 64;

/// The object without what is confidential: values of Secrets wherever one is written, managed fields, copies of itself.
pub(crate) fn hide(object: &mut Value) {
    hide_as(object, &mut |_| HIDDEN.to_owned());
}

/// The same with a mask for each value: two objects are compared by masks that are alike where the values are.
pub(crate) fn hide_as(object: &mut Value, mask: &mut dyn FnMut(&Value) -> String) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    walk(object, mask, 0);
}

/// Masks that number the values that they hide: the same value has the same number.
pub(crate) fn numbered() -> impl FnMut(&Value) -> String {
    let mut seen: Vec<Value> = Vec::new();
    move |value| {
        let known = seen.iter().position(|one| one == value);
        let number = known.unwrap_or_else(|| {
            seen.push(value.clone());
            seen.len() - 1
        });
        format!("(hidden {})", number + 1)
    }
}

/// The field of a Secret whose value is a mask of this console: what was hidden must not be written in place of the value.
pub(crate) fn masked(value: &Value) -> Option<String> {
    fn is_mask(value: &Value) -> bool {
        value.as_str().is_some_and(|text| text.starts_with("(hidden") && text.ends_with(')'))
    }
    fn find(value: &Value, path: &mut String, depth: usize) -> bool {
        let length = path.len();
        if depth > DEPTH_AT_MOST {
            return false;
        }
        match value {
            Value::Object(fields) => {
                let is_secret = value["kind"] == "Secret";
                for (name, field) in fields {
                    field_path::push_field(path, name);
                    let is_content = is_secret && CONTENTS.contains(&name.as_str());
                    let is_found = match field {
                        Value::Object(values) if is_content => values.iter().any(|(key, value)| {
                            let found = is_mask(value);
                            if found {
                                field_path::push_field(path, key);
                            }
                            found
                        }),
                        field if is_content => is_mask(field),
                        field => find(field, path, depth + 1),
                    };
                    if is_found {
                        return true;
                    }
                    path.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    field_path::push_index(path, index);
                    if find(item, path, depth + 1) {
                        return true;
                    }
                    path.truncate(length);
                }
            }
            _ => {}
        }
        false
    }
    let mut path = String::new();
    find(value, &mut path, 0).then_some(path)
}

fn walk(value: &mut Value, mask: &mut dyn FnMut(&Value) -> String, depth: usize) {
    if depth > DEPTH_AT_MOST {
        *value = Value::from(HIDDEN);
        return;
    }
    match value {
        Value::Object(fields) => {
            if fields.get("kind").and_then(Value::as_str) == Some("Secret") {
                hide_values(fields, mask);
            }
            if let Some(annotations) = fields.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.remove(LAST_APPLIED);
            }
            fields.values_mut().for_each(|field| walk(field, mask, depth + 1));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, mask, depth + 1)),
        _ => {}
    }
}

fn hide_values(secret: &mut Map<String, Value>, mask: &mut dyn FnMut(&Value) -> String) {
    for name in CONTENTS {
        match secret.get_mut(name) {
            Some(Value::Object(values)) => {
                values.values_mut().for_each(|value| *value = Value::from(mask(value)));
            }
            Some(other) => *other = Value::from(mask(other)),
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
        let path = "spec.components[0].properties.objects[0].data.a";
        assert_eq!(masked(&object).as_deref(), Some(path));
    }

    #[test]
    fn equal_values_have_equal_masks() {
        let mut mask = numbered();
        let mut hidden = |secret: Value| {
            let mut object = json!({"kind": "Secret", "data": secret});
            hide_as(&mut object, &mut mask);
            object["data"].take()
        };
        assert_eq!(hidden(json!({"a": "x", "b": "y"})), json!({"a": "(hidden 1)", "b": "(hidden 2)"}));
        assert_eq!(hidden(json!({"a": "y"})), json!({"a": "(hidden 2)"}));
        assert_eq!(masked(&json!({"kind": "ConfigMap", "data": {"a": "(hidden 1)"}})), None);
    }
}
