//! Generates objects around a place of a schema: with everything, with only this, or with something wrong there.

use serde_json::{Map, Value, json};

use super::place::{Place, Step};
use super::schemas::Kind;

/// A field that no schema declares.
const UNKNOWN: &str = "vela-unknown";
/// The key of an entry of a map.
const KEY: &str = "key";

/// The objects, each with what is special about it.
pub(super) fn around(kind: &Kind, schema: &Value, place: &Place) -> Vec<(String, Value)> {
    let whole = |body: Value| {
        let mut object = body;
        object["apiVersion"] = format!("{}/{}", kind.group, kind.version).into();
        object["kind"] = kind.kind.clone().into();
        object["metadata"] = json!({ "name": "a", "namespace": "default" });
        object
    };
    let mut values = Vec::new();
    let Some(at) = schema_at(schema, &place.steps) else { return Vec::new() };
    values.push(("the least".to_owned(), Some(least(at))));
    values.push(("everything".to_owned(), Some(full(at))));
    values.extend(odd(at));
    if place.steps.is_empty() {
        // The root is an object in any case: only its fields can be wrong.
        values.retain(|(_, value)| value.as_ref().is_some_and(Value::is_object));
    } else {
        values.push(("absent".to_owned(), None));
    }
    values.into_iter().map(|(what, value)| (what, whole(with(schema, &place.steps, value)))).collect()
}

fn schema_at<'a>(schema: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    let mut at = schema;
    for step in steps {
        at = match step {
            Step::Field(name) => at.get("properties")?.get(name)?,
            Step::Item => at.get("items")?,
            Step::Entry => at.get("additionalProperties")?,
        };
    }
    Some(at)
}

/// The least value of a schema with a value at a place, or without one there.
fn with(schema: &Value, steps: &[Step], value: Option<Value>) -> Value {
    let Some((step, rest)) = steps.split_first() else { return value.unwrap_or(Value::Null) };
    let absent = rest.is_empty() && value.is_none();
    match step {
        Step::Field(name) => {
            let mut whole = least(schema);
            if let Some(map) = whole.as_object_mut() {
                if absent {
                    map.remove(name);
                } else {
                    map.insert(name.clone(), with(&schema["properties"][name.as_str()], rest, value));
                }
            }
            whole
        }
        Step::Item if absent => json!([]),
        Step::Item => json!([with(&schema["items"], rest, value)]),
        Step::Entry if absent => json!({}),
        Step::Entry => json!({ KEY: with(&schema["additionalProperties"], rest, value) }),
    }
}

fn required(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The smallest value that a schema accepts.
fn least(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let mut map = embedded(schema);
            for name in required(schema) {
                map.insert(name.to_owned(), least(&schema["properties"][name]));
            }
            Value::Object(map)
        }
        Some("array") => json!([]),
        Some("integer" | "number") => schema["minimum"].as_i64().unwrap_or(1).into(),
        Some("boolean") => true.into(),
        Some("string") => text(schema),
        _ => 1.into(),
    }
}

/// Everything that a schema declares.
fn full(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") => {
            let mut map = embedded(schema);
            for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                map.insert(name.clone(), full(inner));
            }
            if schema["additionalProperties"].is_object() {
                map.insert(KEY.to_owned(), full(&schema["additionalProperties"]));
            }
            if schema["x-kubernetes-preserve-unknown-fields"] == true {
                map.insert(UNKNOWN.to_owned(), json!({ "kept": [1, null, { "as": "it is" }] }));
            }
            Value::Object(map)
        }
        Some("array") => json!([full(&schema["items"])]),
        _ => least(schema),
    }
}

fn embedded(schema: &Value) -> Map<String, Value> {
    let mut map = Map::new();
    if schema["x-kubernetes-embedded-resource"] == true {
        map.insert("apiVersion".to_owned(), "v1".into());
        map.insert("kind".to_owned(), "ConfigMap".into());
        map.insert("metadata".to_owned(), json!({ "name": "b", "labels": { "x": "y" } }));
    }
    map
}

fn text(schema: &Value) -> Value {
    match schema["format"].as_str() {
        Some("date-time") => "2021-03-01T00:00:00Z".into(),
        Some("byte") => "YQ==".into(),
        _ => "a".into(),
    }
}

/// Values that are wrong, or right only just.
fn odd(schema: &Value) -> Vec<(String, Option<Value>)> {
    let mut values = vec![
        ("a text", json!("text")),
        ("an empty text", json!("")),
        ("a number as text", json!("7")),
        ("an integer", json!(7)),
        ("a negative integer", json!(-1)),
        ("zero", json!(0)),
        ("an integer beyond 32 bits", json!(4_294_967_296_i64)),
        ("a fraction", json!(1.5)),
        ("a flag", json!(true)),
        ("null", Value::Null),
        ("an empty object", json!({})),
        ("an empty list", json!([])),
        ("a list of an object", json!([{}])),
        ("a list of a text", json!(["text"])),
        ("a list of null", json!([null])),
    ];
    let mut least_and_more = least(schema);
    if let Some(map) = least_and_more.as_object_mut() {
        map.insert(UNKNOWN.to_owned(), json!({ "a": 1 }));
        values.push(("an unknown field", least_and_more));
        values.push(("a map of texts", json!({ KEY: "text" })));
        values.push(("a map of numbers", json!({ KEY: 1 })));
    }
    let mut values: Vec<_> = values.into_iter().map(|(what, value)| (what.to_owned(), Some(value))).collect();
    for one in schema["enum"].as_array().into_iter().flatten() {
        values.push((format!("the allowed {one}"), Some(one.clone())));
    }
    for name in required(schema) {
        let mut without = full(schema);
        if let Some(map) = without.as_object_mut() {
            map.remove(name);
        }
        values.push((format!("everything but {name}"), Some(without)));
    }
    if !schema["pattern"].is_null() {
        for one in ["a", "a-b", "a.b", "A", "1", "a_b", "a b", "http2", "é"] {
            values.push((format!("the text {one:?}"), Some(one.into())));
        }
    }
    values
}
