//! How many connections and requests at once, and how long for what.

use std::time::Duration;

/// A peer that wants an answer speaks at once; this is what a bad network may take.
const FIRST: Duration = Duration::from_secs(10);
/// Clients of Kubernetes close what was idle for 90 s. We outlive that, so that none is closed just as a request is
/// sent on it.
const IDLE: Duration = Duration::from_secs(100);
/// Connections at once, by default.
const CONNECTIONS: usize = 128;
/// Requests at once of one HTTP/2 connection, by default.
const STREAMS: u32 = 64;
/// How long requests under way may take to end after a stop, by default.
const GRACE: Duration = Duration::from_secs(2);

/// How much at once, and how long for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections that stand.
    pub connections: usize,
    /// Requests under way on one HTTP/2 connection.
    pub streams: u32,
    /// From the connection to the end of the TLS handshake.
    pub handshake: Duration,
    /// From there to the first byte.
    pub first_byte: Duration,
    /// From there to the end of the first request's headers.
    pub headers: Duration,
    /// How long it may be the peer's turn after that. A request that has begun by then has as long as headers may take.
    pub idle: Duration,
    /// How long requests under way may take to end after a stop was asked for.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS,
            streams: STREAMS,
            handshake: FIRST,
            first_byte: FIRST,
            headers: FIRST,
            idle: IDLE,
            grace: GRACE,
        }
    }
}
