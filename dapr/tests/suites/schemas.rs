//! Objects of dapr.io that a real API server accepted or refused, at the embedded one with our CRDs.

use std::fs;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use vela_apiserver::ApiServer;
use vela_embedded::send;

const SPACE: &str = "default";

fn server() -> ApiServer {
    let server = ApiServer::builder().build().unwrap();
    for crd in vela_crds::dapr_crds().unwrap() {
        let crd = serde_json::to_value(crd).unwrap();
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (code, answer) = send(&server, Method::POST, path, Some(&crd));
        assert_eq!(code, StatusCode::CREATED, "{answer}");
        let established = answer["status"]["conditions"].as_array();
        assert!(
            established.is_some_and(|all| all.iter().any(|one| one["type"] == "Established")),
            "{answer}"
        );
    }
    server
}

fn resource(kind: &str) -> String {
    let crds = vela_crds::dapr_crds().unwrap();
    let crd = crds.iter().find(|crd| crd.spec.names.kind == kind).unwrap();
    crd.spec.names.plural.clone()
}

/// What is stored of an object beside its type and metadata.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    for name in ["apiVersion", "kind", "metadata"] {
        content.as_object_mut().unwrap().remove(name);
    }
    content
}

fn causes(causes: &Value) -> Vec<String> {
    let causes = causes.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut causes: Vec<String> =
        causes.iter().map(|cause| format!("{} {}", cause["reason"], cause["field"])).collect();
    causes.sort();
    causes
}

/// Why a case differs from the recording, or nothing.
fn difference(server: &ApiServer, case: &Value) -> Option<String> {
    let object = &case["object"];
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let mut path = format!("/apis/{version}/namespaces/{SPACE}/{}", resource(kind));
    if case["fieldValidation"] == "Strict" {
        path.push_str("?fieldValidation=Strict");
    }
    let (code, answer) = send(server, Method::POST, &path, Some(object));
    if case["accepted"] == true {
        let mut expected = case["stored"].clone();
        // What the conversion of Dapr adds to the older version, in which nothing is stored, and no schema.
        if version == "dapr.io/v1alpha1" && kind == "Subscription" {
            let fields = expected.as_object_mut()?;
            let spec = fields.get_mut("spec")?.as_object_mut()?;
            spec.retain(|name, value| name != "bulkSubscribe" || *value != json!({"enabled": false}));
            if object["spec"].is_null() && spec.values().all(|value| value == "") {
                fields.remove("spec");
            }
        }
        let same = code == StatusCode::CREATED && content(&answer) == expected;
        return (!same).then(|| format!("{code}: {answer}, expected {expected}"));
    }
    let found = (u64::from(code.as_u16()), &answer["reason"], causes(&answer["details"]["causes"]));
    let expected = (case["code"].as_u64()?, &case["reason"], causes(&case["causes"]));
    (found != expected)
        .then(|| format!("{found:?}: {}, expected {expected:?}: {}", answer["message"], case["message"]))
}

#[test]
fn dapr_objects_are_accepted_and_refused_as_recorded() {
    let server = server();
    let file = vela_testkit::cases::folder("conformance/dapr").join("schemas.jsonl");
    let text = fs::read_to_string(file).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        count += 1;
        if let Some(difference) = difference(&server, &case) {
            wrong.push(format!("{} ({}): {difference}", case["note"], case["object"]["metadata"]["name"]));
        }
    }
    assert!(count >= 77, "only {count} cases");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
