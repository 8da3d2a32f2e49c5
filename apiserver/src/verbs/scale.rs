//! The `scale` subresource: an object that has replicas in, its `Scale` out, and back.

use ::http::Method;
use serde_json::{Value, json};

use super::context::Context;
use super::convert::converted;
use super::options::{ObjectRef, WriteOptions};
use super::update::update_object;
use crate::catalog::Resource;
use crate::cause::Cause;
use crate::crd::ScalePaths;
use crate::http::{Answer, Call, read_object, read_yaml};
use crate::status::{ApiError, ApiResult, Named};
use crate::{object, patch};

/// Shows or changes how many replicas the object has.
pub(crate) fn scale(context: &Context<'_>, resource: &Resource, call: &Call) -> ApiResult<Answer> {
    let Some(paths) = resource.scale.as_ref() else { return Err(ApiError::no_such_path()) };
    let name = call.name();
    let stored = context
        .store
        .get(&resource.key(call.namespace(), name))
        .ok_or_else(|| ApiError::not_found(resource.named(), name))?;
    if call.method == Method::GET {
        return Ok(Answer::value(&show(resource, paths, &converted(resource, &stored))));
    }
    let options = WriteOptions::read(call)?;
    let target = ObjectRef { resource, namespace: call.namespace(), name, subresource: "scale" };
    let written = update_object(context, &target, &options, |old| {
        let scale = wanted(call, &show(resource, paths, old))?;
        let replicas = scale.pointer("/spec/replicas").cloned().unwrap_or_else(|| 0.into());
        if replicas.as_i64().is_none_or(|n| n < 0) {
            let cause = Cause::invalid("spec.replicas", &replicas, "must be greater than or equal to 0");
            let named = Named { group: "autoscaling", plural: "scales", kind: "Scale" };
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
        ..Answer::value(&show(resource, paths, &converted(resource, &written.entry)))
    })
}

/// The `Scale` that the request asks for, where this is the present one.
fn wanted(call: &Call, before: &Value) -> ApiResult<Value> {
    let refused = |error: patch::Error| ApiError::bad_request(error.message);
    match (call.method.as_str(), call.content_type.as_str()) {
        ("PUT", _) => call.object(),
        ("PATCH", "application/json-patch+json") => {
            patch::json::apply(before, &read_object("application/json", &call.body)?).map_err(refused)
        }
        ("PATCH", "application/merge-patch+json" | "application/strategic-merge-patch+json") => {
            patch::merge::apply(before, &read_object("application/json", &call.body)?).map_err(refused)
        }
        ("PATCH", "application/apply-patch+yaml") => {
            patch::merge::apply(before, &read_yaml(&call.body)?).map_err(refused)
        }
        ("PATCH", other) => {
            Err(ApiError::unsupported_media_type(format!("a scale cannot be patched with {other:?}")))
        }
        _ => Err(ApiError::method_not_allowed()),
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
