//! The answer of a verb, and the bodies of answers.

use std::convert::Infallible;

use ::http::StatusCode;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};

/// The body of an answer: one piece, or the endless lines of a watch.
pub type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// The answer of a verb.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: StatusCode,
    pub(crate) json: Bytes,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    pub(crate) fn ok(json: Bytes) -> Self {
        Self { code: StatusCode::OK, json, warnings: Vec::new() }
    }

    pub(crate) fn value(value: &Value) -> Self {
        Self::ok(Bytes::from(value.to_string()))
    }

    pub(crate) fn created(value: &Value) -> Self {
        Self { code: StatusCode::CREATED, ..Self::value(value) }
    }

    /// The `Status` of a success that has no object to show.
    pub(crate) fn success(code: StatusCode) -> Self {
        let status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                             "code": code.as_u16() });
        Self { code, ..Self::value(&status) }
    }
}

/// A body of one piece.
pub(crate) fn full(bytes: Bytes) -> ResponseBody {
    Full::new(bytes).boxed_unsync()
}
