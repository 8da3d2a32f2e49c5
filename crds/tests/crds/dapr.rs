//! The schemas of dapr.io are those of Dapr's own CRDs, and the types read what passes them.

use std::fs;

use serde_json::{Value, json};
use vela_crds::dapr_io::{
    Component, Configuration, HttpEndpoint, McpServer, Resiliency, SubscriptionV1alpha1,
    SubscriptionV2alpha1, WorkflowAccessPolicy,
};

use super::yaml::schemas;

/// Everything of a schema but its texts, with lists of names in one order.
fn rules(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, value)| *name != "description" || !value.is_string())
            .map(|(name, value)| {
                let mut value = rules(value);
                if let ("required", Some(names)) = (name.as_str(), value.as_array_mut()) {
                    names.sort_by_key(ToString::to_string);
                }
                (name.clone(), value)
            })
            .collect(),
        Value::Array(items) => items.iter().map(rules).collect(),
        other => other.clone(),
    }
}

#[test]
fn dapr_schemas_are_those_of_dapr() {
    let folder = vela_testkit::cases::folder("conformance/dapr/crds");
    let mut theirs = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        theirs.push(serde_saphyr::from_str(&text).unwrap());
    }
    let ours = vela_crds::dapr_crds().unwrap().into_iter().map(|crd| serde_json::to_value(crd).unwrap());
    let (ours, theirs) = (schemas(ours), schemas(theirs));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (version, theirs) in theirs {
        let mut theirs = rules(&theirs);
        let properties = theirs["properties"].as_object_mut().unwrap();
        // An API server knows these of every kind.
        for known in ["apiVersion", "kind", "metadata"] {
            properties.remove(known);
        }
        let ours = rules(&ours[&version]);
        let (ours, theirs) = [ours, theirs].map(|rules| serde_json::to_string_pretty(&rules).unwrap()).into();
        assert!(ours == theirs, "{version:?}\n{}", similar(&ours, &theirs));
    }
}

/// The lines that only one of two texts has.
fn similar(ours: &str, theirs: &str) -> String {
    let missing =
        theirs.lines().filter(|line| !ours.lines().any(|other| other == *line)).map(|l| format!("+{l}"));
    let extra =
        ours.lines().filter(|line| !theirs.lines().any(|other| other == *line)).map(|l| format!("-{l}"));
    missing.chain(extra).collect::<Vec<_>>().join("\n")
}

/// An object as its type writes it again.
fn again(object: &Value) -> Value {
    fn through<T: serde::de::DeserializeOwned + serde::Serialize>(object: &Value) -> Value {
        serde_json::to_value(serde_json::from_value::<T>(object.clone()).unwrap()).unwrap()
    }
    match (object["kind"].as_str().unwrap(), object["apiVersion"].as_str().unwrap()) {
        ("Component", _) => through::<Component>(object),
        ("Configuration", _) => through::<Configuration>(object),
        ("Subscription", "dapr.io/v1alpha1") => through::<SubscriptionV1alpha1>(object),
        ("Subscription", _) => through::<SubscriptionV2alpha1>(object),
        ("Resiliency", _) => through::<Resiliency>(object),
        ("HTTPEndpoint", _) => through::<HttpEndpoint>(object),
        ("MCPServer", _) => through::<McpServer>(object),
        ("WorkflowAccessPolicy", _) => through::<WorkflowAccessPolicy>(object),
        other => panic!("{other:?} has no type"),
    }
}

/// An empty list that may be left out is left out.
fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), without_empty(value)))
            .filter(|(name, value)| name == "metadata" || *value != json!([]))
            .collect(),
        Value::Array(items) => items.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}

#[test]
fn dapr_types_read_everything_that_was_stored() {
    let folder = vela_testkit::cases::folder("conformance/dapr");
    let text = fs::read_to_string(folder.join("schemas.jsonl")).unwrap();
    let mut read = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["accepted"] != true {
            continue;
        }
        let mut object = case["stored"].clone();
        for name in ["apiVersion", "kind"] {
            object[name] = case["object"][name].clone();
        }
        let mut expected = case["stored"].clone();
        for name in ["apiVersion", "kind", "metadata"] {
            expected.as_object_mut().unwrap().remove(name);
        }
        assert_eq!(without_empty(&again(&object)), without_empty(&expected), "{}", case["note"]);
        read += 1;
    }
    assert!(read > 30, "only {read} objects were stored");
}
