//! A request for a resource, its path and options parsed and its body read.

use ::http::Method;
use bytes::Bytes;
use serde_json::Value;

use super::negotiate::{Shape, read_object};
use super::path::Place;
use super::query::Query;
use crate::status::ApiResult;

/// A request for a resource, its path and options parsed and its body read.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) place: Place,
    pub(crate) query: Query,
    pub(crate) method: Method,
    pub(crate) content_type: String,
    pub(crate) user_agent: String,
    pub(crate) shape: Shape,
    pub(crate) body: Bytes,
}

impl Call {
    /// The namespace of the path; empty where it names none.
    pub(crate) fn namespace(&self) -> &str {
        self.place.namespace.as_deref().unwrap_or_default()
    }

    /// The name of the path; empty where it names none.
    pub(crate) fn name(&self) -> &str {
        self.place.name.as_deref().unwrap_or_default()
    }

    /// The one object of the body.
    pub(crate) fn object(&self) -> ApiResult<Value> {
        read_object(&self.content_type, &self.body)
    }
}
