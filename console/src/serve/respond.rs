//! An answer or a failure → the response that its client reads: a Status, a body of early 2021, or a page.

use http::request::Parts;
use http::{HeaderValue, Method, Response};

use super::read_2021;
use crate::answer::{Body, failure, html, whole};
use crate::error::Error;
use crate::pages;
use crate::route::Endpoint;

/// The form of a failure.
enum Speaks {
    /// A Status.
    Kubernetes,
    /// That of the REST API of early 2021.
    As2021,
    /// A page.
    Html,
}

impl Speaks {
    fn of(path: &str) -> Self {
        match path.strip_prefix("/api/") {
            None => Self::Html,
            Some(rest) if rest.starts_with("v1/") || rest == "openapi.json" => Self::Kubernetes,
            Some(_) => Self::As2021,
        }
    }
}

/// The whole answer to a request, also where there is none.
pub(super) fn respond(parts: &Parts, answer: Result<Response<Body>, Error>) -> Response<Body> {
    let mut answer = answer.unwrap_or_else(|error| {
        let mut answer = match Speaks::of(parts.uri.path()) {
            Speaks::Kubernetes => failure(&error),
            Speaks::As2021 => read_2021::failure(&error, parts),
            Speaks::Html => html(error.status(), pages::failure(&error)),
        };
        if let Some((name, value)) = error.header() {
            answer.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        answer
    });
    if parts.method == Method::HEAD {
        *answer.body_mut() = whole("");
    }
    answer
}

/// What pages are drawn with: it needs no session.
pub(super) fn is_asset(endpoint: Endpoint) -> bool {
    matches!(endpoint, Endpoint::Style | Endpoint::Script | Endpoint::Icon)
}
