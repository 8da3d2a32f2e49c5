//! Every recorded review of another operator's webhooks: the same verdict, with the same fields and messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use vela_harbor::admission::{admit, mutate_path, validate_path};
use vela_harbor::validation;

use super::stage::split;

const DEFAULTING: &str = "harborcluster-default-drops-others";

fn cases() -> Vec<Value> {
    split(&vela_testkit::cases::folder("conformance/harbor").join("webhooks/validation.yaml"))
}

fn response(path: &str, case: &Value) -> Value {
    let request = json!({
        "uid": "u", "operation": case["operation"], "object": case["object"], "oldObject": case["oldObject"],
    });
    let review =
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request });
    let reply = admit(path, &serde_json::to_vec(&review).unwrap()).unwrap();
    assert_eq!((reply.status, &reply.body["response"]["uid"]), (200, &json!("u")));
    reply.body["response"].clone()
}

/// Without the value: the recorded ones are Go structures with addresses, ours print the value as it was written.
fn without_value(message: &Value) -> String {
    let message = message.as_str().unwrap();
    let Some(rest) = message.strip_prefix("Invalid value: ") else { return message.to_owned() };
    let recorded = rest.rsplit_once("}: ").map(|(_, detail)| detail);
    let (_, ours) = rest.split_once(": ").unwrap();
    format!("Invalid value: {}", recorded.unwrap_or(ours).split(';').next().unwrap())
}

fn causes(causes: &Value) -> Vec<(Value, Value, String)> {
    let list = causes.as_array().map(Vec::as_slice).unwrap_or_default();
    let one =
        |cause: &Value| (cause["reason"].clone(), cause["field"].clone(), without_value(&cause["message"]));
    list.iter().map(one).collect()
}

#[test]
fn recorded_reviews_have_the_same_verdicts() {
    let mut judged = 0;
    for case in cases().iter().filter(|case| case["case"] != DEFAULTING) {
        let name = case["case"].as_str().unwrap();
        let kind = case["object"]["kind"].as_str().unwrap();
        let response = response(&validate_path(kind), case);
        let status = &response["status"];
        assert_eq!(response["allowed"], case["allowed"], "{name}: {status}");
        assert_eq!(causes(&status["details"]["causes"]), causes(&case["causes"]), "{name}");
        if case["allowed"] == false {
            assert_eq!(status["code"], case["code"], "{name}");
            let (said, recorded) = (status["message"].as_str().unwrap(), case["message"].as_str().unwrap());
            let title = recorded.split(" is invalid: ").next().unwrap();
            assert!(said.starts_with(&format!("{title} is invalid: ")), "{name}: {said}");
            if !recorded.contains("v1beta1.") {
                assert_eq!(said, recorded, "{name}");
            }
        }
        judged += 1;
    }
    assert_eq!(judged, 45);
}

#[test]
fn defaulting_drops_what_the_kinds_do_not_use() {
    let cases = cases();
    let case = cases.iter().find(|case| case["case"] == DEFAULTING).unwrap();
    let response = response(&mutate_path("HarborCluster"), case);
    assert_eq!(response["patchType"], "JSONPatch");
    let patch = STANDARD.decode(response["patch"].as_str().unwrap()).unwrap();
    let patch: Vec<Value> = serde_json::from_slice(&patch).unwrap();
    let mut removed: Vec<_> = patch.iter().map(|change| change["path"].clone()).collect();
    removed.sort_by_key(ToString::to_string);
    assert_eq!(json!(removed), case["patchPathsRemoved"]);
    assert!(patch.iter().all(|change| change["op"] == "remove"), "{patch:?}");
}

#[test]
fn a_deletion_is_never_refused() {
    let mut case = cases().into_iter().find(|case| case["case"] == "harbor-two-storages").unwrap();
    case["object"]["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(response(&validate_path("Harbor"), &case)["allowed"], true);
    case["oldObject"] = case["object"].take();
    assert_eq!(response(&validate_path("Harbor"), &case)["allowed"], true);
}

#[test]
fn what_is_no_review_is_answered_with_its_reason() {
    for bytes in [&b""[..], b"[]", b"null", b"\"x\"", b"{\"kind\":\"AdmissionReview\"}"] {
        let reply = admit(&validate_path("Harbor"), bytes).unwrap();
        assert_eq!(reply.status, 400, "{reply:?}");
        assert!(reply.body["message"].as_str().unwrap().contains("review"), "{reply:?}");
    }
    assert!(admit("/validate-goharbor-io-v1beta1-portal", b"{}").is_none());
}

#[test]
fn objects_that_stand_are_judged_without_a_former_release() {
    for case in cases().iter().filter(|case| case["operation"] == "CREATE") {
        let name = case["case"].as_str().unwrap();
        let wrong = validation::standing(&case["object"]);
        // An older release may stand, and nothing that was created is another kind than before.
        let expected = match name {
            "harbor-version-2.4.2-create" => true,
            _ => case["allowed"] == true,
        };
        assert_eq!(wrong.is_empty(), expected, "{name}: {wrong:?}");
    }
}
