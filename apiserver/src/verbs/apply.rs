//! Server-side apply: the part of an object that a manager wants in, the object with that part out.

use serde_json::Value;

use super::context::Context;
use super::create::write_new;
use super::decode::check_identity;
use super::options::{ObjectRef, WriteOptions};
use super::persist::Written;
use super::track::{self, Tracking};
use super::update::write_changed;
use crate::status::{ApiError, ApiResult};
use crate::{apply, object};

/// How often an apply looks again when others create and delete the object meanwhile.
const TRIES_MAX: usize = 100;

/// Creates or changes an object so that it has what is applied.
pub(super) fn apply(
    context: &Context<'_>,
    target: &ObjectRef<'_>,
    mut applied: Value,
    options: &WriteOptions,
) -> ApiResult<Written> {
    let ObjectRef { resource, namespace, name, subresource } = *target;
    check_identity(resource, namespace, Some(name), &applied)?;
    object::set_meta(&mut applied, "name", name);
    if object::metadata(&applied).is_some_and(|m| m.contains_key("managedFields")) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    // The apply itself refuses fields that the schema does not know: no manager can own them.
    let now = context.clock.text();
    let request = track::request(target, options, &now);
    let merge =
        |live: Option<&Value>| apply::server_side(live, &applied, &request).map_err(|error| refused(&error));
    for _ in 0..TRIES_MAX {
        let result = if context.store.get(&resource.key(namespace, name)).is_some() {
            write_changed(context, target, options, Tracking::Applied, |old| merge(Some(old)))
        } else if subresource.is_empty() {
            if !object::meta(&applied, "uid").is_empty() {
                return Err(ApiError::conflict(
                    resource.named(),
                    name,
                    "uid mismatch: the provided object specified uid that does not exist",
                ));
            }
            let new = merge(None)?;
            write_new(context, resource, namespace, Some(name), new, options, Tracking::Applied)
        } else {
            Err(ApiError::not_found(resource.named(), name))
        };
        match result {
            // Created or deleted between the look and the write: look again.
            Err(error) if matches!(error.reason, "AlreadyExists") => {}
            Err(error) => return Err(error),
            Ok(written) => return Ok(written),
        }
    }
    Err(ApiError::modified(resource.named(), name))
}

fn refused(error: &apply::Error) -> ApiError {
    match error {
        apply::Error::BadRequest(message) => ApiError::bad_request(message),
        apply::Error::Untyped(message) => ApiError::untyped(message),
        apply::Error::Conflict(conflicts) => {
            let causes: Vec<(String, String)> =
                conflicts.iter().map(|c| (c.field.clone(), format!("conflict with {}", c.with()))).collect();
            ApiError::apply_conflict(error.to_string(), &causes)
        }
    }
}
