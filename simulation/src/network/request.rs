//! Requests of controllers on their way, their answers, and what a path means.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tower::BoxError;

use super::peer::is_of_peer;
use super::process::Process;
use super::watch::Body;

/// A request or an answer on its way.
pub(crate) struct Pending {
    pub(crate) process: Process,
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    pub(super) stage: Stage,
    /// The store's revision when it was sent.
    pub(super) sent: u64,
    pub(super) sender: Option<oneshot::Sender<Result<Response<Body>, BoxError>>>,
}

pub(super) enum Stage {
    Asked(Request<Bytes>),
    Answered(Response<Body>),
}

impl Pending {
    /// True while the server has not seen it.
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self.stage, Stage::Asked(_))
    }

    pub(crate) fn writes(&self) -> bool {
        self.method != Method::GET
    }
}

/// A request that the server has performed.
#[derive(Clone, Debug)]
pub(crate) struct Performed {
    pub(crate) process: Process,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) code: StatusCode,
    /// The store's revision when it was sent.
    pub(crate) sent: u64,
    /// The store's revision before and after.
    pub(crate) revisions: (u64, u64),
}

pub(super) fn path_of<B>(request: &Request<B>) -> String {
    request.uri().path_and_query().map_or_else(String::new, ToString::to_string)
}

/// The answer of a server that does not perform a request.
pub(super) fn refusal(code: StatusCode) -> Response<Body> {
    let reason = match code {
        StatusCode::CONFLICT => "Conflict",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        _ => "InternalError",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "refused on purpose", "reason": reason, "code": code.as_u16(),
    });
    answer(code, &status)
}

pub(super) fn answer(code: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Full::new(Bytes::from(body.to_string()))));
    *response.status_mut() = code;
    response
}

/// Reads that steer nothing by their moment: lists and starts of watches (what they bring is held back line by line),
/// kinds and version.
pub(crate) fn is_read_of_many(method: &Method, path: &str) -> bool {
    if is_of_peer(path) {
        return false;
    }
    let path_only = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path_only.split('/').filter(|part| !part.is_empty()).collect();
    let rest = match parts.as_slice() {
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
        _ => return true,
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    method == Method::GET && rest.len() < 2
}

pub(super) fn is_event(path: &str) -> bool {
    path.split('?').next().is_some_and(|path| path.split('/').any(|part| part == "events"))
}
