//! Patch: a change of an object in one of four forms in, its next state in the store out.

use serde_json::Value;

use super::apply::apply;
use super::context::Context;
use super::options::{ObjectRef, WriteOptions};
use super::persist::Written;
use super::render;
use super::update::update_object;
use crate::catalog::Resource;
use crate::cause::Cause;
use crate::http::{Answer, Call, read_yaml};
use crate::patch;
use crate::status::{ApiError, ApiResult};

/// Changes the object, or one part of it, as the body says.
pub(crate) fn patch(
    context: &Context<'_>,
    resource: &Resource,
    call: &Call,
    subresource: &str,
) -> ApiResult<Answer> {
    resource.require("patch")?;
    let written = write(context, resource, call, subresource)?;
    render::written(context, resource, call, written)
}

fn write(context: &Context<'_>, resource: &Resource, call: &Call, subresource: &str) -> ApiResult<Written> {
    let options = WriteOptions::read(call)?;
    let target = ObjectRef { resource, namespace: call.namespace(), name: call.name(), subresource };
    let refused = |error: patch::Error| match error.kind {
        patch::ErrorKind::BadRequest => ApiError::bad_request(error.message),
        patch::ErrorKind::Unprocessable => ApiError::unprocessable(error.message),
    };
    let parse = || -> ApiResult<Value> {
        serde_json::from_slice(&call.body)
            .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))
    };
    match call.content_type.as_str() {
        "application/json-patch+json" => {
            let body = parse()?;
            update_object(context, &target, &options, |old| patch::json::apply(old, &body).map_err(refused))
        }
        "application/merge-patch+json" => {
            let body = parse()?;
            update_object(context, &target, &options, |old| patch::merge::apply(old, &body).map_err(refused))
        }
        "application/strategic-merge-patch+json" if !resource.is_custom() => {
            let body = parse()?;
            update_object(context, &target, &options, |old| {
                patch::strategic::apply(old, &body, &resource.api_version, &resource.kind).map_err(refused)
            })
        }
        "application/apply-patch+yaml" => {
            if call.query.text("fieldManager").is_empty() {
                let cause = Cause::required("fieldManager", "is required for apply patch");
                return Err(ApiError::invalid_options("PatchOptions", cause));
            }
            let body = read_yaml(&call.body)?;
            apply(context, &target, body, &options)
        }
        _ => {
            let accepted = if resource.is_custom() {
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
            } else {
                "application/json-patch+json, application/merge-patch+json, \
                 application/strategic-merge-patch+json, application/apply-patch+yaml"
            };
            Err(ApiError::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: {accepted}"
            )))
        }
    }
}
