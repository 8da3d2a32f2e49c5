//! ConversionReview in, Subscriptions of the other version out: all of them or none.

use serde_json::{Value, json};
use vela_crds::dapr_io::convert_subscription;
use vela_runtime::webhook::Reply;

/// Where an API server asks.
pub const CONVERT_PATH: &str = "/convert";

/// What to answer to these bytes. What cannot be converted is a failed result with the reason.
#[must_use]
pub fn convert(bytes: &[u8]) -> Reply {
    let mut review: Value = match serde_json::from_slice(bytes) {
        Ok(review) => review,
        Err(error) => return Reply::failure(400, format!("the body is no JSON: {error}")),
    };
    let api_version = review["apiVersion"].take();
    let Some(uid) = review["request"]["uid"].as_str().map(str::to_owned) else {
        return Reply::failure(400, "request.uid is missing; expected a ConversionReview");
    };
    let (objects, result) = match converted(&mut review["request"]) {
        Ok(objects) => (objects, json!({"status": "Success"})),
        Err(message) => (Vec::new(), json!({"status": "Failure", "message": message})),
    };
    let response = json!({"uid": uid, "convertedObjects": objects, "result": result});
    let body = json!({"apiVersion": api_version, "kind": "ConversionReview", "response": response});
    Reply { status: 200, body }
}

/// The objects in their order.
fn converted(request: &mut Value) -> Result<Vec<Value>, String> {
    let version = request["desiredAPIVersion"].as_str().map(str::to_owned);
    let version = version.ok_or("request.desiredAPIVersion is missing")?;
    let Value::Array(objects) = request["objects"].take() else {
        return Err("request.objects is missing or no list".to_owned());
    };
    let one = |(index, object): (usize, Value)| {
        let name = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let title = format!("objects[{index}] ({}/{})", name("namespace"), name("name"));
        convert_subscription(object, &version).map_err(|error| format!("{title}: {error}"))
    };
    objects.into_iter().enumerate().map(one).collect()
}
