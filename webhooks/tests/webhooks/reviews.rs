//! Bytes that are no review are refused with what is missing; paths have their judges.

use vela_webhooks::review::BYTES_AT_MOST;
use vela_webhooks::serve::Judge;
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
    assert_eq!(Judge::at("/validating-core-oam-dev-v1beta1-applications"), Some(Judge::Application));
    assert_eq!(Judge::at("/validating-core-oam-dev-v1alpha2-traitdefinitions"), Some(Judge::Definition));
    assert_eq!(Judge::at("/"), None);
}
