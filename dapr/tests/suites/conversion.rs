//! Conversions of Dapr's own operator, recorded; and what is better here: nothing is lost on the way through v1alpha1.

use std::fs;

use serde_json::{Value, json};
use vela_crds::dapr_io::convert_subscription;
use vela_dapr::convert;

use super::lists::plain;

fn cases() -> Vec<Value> {
    let folder = vela_testkit::cases::folder("conformance/dapr").join("conversion");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()).collect()
}

fn review(case: &Value) -> (u16, Value) {
    let body = match case["rawBody"].as_str() {
        Some(raw) => raw.as_bytes().to_vec(),
        None => serde_json::to_vec(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
            "request": {"uid": case["uid"], "desiredAPIVersion": case["desiredAPIVersion"], "objects": case["objects"]},
        }))
        .unwrap(),
    };
    let reply = convert(&body);
    (reply.status, reply.body["response"].clone())
}

/// Without the note of the rules, which Dapr's operator does not make.
fn without_rules(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut()
        && let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut)
    {
        annotations.remove("dapr.io/v2alpha1-routing-rules");
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    object
}

#[test]
fn recorded_reviews_are_answered_the_same_way() {
    let mut compared = 0;
    for case in cases().iter().filter(|case| case["via"] == "webhook") {
        let name = case["case"].as_str().unwrap();
        let (status, response) = review(case);
        assert_eq!(json!(status), case["http"], "{name}: {response}");
        compared += 1;
        if status != 200 {
            continue;
        }
        assert_eq!(response["uid"], case["uid"], "{name}");
        // Better here: what is of that version already is not refused.
        let expected =
            if name == "same-version" { json!("Success") } else { case["result"]["status"].clone() };
        assert_eq!(response["result"]["status"], expected, "{name}: {response}");
        if case["convertedObjects"].is_array() {
            let found: Vec<Value> = response["convertedObjects"].as_array().unwrap().clone();
            let found: Vec<Value> = found.into_iter().map(without_rules).map(|one| plain(&one)).collect();
            let expected: Vec<Value> =
                case["convertedObjects"].as_array().unwrap().iter().map(plain).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
    assert!(compared >= 12, "{compared}");
}

#[test]
fn rules_survive_a_change_through_v1alpha1() {
    let rules = json!([{"match": "event.type == \"a\"", "path": "/a"}, {"match": "", "path": "/b"}]);
    for default in [json!("/all"), json!(null)] {
        let mut routes = json!({"rules": rules});
        if !default.is_null() {
            routes["default"] = default.clone();
        }
        let stored = json!({
            "apiVersion": "dapr.io/v2alpha1", "kind": "Subscription",
            "metadata": {"name": "s", "namespace": "n", "annotations": {"mine": "1"}},
            "spec": {"pubsubname": "b", "topic": "t", "routes": routes}, "scopes": ["x"],
        });
        let mut old = convert_subscription(stored.clone(), "dapr.io/v1alpha1").unwrap();
        assert_eq!(old["spec"]["route"], default.as_str().unwrap_or_default());
        assert_eq!(convert_subscription(old.clone(), "dapr.io/v2alpha1").unwrap(), stored);
        old["spec"]["topic"] = json!("other");
        old["spec"]["route"] = json!("/changed");
        let back = convert_subscription(old, "dapr.io/v2alpha1").unwrap();
        assert_eq!(back["spec"]["topic"], "other");
        assert_eq!(back["spec"]["routes"], json!({"rules": rules, "default": "/changed"}));
        assert_eq!(back["metadata"], stored["metadata"]);
    }
}

#[test]
fn a_broken_note_is_named_with_the_way_out() {
    let old = json!({
        "apiVersion": "dapr.io/v1alpha1", "kind": "Subscription",
        "metadata": {"name": "s", "annotations": {"dapr.io/v2alpha1-routing-rules": "none"}},
        "spec": {"pubsubname": "b", "topic": "t", "route": "/"},
    });
    let error = convert_subscription(old, "dapr.io/v2alpha1").unwrap_err().to_string();
    assert!(error.contains("dapr.io/v2alpha1-routing-rules") && error.contains("remove it"), "{error}");
}
