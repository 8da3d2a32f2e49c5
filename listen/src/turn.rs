//! Requests and answers as they pass → whose turn it is on a connection, and since when.

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
    Asked,
}

/// Who is at the other end of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    state: Mutex<State>,
    /// Cancelled when somebody else needs the place.
    pub(crate) out: CancellationToken,
    news: Arc<Notify>,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    /// Requests where it is our turn.
    at_work: usize,
    /// Since when this stage lasts, or since when it is the peer's turn.
    since: Instant,
}

impl Peer {
    pub(crate) fn new(news: Arc<Notify>) -> Self {
        let state = State { stage: Stage::Handshake, at_work: 0, since: Instant::now() };
        Self { state: Mutex::new(state), out: CancellationToken::new(), news }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It came this far. Nobody goes back, so a byte now and then wins no time.
    pub(crate) fn reached(&self, stage: Stage) {
        let mut state = self.state();
        if (state.stage as u8) < stage as u8 {
            state.stage = stage;
            state.since = Instant::now();
        }
    }

    pub(crate) fn has_asked(&self) -> bool {
        self.state().stage == Stage::Asked
    }

    /// Since when it is the peer's turn, if it is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        (state.at_work == 0).then_some(state.since)
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
                    Stage::Asked => limits.idle,
                };
                (state.at_work == 0).then(|| state.since + limit)
            };
            if until.is_some_and(|until| until <= now) {
                return;
            }
            let next = now + look;
            tokio::time::sleep_until(until.map_or(next, |until| until.min(next))).await;
        }
    }

    fn at_work(&self, change: isize) {
        let mut state = self.state();
        state.at_work = state.at_work.saturating_add_signed(change);
        if state.at_work == 0 {
            state.since = Instant::now();
            self.news.notify_one();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Ours,
    Theirs,
    Nobodys,
}

/// One request and its answer.
#[derive(Debug)]
struct Exchange {
    peer: Arc<Peer>,
    whose: Mutex<Whose>,
}

impl Exchange {
    fn turn(&self, now: Whose) {
        let mut whose = self.whose.lock().unwrap_or_else(PoisonError::into_inner);
        let before = *whose;
        if before == Whose::Nobodys || before == now {
            return;
        }
        *whose = now;
        match (before, now) {
            (Whose::Ours, _) => self.peer.at_work(-1),
            (_, Whose::Ours) => self.peer.at_work(1),
            _ => {}
        }
    }
}

/// A request that was read; it is our turn until the answer gives it away, or this is dropped.
#[derive(Debug)]
pub(crate) struct Asked(Arc<Exchange>);

impl Asked {
    pub(crate) fn by(peer: &Arc<Peer>) -> Self {
        peer.reached(Stage::Asked);
        peer.at_work(1);
        Self(Arc::new(Exchange { peer: peer.clone(), whose: Mutex::new(Whose::Ours) }))
    }

    pub(crate) fn body(&self, body: Incoming) -> Received {
        Received { body, exchange: self.0.clone() }
    }

    pub(crate) fn answered<B>(self, body: B) -> Answer<B> {
        Answer { body, asked: self }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.turn(Whose::Nobodys);
    }
}

/// The body of a request. While we wait for more of it, it is the peer's turn.
#[derive(Debug)]
pub struct Received {
    body: Incoming,
    exchange: Arc<Exchange>,
}

impl Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        this.exchange.turn(if polled.is_pending() { Whose::Theirs } else { Whose::Ours });
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        // Whoever waits no longer for the rest has something else to do.
        self.exchange.turn(Whose::Ours);
    }
}

/// The body of an answer. While it has nothing to say it is our turn; while nobody takes what it said, the peer's.
#[derive(Debug)]
pub(crate) struct Answer<B> {
    body: B,
    asked: Asked,
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(context);
        this.asked.0.turn(if polled.is_pending() { Whose::Ours } else { Whose::Theirs });
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
