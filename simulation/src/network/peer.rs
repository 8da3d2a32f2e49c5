//! A server outside the cluster that a schedule plays: requests to it wait, break and arrive late as all others do.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use serde_json::Value;

/// With this begins the path of each request to it; none of an API server begins so.
const PATH: &str = "/peer/";

/// A request → status and body of the answer.
type Answers = dyn Fn(&Request<Bytes>) -> (StatusCode, Value) + Send + Sync;

/// The server; clones are the same.
#[derive(Clone)]
pub(crate) struct Peer(Arc<Answers>);

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").finish_non_exhaustive()
    }
}

impl Peer {
    pub(crate) fn new(
        answers: impl Fn(&Request<Bytes>) -> (StatusCode, Value) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(answers))
    }

    pub(super) fn answer(&self, request: &Request<Bytes>) -> (StatusCode, Value) {
        (self.0)(request)
    }
}

/// Is this path one of the server outside?
pub(super) fn is_of_peer(path: &str) -> bool {
    path.starts_with(PATH)
}
