//! Answers ConversionReviews: converts Applications to another version, all of them or none.

use serde_json::{Value, json};
use vela_crds::application::convert;

use crate::envelope::{self, Envelope, EnvelopeError};

/// A review holds a whole list as the API server read it, so it may be much larger than one object.
pub const BYTES_AT_MOST: usize = 64 * 1024 * 1024;

const REVIEW: Envelope =
    Envelope { kind: "ConversionReview", group: "apiextensions.k8s.io", bytes_at_most: BYTES_AT_MOST };

/// Answers a review. An object that cannot be converted is a failed result with the reason; an error is no review at
/// all.
pub fn answer(bytes: &[u8]) -> Result<Value, EnvelopeError> {
    let (api_version, mut request) = REVIEW.open(bytes)?;
    let uid = envelope::uid(&request)?;
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
