//! Update: the wanted state of an object in, its next state in the store out.

use serde_json::Value;

use super::context::Context;
use super::convert::from_stored;
use super::options::{ObjectRef, WriteOptions};
use super::persist::{self, Written};
use super::track::{self, Tracking};
use super::{decode, default, delete, render, validate};
use crate::catalog::Resource;
use crate::http::{Answer, Call};
use crate::object;
use crate::status::{ApiError, ApiResult};

/// How often a write without a resource version is tried again when others write the same object.
const TRIES_MAX: usize = 100;

/// Replaces the object, or one part of it, by the body.
pub(crate) fn update(
    context: &Context<'_>,
    resource: &Resource,
    call: &Call,
    subresource: &str,
) -> ApiResult<Answer> {
    resource.require("update")?;
    let options = WriteOptions::read(call)?;
    let body = call.object()?;
    let target = ObjectRef { resource, namespace: call.namespace(), name: call.name(), subresource };
    decode::check_identity(resource, target.namespace, Some(target.name), &body)?;
    let written = update_object(context, &target, &options, |_| Ok(body.clone()))?;
    render::written(context, resource, call, written)
}

/// Changes an object, for every verb that changes one: `next` makes the wanted state from the present one.
pub(crate) fn update_object(
    context: &Context<'_>,
    target: &ObjectRef<'_>,
    options: &WriteOptions,
    next: impl Fn(&Value) -> ApiResult<Value>,
) -> ApiResult<Written> {
    write_changed(context, target, options, Tracking::Update, next)
}

/// The pipeline of a changed object: decode → default → admit → validate → store. The caller runs it again on top of
/// another client's write.
pub(super) fn write_changed(
    context: &Context<'_>,
    target: &ObjectRef<'_>,
    options: &WriteOptions,
    tracking: Tracking,
    next: impl Fn(&Value) -> ApiResult<Value>,
) -> ApiResult<Written> {
    let ObjectRef { resource, namespace, name, subresource } = *target;
    let key = resource.key(namespace, name);
    for _ in 0..TRIES_MAX {
        let stored = context.store.get(&key).ok_or_else(|| ApiError::not_found(resource.named(), name))?;
        let old = from_stored(resource, &stored);
        let mut new = next(&old)?;
        let warnings = decode::changed_object(target, &old, &mut new, options)?;
        let mut new = default::changed_object(resource, subresource, &old, new);
        let now = context.clock.text();
        track::update(tracking, Some(&old), &mut new, &track::request(target, options, &now));
        context.admission.update(context, resource, subresource, &old, &mut new)?;
        validate::check(resource, &new, Some(&old))?;
        if is_unchanged(&old, &new) {
            return Ok(Written { entry: stored, created: false, warnings });
        }
        let written = match delete::is_ended(resource, &new) && !options.dry_run {
            true => delete::remove(context, resource, &key, &stored)?
                .then(|| persist::unstored(resource, &stored, new)),
            false => persist::update(context, resource, &key, &stored, new, options)?,
        };
        // Another client may have been quicker: a patch is made again on top of its write.
        if let Some(entry) = written {
            return Ok(Written { entry, created: false, warnings });
        }
    }
    Err(ApiError::modified(resource.named(), name))
}

/// Whether nothing but the times in managed fields differs.
fn is_unchanged(old: &Value, new: &Value) -> bool {
    let without = |object: &Value| {
        let mut object = object.clone();
        object::remove_meta(&mut object, "resourceVersion");
        if let Some(list) =
            object.get_mut("metadata").and_then(|m| m.get_mut("managedFields")).and_then(Value::as_array_mut)
        {
            for entry in list {
                if let Some(map) = entry.as_object_mut() {
                    map.remove("time");
                }
            }
        }
        object
    };
    without(old) == without(new)
}
