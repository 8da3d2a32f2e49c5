//! Tracks whose turn it is on a connection, and since when, from the requests and answers that pass.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Limits;

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Handshake,
    FirstByte,
    Headers,
    /// At least one request was read.
    Requested,
}

/// The peer of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    state: Mutex<State>,
    /// Cancelled when another connection needs the place.
    pub(crate) evicted: CancellationToken,
    freed: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    /// Requests where it is our turn.
    in_progress: usize,
    /// Since when this stage lasts, or since when it is the peer's turn.
    since: Instant,
}

impl Peer {
    pub(crate) fn new(freed: Arc<Notify>) -> Self {
        let state = State { stage: Stage::Handshake, in_progress: 0, since: Instant::now() };
        Self { state: Mutex::new(state), evicted: CancellationToken::new(), freed }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It came this far. A stage never goes back, so a byte now and then wins no time.
    pub(crate) fn reached(&self, stage: Stage) {
        let mut state = self.state();
        if (state.stage as u8) < stage as u8 {
            state.stage = stage;
            state.since = Instant::now();
        }
    }

    pub(crate) fn has_requested(&self) -> bool {
        self.state().stage == Stage::Requested
    }

    /// Since when it is the peer's turn, if it is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.in_progress == 0).then_some(state.since)
    }

    /// Ends when the peer has let a limit pass.
    pub(crate) async fn overdue(&self, limits: &Limits) {
        // A look now and then costs less than telling of every turn.
        let look = limits.handshake.min(limits.first_byte).min(limits.headers).min(limits.idle);
        loop {
            let now = Instant::now();
            let until = {
                let state = self.state();
                let limit = match state.stage {
                    Stage::Handshake => limits.handshake,
                    Stage::FirstByte => limits.first_byte,
                    Stage::Headers => limits.headers,
                    Stage::Requested => limits.idle,
                };
                (state.in_progress == 0).then(|| state.since + limit)
            };
            if until.is_some_and(|until| until <= now) {
                return;
            }
            let next = now + look;
            tokio::time::sleep_until(until.map_or(next, |until| until.min(next))).await;
        }
    }

    fn in_progress(&self, change: isize) {
        let mut state = self.state();
        state.in_progress = state.in_progress.saturating_add_signed(change);
        if state.in_progress == 0 {
            state.since = Instant::now();
            self.freed.notify_one();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Server,
    Client,
    Ended,
}

/// One request and its answer.
#[derive(Debug)]
struct Exchange {
    peer: Arc<Peer>,
    turn: Mutex<Turn>,
}

impl Exchange {
    fn pass_to(&self, now: Turn) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *turn;
        if before == Turn::Ended || before == now {
            return;
        }
        *turn = now;
        match (before, now) {
            (Turn::Server, _) => self.peer.in_progress(-1),
            (_, Turn::Server) => self.peer.in_progress(1),
            _ => {}
        }
    }
}

/// A request that was read. It is the server's turn until the answer gives it away, or this is dropped.
#[derive(Debug)]
pub(crate) struct RequestInProgress(Arc<Exchange>);

impl RequestInProgress {
    pub(crate) fn from(peer: &Arc<Peer>) -> Self {
        peer.reached(Stage::Requested);
        peer.in_progress(1);
        Self(Arc::new(Exchange { peer: peer.clone(), turn: Mutex::new(Turn::Server) }))
    }

    pub(crate) fn body(&self, body: Incoming) -> RequestBody {
        RequestBody { body, exchange: self.0.clone() }
    }

    pub(crate) fn response<B>(self, body: B) -> ResponseBody<B> {
        ResponseBody { body, request: self }
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.pass_to(Turn::Ended);
    }
}

/// The body of a request. While we wait for more of it, it is the peer's turn.
#[derive(Debug)]
pub struct RequestBody {
    body: Incoming,
    exchange: Arc<Exchange>,
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        this.exchange.pass_to(if polled.is_pending() { Turn::Client } else { Turn::Server });
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        // A service that no longer waits for the rest works on something else.
        self.exchange.pass_to(Turn::Server);
    }
}

/// The body of an answer. While it has nothing to say it is our turn; while the peer does not take its bytes, the
/// peer's.
#[derive(Debug)]
pub(crate) struct ResponseBody<B> {
    body: B,
    request: RequestInProgress,
}

impl<B: Body + Unpin> Body for ResponseBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        this.request.0.pass_to(if polled.is_pending() { Turn::Server } else { Turn::Client });
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
