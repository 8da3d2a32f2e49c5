//! Opens a review of either kind: its version and its request, or why it is no review.

use serde_json::Value;

/// A kind of review.
pub(crate) struct Envelope {
    /// `AdmissionReview` or `ConversionReview`.
    pub(crate) kind: &'static str,
    /// API group; v1 and v1beta1 of it are read, and the answer has the version of the request.
    pub(crate) group: &'static str,
    /// Larger reviews are refused.
    pub(crate) bytes_at_most: usize,
}

/// Why bytes are no review, so that the server has no client to answer.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// Too many bytes.
    #[error("the review has {bytes} bytes; at most {bytes_at_most} are read")]
    TooLarge {
        /// Those it has.
        bytes: usize,
        /// Those that are read.
        bytes_at_most: usize,
    },
    /// No JSON, or JSON that is nested too deep to be read.
    #[error("the review is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Another kind, or none.
    #[error("the review has no kind {0}")]
    Kind(&'static str),
    /// A field is absent or of the wrong type.
    #[error("the review has no {0}")]
    Missing(&'static str),
    /// An unknown version.
    #[error("the review is of version {version:?}; known are {group}/v1 and v1beta1")]
    Version {
        /// The version.
        version: String,
        /// The group it should be of.
        group: &'static str,
    },
}

impl Envelope {
    /// The `apiVersion` of a review, and its `request`, which is an object.
    pub(crate) fn open(&self, bytes: &[u8]) -> Result<(String, Value), EnvelopeError> {
        let Self { kind, group, bytes_at_most } = *self;
        if bytes.len() > bytes_at_most {
            return Err(EnvelopeError::TooLarge { bytes: bytes.len(), bytes_at_most });
        }
        let mut review: Value = serde_json::from_slice(bytes)?;
        if review["kind"] != kind {
            return Err(EnvelopeError::Kind(kind));
        }
        let version = text(&review["apiVersion"], "apiVersion")?;
        let of_group = version.strip_prefix(group).and_then(|rest| rest.strip_prefix('/'));
        if !matches!(of_group, Some("v1" | "v1beta1")) {
            return Err(EnvelopeError::Version { version, group });
        }
        match review.as_object_mut().and_then(|review| review.remove("request")) {
            Some(request @ Value::Object(_)) => Ok((version, request)),
            _ => Err(EnvelopeError::Missing("request")),
        }
    }
}

/// The text of a field; `field` names it in the error.
pub(crate) fn text(value: &Value, field: &'static str) -> Result<String, EnvelopeError> {
    value.as_str().map(str::to_owned).ok_or(EnvelopeError::Missing(field))
}

/// The identity of a request, which the answer gives back.
pub(crate) fn uid(request: &Value) -> Result<String, EnvelopeError> {
    let uid = text(&request["uid"], "request.uid")?;
    if uid.is_empty() { Err(EnvelopeError::Missing("request.uid")) } else { Ok(uid) }
}
