//! AdmissionReview in, AdmissionReview out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use json_patch::Patch;
use serde_json::{Value, json};
use vela_runtime::webhook::Reply;

const VERSIONS: [&str; 2] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

/// The question of an API server.
#[derive(Debug)]
pub(crate) struct Review {
    version: String,
    uid: String,
    request: Value,
}

/// Bytes that are no review.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReviewError {
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

/// What is said about a pod.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It is admitted, with a patch or as it is.
    Admitted {
        /// What is added.
        patch: Option<Patch>,
        /// What its author should know.
        warnings: Vec<String>,
    },
    /// It is not.
    Refused(String),
}

impl Review {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, ReviewError> {
        let mut review: Value = serde_json::from_slice(bytes)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&review["apiVersion"]), text(&review["kind"]));
        if kind != "AdmissionReview" || !VERSIONS.contains(&version.as_str()) {
            return Err(ReviewError::Kind { found: format!("{version}/{kind}") });
        }
        let request = review["request"].take();
        let uid = text(&request["uid"]);
        if uid.is_empty() {
            return Err(ReviewError::Missing("request.uid"));
        }
        Ok(Self { version, uid, request })
    }

    pub(crate) fn is_pod(&self) -> bool {
        let kind = &self.request["kind"];
        kind["kind"] == "Pod" && kind["group"].as_str().unwrap_or_default().is_empty()
    }

    pub(crate) fn object(&self) -> &Value {
        &self.request["object"]
    }

    pub(crate) fn namespace(&self) -> &str {
        self.request["namespace"].as_str().unwrap_or_default()
    }

    pub(crate) fn user(&self) -> &Value {
        &self.request["userInfo"]
    }

    /// The name, or the beginning of the one that it gets.
    pub(crate) fn name(&self) -> &str {
        let metadata = &self.object()["metadata"];
        metadata["name"].as_str().or(metadata["generateName"].as_str()).unwrap_or_default()
    }

    /// # Errors
    /// The patch cannot be written.
    pub(crate) fn reply(&self, answer: &Answer) -> Result<Reply, serde_json::Error> {
        let mut response = json!({"uid": self.uid, "allowed": true});
        match answer {
            Answer::Admitted { patch, warnings } => {
                if let Some(patch) = patch {
                    response["patchType"] = json!("JSONPatch");
                    response["patch"] = json!(STANDARD.encode(serde_json::to_vec(patch)?));
                }
                if !warnings.is_empty() {
                    response["warnings"] = json!(warnings);
                }
            }
            Answer::Refused(message) => {
                response["allowed"] = json!(false);
                response["status"] = json!({"metadata": {}, "message": message});
            }
        }
        let body = json!({"apiVersion": self.version, "kind": "AdmissionReview", "response": response});
        Ok(Reply { status: 200, body })
    }
}
