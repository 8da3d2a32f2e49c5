//! `vela/kube`: objects are applied and read.

use serde_json::{Value, json};
use vela_engine::steps::Question;
use vela_engine::{LOCAL, ObjectKey};

use super::door::{Called, Objects, Provider};

/// Answers `kube.#Apply` and `kube.#Read`.
pub(super) struct Kube;

impl Provider for Kube {
    const NAMES: &'static [&'static str] = &["kube", "op"];

    async fn call<O: Objects>(objects: &mut O, call: &Question) -> Result<Option<Called>, O::Error> {
        let function = call.function.as_str();
        if !["apply", "read"].contains(&function) {
            return Ok(None);
        }
        let object = match object(&call.params) {
            Ok(object) => object,
            Err(message) => return Ok(Some(Called::broken(format!("{}: {message}", call.path)))),
        };
        let called = match function {
            "apply" => match objects.apply_object(object.clone()).await? {
                Ok(live) => Called::Answer(json!({"value": live})),
                Err(why) => Called::failed(why),
            },
            // What cannot be read is an answer: the step decides what that means.
            _ => match objects.read_object(object).await? {
                Ok(Some(live)) => Called::Answer(json!({"value": live})),
                Ok(None) => Called::Answer(json!({"err": format!("{} not found", ObjectKey::of(object))})),
                Err(why) => Called::Answer(json!({"err": why})),
            },
        };
        Ok(Some(called))
    }
}

/// The object that is meant, where it can be one of this cluster.
fn object(params: &Value) -> Result<&Value, String> {
    let cluster = params["cluster"].as_str().unwrap_or_default();
    if !["", LOCAL].contains(&cluster) {
        return Err(format!("cluster {cluster:?}: other clusters are not supported yet"));
    }
    let object = &params["value"];
    for field in ["/apiVersion", "/kind", "/metadata/name"] {
        let text = object.pointer(field).and_then(Value::as_str).unwrap_or_default();
        if text.is_empty() {
            let name = field.trim_start_matches('/').replace('/', ".");
            return Err(format!("the object has no {name}; write it under value"));
        }
    }
    Ok(object)
}
