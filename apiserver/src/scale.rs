//! The `scale` subresource: an object that has replicas in, its `Scale` out, and back.

use ::http::Method;
use serde_json::{Value, json};

use crate::cause::Cause;
use crate::http::{Answer, Call, read_object};
use crate::object;
use crate::registry::{Resource, ScalePaths};
use crate::server::Core;
use crate::status::{ApiError, ApiResult};
use crate::write::WriteOptions;
use crate::{patch, read};

impl Core {
    pub(crate) fn scale(&self, resource: &Resource, call: &Call) -> ApiResult<Answer> {
        let Some(paths) = resource.scale.as_ref() else { return Err(ApiError::no_such_path()) };
        let namespace = call.place.namespace.as_deref().unwrap_or_default();
        let name = call.place.name.as_deref().unwrap_or_default();
        let stored = self
            .store
            .get(&crate::write::key(resource, namespace, name))
            .ok_or_else(|| ApiError::not_found(resource.named(), name))?;
        if call.method == Method::GET {
            return Ok(Answer::value(&show(resource, paths, &read::converted(resource, &stored))));
        }
        let options = WriteOptions::read(call)?;
        let refused = |error: patch::Error| ApiError::bad_request(error.message);
        let wanted = |old: &Value| -> ApiResult<Value> {
            let before = show(resource, paths, old);
            match (call.method.as_str(), call.content_type.as_str()) {
                ("PUT", kind) => read_object(kind, &call.body),
                ("PATCH", "application/json-patch+json") => {
                    patch::json::apply(&before, &read_object("application/json", &call.body)?)
                        .map_err(refused)
                }
                ("PATCH", "application/merge-patch+json" | "application/strategic-merge-patch+json") => {
                    patch::merge::apply(&before, &read_object("application/json", &call.body)?)
                        .map_err(refused)
                }
                ("PATCH", "application/apply-patch+yaml") => {
                    patch::merge::apply(&before, &crate::http::read_yaml(&call.body)?).map_err(refused)
                }
                ("PATCH", other) => {
                    Err(ApiError::unsupported_media_type(format!("a scale cannot be patched with {other:?}")))
                }
                _ => Err(ApiError::method_not_allowed()),
            }
        };
        let written = self.change(resource, namespace, name, "scale", &options, |old| {
            let scale = wanted(old)?;
            let replicas = scale.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into());
            if replicas.as_i64().is_none_or(|n| n < 0) {
                let cause = Cause::invalid("spec.replicas", &replicas, "must be greater than or equal to 0");
                let named = crate::status::Named { group: "autoscaling", plural: "scales", kind: "Scale" };
                return Err(ApiError::invalid(named, name, &[cause]));
            }
            let mut next = old.clone();
            object::set_at(&mut next, &paths.spec_replicas, replicas);
            match object::meta(&scale, "resourceVersion") {
                "" => object::remove_meta(&mut next, "resourceVersion"),
                version => object::set_meta(&mut next, "resourceVersion", version),
            }
            Ok(next)
        })?;
        Ok(Answer {
            warnings: written.warnings,
            ..Answer::value(&show(resource, paths, &read::converted(resource, &written.entry)))
        })
    }
}

fn show(resource: &Resource, paths: &ScalePaths, object: &Value) -> Value {
    let number = |path: &str| object::at(object, path).and_then(Value::as_i64).unwrap_or(0);
    let mut status = json!({ "replicas": number(&paths.status_replicas) });
    if let Some(path) = &paths.selector {
        let text = match object::at(object, path) {
            Some(Value::String(text)) => text.clone(),
            Some(selector) => selector_text(selector),
            None => String::new(),
        };
        if !text.is_empty() {
            status["selector"] = text.into();
        }
    }
    let mut metadata = json!({
        "name": object::name(object),
        "uid": object::uid(object),
        "resourceVersion": object::meta(object, "resourceVersion"),
        "creationTimestamp": object::meta(object, "creationTimestamp"),
    });
    if resource.namespaced {
        metadata["namespace"] = object::namespace(object).into();
    }
    json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
            "spec": { "replicas": number(&paths.spec_replicas) }, "status": status })
}

/// A `LabelSelector` (or the plain map of older kinds) as text.
fn selector_text(selector: &Value) -> String {
    let mut parts = Vec::new();
    let labels = selector.get("matchLabels").unwrap_or(selector);
    for (key, value) in labels.as_object().into_iter().flatten() {
        if let Some(value) = value.as_str() {
            parts.push(format!("{key}={value}"));
        }
    }
    for rule in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let key = rule["key"].as_str().unwrap_or_default();
        let values: Vec<&str> =
            rule["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        parts.push(match rule["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    parts.join(",")
}
