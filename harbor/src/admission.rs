//! AdmissionReview in, verdict or patch out: what the API server asks about objects of goharbor.io. Pure.

use vela_runtime::webhook::{Admission, AdmissionReview, Reply};

use crate::validation;

/// Kinds whose objects are judged, with their names in paths.
pub(crate) const VALIDATED: [(&str, &str); 4] = [
    ("Harbor", "harbors"),
    ("HarborCluster", "harborclusters"),
    ("JobService", "jobservices"),
    ("Registry", "registries"),
];
/// Kinds whose objects are completed.
pub(crate) const DEFAULTED: [(&str, &str); 1] = [("HarborCluster", "harborclusters")];

/// Where the API server asks whether an object of a kind is right.
#[must_use]
pub fn validate_path(kind: &str) -> String {
    format!("/validate-goharbor-io-v1beta1-{}", kind.to_lowercase())
}

/// Where it asks how an object of a kind is completed.
#[must_use]
pub fn mutate_path(kind: &str) -> String {
    format!("/mutate-goharbor-io-v1beta1-{}", kind.to_lowercase())
}

/// What to answer to these bytes at this path; nothing where it is none of ours.
#[must_use]
pub fn admit(path: &str, bytes: &[u8]) -> Option<Reply> {
    let validates = VALIDATED.iter().any(|(kind, _)| validate_path(kind) == path);
    if !validates && !DEFAULTED.iter().any(|(kind, _)| mutate_path(kind) == path) {
        return None;
    }
    let review = match AdmissionReview::read(bytes) {
        Ok(review) => review,
        Err(error) => return Some(Reply::failure(400, error.to_string())),
    };
    let admission = if validates { judge(&review) } else { complete(&review) };
    Some(review.reply(&admission).unwrap_or_else(|error| Reply::failure(500, error.to_string())))
}

fn judge(review: &AdmissionReview) -> Admission {
    let (request, object) = (review.request(), review.object());
    let old = Some(&request["oldObject"]).filter(|old| old.is_object());
    // An object that is being deleted has to lose its finalizers, whatever else it is; a deletion has no object.
    let leaves = !object.is_object() || !object["metadata"]["deletionTimestamp"].is_null();
    let found = if leaves { Vec::new() } else { validation::validate(object, old) };
    if found.is_empty() {
        return Admission::Admitted { patch: None, warnings: Vec::new() };
    }
    Admission::Refused(validation::refusal(object, &found))
}

fn complete(review: &AdmissionReview) -> Admission {
    let patch = validation::cluster_defaults(review.object());
    Admission::Admitted { patch: (!patch.is_empty()).then(|| patch.into()), warnings: Vec::new() }
}
