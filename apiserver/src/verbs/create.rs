//! Create: an object in, its first state in the store out.

use serde_json::Value;

use super::context::Context;
use super::options::{ObjectRef, WriteOptions};
use super::persist::{self, Written};
use super::track::{self, Tracking};
use super::{decode, default, render, validate};
use crate::catalog::Resource;
use crate::http::{Answer, Call};
use crate::object;
use crate::status::{ApiError, ApiResult};

/// Creates the object of the body.
pub(crate) fn create(context: &Context<'_>, resource: &Resource, call: &Call) -> ApiResult<Answer> {
    resource.require("create")?;
    if resource.namespaced && call.place.namespace.is_none() {
        return Err(ApiError::method_not_allowed());
    }
    let options = WriteOptions::read(call)?;
    let body = call.object()?;
    let written = create_object(context, resource, call.namespace(), body, &options)?;
    render::written(context, resource, call, written)
}

/// Creates an object, for every verb that creates one.
pub(crate) fn create_object(
    context: &Context<'_>,
    resource: &Resource,
    namespace: &str,
    new: Value,
    options: &WriteOptions,
) -> ApiResult<Written> {
    write_new(context, resource, namespace, None, new, options, Tracking::Update)
}

/// The pipeline of a new object: decode → default → admit → validate → store.
pub(super) fn write_new(
    context: &Context<'_>,
    resource: &Resource,
    namespace: &str,
    name: Option<&str>,
    mut new: Value,
    options: &WriteOptions,
    tracking: Tracking,
) -> ApiResult<Written> {
    let warnings = decode::new_object(context, resource, namespace, name, &mut new, options)?;
    default::new_object(resource, &mut new);
    // Managed fields hold what the client sent and its defaults, not what the server adds afterwards.
    let target = ObjectRef { resource, namespace, name: name.unwrap_or_default(), subresource: "" };
    track::update(tracking, None, &mut new, &track::request(&target, options, &context.clock.text()));
    context.admission.create(context, resource, namespace, &mut new)?;
    validate::check(resource, &new, None)?;
    let key = resource.key(namespace, object::name(&new));
    let entry = persist::create(context, resource, &key, new, options)?;
    Ok(Written { entry, created: true, warnings })
}
