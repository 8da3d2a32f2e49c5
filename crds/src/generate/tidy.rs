//! Removes from a derived schema what serde knows and an API server must not be told.

use serde_json::Value;

/// Texts whose `null` is a value of its own: a step without a mode, a workflow without an end.
const NULLABLE: &[&str] = &["mode", "endTime"];
/// Fields that the API server fills in; every other default is only how the types read what is absent.
const DEFAULTED: &[&str] = &["required", "type", "namespace", "deleteResource", "protocol"];

/// Takes `nullable` and `default` out, but where they are meant: a null then counts as absent and is not stored,
/// and what is absent stays so, as the other writers of these kinds expect.
pub(super) fn tidy(schema: &mut Value) {
    visit("", schema);
}

/// `name` is the property that holds the schema.
fn visit(name: &str, schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    let text = map.get("type").is_some_and(|kind| kind == "string");
    if !(text && NULLABLE.contains(&name)) {
        map.remove("nullable");
    }
    if !DEFAULTED.contains(&name) {
        map.remove("default");
    }
    for part in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(part) {
            visit("", inner);
        }
    }
    for (name, inner) in map.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        visit(name, inner);
    }
}

/// Takes the texts out: they stand with the kind itself.
pub(super) fn without_texts(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    map.remove("description");
    map.remove("title");
    for part in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(part) {
            without_texts(inner);
        }
    }
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flatten().for_each(|(_, inner)| without_texts(inner));
}
