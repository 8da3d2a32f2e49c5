//! AdmissionReview in, AdmissionReview out: the envelope, which is the same for every judge.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::handler::Reply;

const VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

/// The question of an API server.
#[derive(Debug)]
pub struct AdmissionReview {
    version: String,
    uid: String,
    request: Value,
}

/// Bytes that are no review.
#[derive(Debug, thiserror::Error)]
pub enum AdmissionReviewError {
    /// No JSON.
    #[error("the review is no JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Another kind, or a version that is not known.
    #[error("{found:?} is not reviewed; expected an AdmissionReview of {}", VERSIONS.join(" or "))]
    Kind {
        /// Version and kind.
        found: String,
    },
    /// A part that every review has.
    #[error("the review has no {0}")]
    Missing(&'static str),
}

/// What is said about an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// It is admitted, with a patch or as it is.
    Admitted {
        /// A JSON patch.
        patch: Option<Value>,
        /// What its author should know.
        warnings: Vec<String>,
    },
    /// It is not; the Status that the author reads.
    Refused(Value),
}

impl AdmissionReview {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// It is no review.
    pub fn read(bytes: &[u8]) -> Result<Self, AdmissionReviewError> {
        let mut review: Value = serde_json::from_slice(bytes)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&review["apiVersion"]), text(&review["kind"]));
        if kind != "AdmissionReview" || !VERSIONS.contains(&version.as_str()) {
            return Err(AdmissionReviewError::Kind { found: format!("{version}/{kind}") });
        }
        let request = review["request"].take();
        let uid = text(&request["uid"]);
        if uid.is_empty() {
            return Err(AdmissionReviewError::Missing("request.uid"));
        }
        Ok(Self { version, uid, request })
    }

    /// The whole question.
    #[must_use]
    pub fn request(&self) -> &Value {
        &self.request
    }

    /// The object as it is to be.
    #[must_use]
    pub fn object(&self) -> &Value {
        &self.request["object"]
    }

    /// The answer.
    ///
    /// # Errors
    /// The patch cannot be written.
    pub fn reply(&self, admission: &Admission) -> Result<Reply, serde_json::Error> {
        let mut response = json!({"uid": self.uid, "allowed": true});
        match admission {
            Admission::Admitted { patch, warnings } => {
                if let Some(patch) = patch {
                    response["patchType"] = json!("JSONPatch");
                    response["patch"] = json!(ByteString(serde_json::to_vec(patch)?));
                }
                if !warnings.is_empty() {
                    response["warnings"] = json!(warnings);
                }
            }
            Admission::Refused(status) => {
                response["allowed"] = json!(false);
                response["status"] = status.clone();
            }
        }
        let body = json!({"apiVersion": self.version, "kind": "AdmissionReview", "response": response});
        Ok(Reply { status: 200, body })
    }
}
