//! `pods/eviction`: a deletion by another name.

use ::http::StatusCode;

use super::context::Context;
use super::delete::delete_object;
use super::delete_options::DeleteOptions;
use crate::catalog::Resource;
use crate::http::{Answer, Call};
use crate::status::ApiResult;

/// Deletes the pod.
pub(crate) fn evict(context: &Context<'_>, resource: &Resource, call: &Call) -> ApiResult<Answer> {
    delete_object(context, resource, call.namespace(), call.name(), &DeleteOptions::default())?;
    Ok(Answer::success(StatusCode::CREATED))
}
