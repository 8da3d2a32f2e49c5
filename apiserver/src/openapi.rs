//! The catalog in, OpenAPI v3 documents out, one per group and version.

use ::http::Response;
use ::http::request::Parts;

use crate::http::ResponseBody;
use crate::server::Core;
use crate::status::{ApiError, ApiResult};

/// Documents already made.
#[derive(Debug, Default)]
pub(crate) struct Cache;

impl Core {
    pub(crate) fn openapi(&self, _path: &str, _parts: &Parts) -> ApiResult<Response<ResponseBody>> {
        Err(ApiError::no_such_path())
    }
}
