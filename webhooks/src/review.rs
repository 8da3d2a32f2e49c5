//! The bytes of an AdmissionReview → a `Review`, or what is wrong with them.

use serde_json::Value;

/// Larger reviews are refused: the API server itself takes no larger object.
pub const BYTES_AT_MOST: usize = 3 * 1024 * 1024;

/// What is to be judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Version of the review, given back in the reply: `admission.k8s.io/v1`.
    pub api_version: String,
    /// Identity of the request, given back in the reply.
    pub uid: String,
    /// What is being done.
    pub operation: Operation,
    /// Namespace of the object; empty for cluster-scoped ones.
    pub namespace: String,
    /// The object as it would become; null when it is deleted.
    pub object: Value,
    /// The object as it is; null when it is made.
    pub old_object: Value,
}

/// What is being done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// One connects to it.
    Connect,
}

/// Why bytes are no review.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    /// Too many bytes.
    #[error("the review has {0} bytes; at most {BYTES_AT_MOST} are read")]
    TooLarge(usize),
    /// No JSON.
    #[error("the review is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is absent or of the wrong type.
    #[error("the review has no {0}")]
    Missing(&'static str),
    /// An operation nobody knows.
    #[error("request.operation is {0:?}; known are CREATE, UPDATE, DELETE and CONNECT")]
    Operation(String),
}

impl Review {
    /// Reads the bytes of an AdmissionReview, v1 or v1beta1.
    pub fn read(bytes: &[u8]) -> Result<Self, ReviewError> {
        if bytes.len() > BYTES_AT_MOST {
            return Err(ReviewError::TooLarge(bytes.len()));
        }
        let mut review: Value = serde_json::from_slice(bytes)?;
        if review["kind"] != "AdmissionReview" {
            return Err(ReviewError::Missing("kind AdmissionReview"));
        }
        let text =
            |value: &Value, missing| value.as_str().map(str::to_owned).ok_or(ReviewError::Missing(missing));
        let api_version = text(&review["apiVersion"], "apiVersion")?;
        let request = review["request"].take();
        let operation = match text(&request["operation"], "request.operation")?.as_str() {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            "CONNECT" => Operation::Connect,
            other => return Err(ReviewError::Operation(other.to_owned())),
        };
        Ok(Self {
            api_version,
            uid: text(&request["uid"], "request.uid")?,
            operation,
            namespace: request["namespace"].as_str().unwrap_or_default().to_owned(),
            object: request["object"].clone(),
            old_object: request["oldObject"].clone(),
        })
    }

    /// Whether there is something to judge: an object that is made or changed, and not going away.
    pub fn concerns_a_living_object(&self) -> bool {
        matches!(self.operation, Operation::Create | Operation::Update)
            && !self.object.is_null()
            && self.object["metadata"]["deletionTimestamp"].is_null()
    }

    /// Whether an update leaves what people wish for as it was (a status or metadata write).
    pub fn keeps_the_spec(&self) -> bool {
        self.operation == Operation::Update && self.object["spec"] == self.old_object["spec"]
    }
}
