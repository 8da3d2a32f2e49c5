//! The handler of reviews, as the server sees it.

use std::time::Instant;

use futures::future::BoxFuture;
use serde_json::{Value, json};

/// Bytes of a body at most. An API server takes objects of 3 MiB; an update brings the former one too, and an envelope
/// surrounds both.
pub const BODY_AT_MOST: usize = 7 * 1024 * 1024;

/// Answers reviews.
pub trait Handler: Send + Sync {
    /// The answer to these bytes at this path. It may be dropped at its deadline, where it waits.
    fn answer<'a>(&'a self, path: &'a str, body: &'a [u8]) -> BoxFuture<'a, Reply>;

    /// The same, by a judge that wants to know when no caller waits for the answer any more.
    fn answer_until<'a>(&'a self, path: &'a str, body: &'a [u8], _until: Instant) -> BoxFuture<'a, Reply> {
        self.answer(path, body)
    }

    /// Bytes that a body at this path may have.
    fn body_at_most(&self, _path: &str) -> usize {
        BODY_AT_MOST
    }
}

/// An answer to send.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// HTTP status; an API server takes anything but 200 as a failure of the webhook and asks its failure policy.
    pub status: u16,
    /// JSON body.
    pub body: Value,
}

impl Reply {
    /// A refusal to judge, in the words of an API server.
    pub fn failure(status: u16, message: impl Into<String>) -> Self {
        let body = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": status, "message": message.into(),
        });
        Self { status, body }
    }
}
