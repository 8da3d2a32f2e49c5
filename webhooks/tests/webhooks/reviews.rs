//! Bytes that are no review are refused with what is missing; paths have their judges.

use vela_webhooks::paths::{Action, Path, Subject};
use vela_webhooks::review::BYTES_AT_MOST;
use vela_webhooks::{Operation, Review};

fn error(bytes: &[u8]) -> String {
    Review::read(bytes).unwrap_err().to_string()
}

#[test]
fn bytes_that_are_no_review() {
    assert!(error(b"{").starts_with("the review is not JSON"));
    assert_eq!(error(b"{}"), "the review has no kind AdmissionReview");
    let text =
        r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"operation":"DANCE"}}"#;
    assert!(error(text.as_bytes()).contains("DANCE"));
    assert_eq!(error(text.replace("DANCE", "CREATE").as_bytes()), "the review has no request.uid");
    let long = vec![b' '; BYTES_AT_MOST + 1];
    assert!(error(&long).contains("at most"));
}

#[test]
fn old_reviews_are_answered_in_their_version() {
    let text = r#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{"uid":"1","operation":"DELETE"}}"#;
    let review = Review::read(text.as_bytes()).unwrap();
    assert_eq!(review.operation, Operation::Delete);
    let reply = vela_webhooks::Verdict::allowed().reply(&review);
    assert_eq!(reply["apiVersion"], "admission.k8s.io/v1beta1");
    assert_eq!(reply["response"]["allowed"], true);
}

#[test]
fn paths_have_their_judges() {
    let at = |path: &str| Path::at(path).map(|entry| (entry.subject, entry.action));
    for path in
        ["/validating-core-oam-dev-v1beta1-applications", "/validating-core-oam-dev-v1alpha2-applications"]
    {
        assert_eq!(at(path), Some((Subject::Application, Action::Validate)));
    }
    let path = "/validating-core-oam-dev-v1alpha2-traitdefinitions";
    assert_eq!(at(path), Some((Subject::Definition, Action::Validate)));
    assert_eq!(at("/"), None);
}

#[test]
fn each_path_stands_once() {
    let mut paths: Vec<&str> = vela_webhooks::paths::PATHS.iter().map(|entry| entry.path).collect();
    let all = paths.len();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), all);
}

fn bytes(request: &str) -> Vec<u8> {
    format!(r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{request}}}"#)
        .into_bytes()
}

#[test]
fn missing_parts_and_wrong_versions_are_told() {
    for (request, words) in [
        ("null", "the review has no request"),
        ("[]", "the review has no request"),
        ("{}", "request.operation"),
        (r#"{"operation":"CREATE","uid":""}"#, "request.uid"),
        (r#"{"operation":"CREATE","uid":null}"#, "request.uid"),
        (r#"{"operation":"CREATE","uid":"1"}"#, "request.object"),
        (r#"{"operation":"CREATE","uid":"1","object":null}"#, "request.object"),
        (r#"{"operation":"UPDATE","uid":"1","object":[]}"#, "request.object"),
        (r#"{"operation":"UPDATE","uid":"1","object":{},"oldObject":3}"#, "request.oldObject"),
    ] {
        assert!(error(&bytes(request)).contains(words), "{request}: {}", error(&bytes(request)));
    }
    let wrong = String::from_utf8(bytes("{}")).unwrap().replace("io/v1", "io/v2");
    assert!(error(wrong.as_bytes()).contains("\"admission.k8s.io/v2\""), "{}", error(wrong.as_bytes()));
    assert!(error(b"null").contains("kind AdmissionReview"));
    assert!(error(b"\xff").starts_with("the review is not JSON"));
}

/// A reader without a limit would use up its stack.
#[test]
fn a_depth_bomb_is_an_error() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let bomb = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
        let request = format!(r#"{{"uid":"1","operation":"CREATE","object":{bomb}}}"#);
        assert!(error(&bytes(&request)).contains("recursion limit"), "{}", error(&bytes(&request)));
    }
}

#[test]
fn an_object_of_three_mebibytes_is_read() {
    let text = "x".repeat(3 * 1024 * 1024);
    let object = format!(r#"{{"data":"{text}"}}"#);
    let request = format!(r#"{{"uid":"1","operation":"UPDATE","object":{object},"oldObject":{object}}}"#);
    assert!(Review::read(&bytes(&request)).is_ok());
}
