//! The bytes of a ConversionReview → the bytes of its answer: Applications in another version, all of them or none.

use serde_json::{Value, json};
use vela_crds::application::convert;

/// A review holds a whole list as the API server read it, so it may be much larger than one object.
pub const BYTES_AT_MOST: usize = 64 * 1024 * 1024;

/// Versions of the review that are read; the answer has the version of the request.
const VERSIONS: [&str; 2] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

/// Why bytes are no review, so that there is nobody to answer.
#[derive(Debug, thiserror::Error)]
pub enum ConversionError {
    /// Too many bytes.
    #[error("the review has {0} bytes; at most {BYTES_AT_MOST} are read")]
    TooLarge(usize),
    /// No JSON, or JSON that is nested too deep to be read.
    #[error("the review is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A field is absent or of the wrong type.
    #[error("the review has no {0}")]
    Missing(&'static str),
    /// A version nobody knows.
    #[error("the review is of version {0:?}; known are apiextensions.k8s.io/v1 and v1beta1")]
    Version(String),
}

/// Answers a review. What cannot be converted is a failed result with the reason; an error is no review at all.
pub fn answer(bytes: &[u8]) -> Result<Value, ConversionError> {
    if bytes.len() > BYTES_AT_MOST {
        return Err(ConversionError::TooLarge(bytes.len()));
    }
    let mut review: Value = serde_json::from_slice(bytes)?;
    if review["kind"] != "ConversionReview" {
        return Err(ConversionError::Missing("kind ConversionReview"));
    }
    let Some(api_version) = review["apiVersion"].as_str().map(str::to_owned) else {
        return Err(ConversionError::Missing("apiVersion"));
    };
    if !VERSIONS.contains(&api_version.as_str()) {
        return Err(ConversionError::Version(api_version));
    }
    let mut request = match review.as_object_mut().and_then(|review| review.remove("request")) {
        Some(request @ Value::Object(_)) => request,
        _ => return Err(ConversionError::Missing("request")),
    };
    let uid = match request["uid"].as_str() {
        Some(uid) if !uid.is_empty() => uid.to_owned(),
        _ => return Err(ConversionError::Missing("request.uid")),
    };
    let response = match converted(&mut request) {
        Ok(objects) => json!({"uid": uid, "convertedObjects": objects, "result": {"status": "Success"}}),
        Err(message) => json!({
            "uid": uid, "convertedObjects": [], "result": {"status": "Failure", "message": message},
        }),
    };
    Ok(json!({"apiVersion": api_version, "kind": "ConversionReview", "response": response}))
}

/// The objects in their order. The API server takes all or nothing.
fn converted(request: &mut Value) -> Result<Vec<Value>, String> {
    let Some(version) = request["desiredAPIVersion"].as_str().map(str::to_owned) else {
        return Err("request.desiredAPIVersion is missing".to_owned());
    };
    let Some(Value::Array(objects)) = request.get_mut("objects").map(Value::take) else {
        return Err("request.objects is missing".to_owned());
    };
    let one = |(index, object): (usize, Value)| {
        let name = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let title = format!("objects[{index}] ({}/{})", name("namespace"), name("name"));
        convert(object, &version).map_err(|error| format!("{title}: {error}"))
    };
    objects.into_iter().enumerate().map(one).collect()
}
