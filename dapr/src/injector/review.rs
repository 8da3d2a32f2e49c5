//! What an API server asks about a pod, and how it is answered.

use json_patch::Patch;
use serde_json::{Value, json};
use vela_runtime::webhook::{Admission, AdmissionReview, AdmissionReviewError, Reply};

/// The question of an API server.
#[derive(Debug)]
pub(crate) struct Review(AdmissionReview);

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
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, AdmissionReviewError> {
        AdmissionReview::read(bytes).map(Self)
    }

    pub(crate) fn is_pod(&self) -> bool {
        let kind = &self.0.request()["kind"];
        kind["kind"] == "Pod" && kind["group"].as_str().unwrap_or_default().is_empty()
    }

    pub(crate) fn object(&self) -> &Value {
        self.0.object()
    }

    pub(crate) fn namespace(&self) -> &str {
        self.0.request()["namespace"].as_str().unwrap_or_default()
    }

    pub(crate) fn user(&self) -> &Value {
        &self.0.request()["userInfo"]
    }

    /// The name, or the beginning of the one that it gets.
    pub(crate) fn name(&self) -> &str {
        let metadata = &self.object()["metadata"];
        metadata["name"].as_str().or(metadata["generateName"].as_str()).unwrap_or_default()
    }

    /// # Errors
    /// The patch cannot be written.
    pub(crate) fn reply(&self, answer: &Answer) -> Result<Reply, serde_json::Error> {
        self.0.reply(&match answer {
            Answer::Admitted { patch, warnings } => Admission::Admitted {
                patch: patch.as_ref().map(serde_json::to_value).transpose()?,
                warnings: warnings.clone(),
            },
            Answer::Refused(message) => Admission::Refused(json!({"metadata": {}, "message": message})),
        })
    }
}
