//! ConversionReview in, objects of the other version out: all of them or none. What a version means is the caller's.

use serde_json::{Value, json};

use super::handler::Reply;

/// What to answer to these bytes, where `one` converts an object into the version that is asked for. What cannot be converted is a failed
/// result with the reason.
#[must_use]
pub fn convert<E: std::fmt::Display>(bytes: &[u8], one: impl Fn(Value, &str) -> Result<Value, E>) -> Reply {
    let mut review: Value = match serde_json::from_slice(bytes) {
        Ok(review) => review,
        Err(error) => return Reply::failure(400, format!("the body is no JSON: {error}")),
    };
    // What is no object has no field that could be taken.
    let api_version = review.get_mut("apiVersion").map(Value::take).unwrap_or_default();
    let Some(uid) = review["request"]["uid"].as_str().map(str::to_owned) else {
        return Reply::failure(400, "request.uid is missing; expected a ConversionReview");
    };
    let (objects, result) = match converted(&mut review["request"], one) {
        Ok(objects) => (objects, json!({"status": "Success"})),
        Err(message) => (Vec::new(), json!({"status": "Failure", "message": message})),
    };
    let response = json!({"uid": uid, "convertedObjects": objects, "result": result});
    let body = json!({"apiVersion": api_version, "kind": "ConversionReview", "response": response});
    Reply { status: 200, body }
}

/// The objects in their order.
fn converted<E: std::fmt::Display>(
    request: &mut Value,
    one: impl Fn(Value, &str) -> Result<Value, E>,
) -> Result<Vec<Value>, String> {
    let version = request["desiredAPIVersion"].as_str().map(str::to_owned);
    let version = version.ok_or("request.desiredAPIVersion is missing")?;
    let Value::Array(objects) = request["objects"].take() else {
        return Err("request.objects is missing or no list".to_owned());
    };
    let one = |(index, object): (usize, Value)| {
        let name = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let title = format!("objects[{index}] ({}/{})", name("namespace"), name("name"));
        one(object, &version).map_err(|error| format!("{title}: {error}"))
    };
    objects.into_iter().enumerate().map(one).collect()
}
