//! Responses: a body and the headers that every one has.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use serde::Serialize;

use crate::error::Error;

/// The body of every response.
pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Pages run the console's own script and style and talk to their own origin; no other page may frame or read them. Only
/// the console itself learns which page a request comes from: without that, a browser hides the origin of forms.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'",
    ),
    ("cache-control", "no-store"),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// A body that is there as a whole.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// A response with the headers that every one has.
pub(crate) fn response(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A page.
pub(crate) fn html(status: StatusCode, page: String) -> Response<Body> {
    response(status, "text/html; charset=utf-8", whole(page))
}

/// An answer of the REST API.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response<Body> {
    response(status, "application/json", whole(serde_json::to_vec(value).unwrap_or_default()))
}

/// A failure of the REST API.
pub(crate) fn failure(error: &Error) -> Response<Body> {
    json(error.status(), &error.to_json())
}
