//! Get: one object by its name.

use super::context::Context;
use super::render;
use super::resource_version::check_not_future;
use crate::catalog::Resource;
use crate::http::{Answer, Call};
use crate::status::{ApiError, ApiResult};

/// Answers with the object that the path names.
pub(crate) fn get(context: &Context<'_>, resource: &Resource, call: &Call) -> ApiResult<Answer> {
    resource.require("get")?;
    let name = call.name();
    let entry = context
        .store
        .get(&resource.key(call.namespace(), name))
        .ok_or_else(|| ApiError::not_found(resource.named(), name))?;
    let asked = call.query.number("resourceVersion")?.unwrap_or(0);
    check_not_future(context.store, asked)?;
    Ok(Answer::ok(render::one(context, resource, &entry, call)?))
}
