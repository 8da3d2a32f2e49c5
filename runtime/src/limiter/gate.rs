//! Where the requests of one priority level wait for their turn: first come, first served, events behind the rest.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::figures::Figures;
use super::window::{Signal, Window};

/// Longest time that a server is left alone because it asks for that; then one request finds out how it is.
const PAUSE_AT_MOST: Duration = Duration::from_secs(10);
/// Of so many turns one is for what can wait, if anything does: it is not to wait for ever.
const TURNS_OF_A_ROUND: u32 = 8;

/// How soon a request has to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// When its turn comes.
    Normal,
    /// When nothing else waits: it only reports.
    Low,
}

/// The gate of one priority level.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    window: Window,
    in_flight: usize,
    normal: VecDeque<oneshot::Sender<Permit>>,
    low: VecDeque<oneshot::Sender<Permit>>,
    turns: u32,
    paused_until: Option<Instant>,
}

/// The place of one request, until it is answered or given up.
#[derive(Debug)]
pub(super) struct Permit {
    gate: Arc<Gate>,
    sent: Instant,
    /// Its place was given back already.
    is_returned: bool,
}

impl State {
    /// The next request; none while the window is used up or the server is left alone.
    fn next(&mut self, now: Instant) -> Option<oneshot::Sender<Permit>> {
        if self.is_closed(now) {
            return None;
        }
        self.turns = self.turns.wrapping_add(1);
        let low_first = self.turns.is_multiple_of(TURNS_OF_A_ROUND);
        let next = match low_first {
            true => self.low.pop_front().or_else(|| self.normal.pop_front()),
            false => self.normal.pop_front().or_else(|| self.low.pop_front()),
        }?;
        self.in_flight += 1;
        Some(next)
    }

    fn is_closed(&self, now: Instant) -> bool {
        self.in_flight >= self.window.limit() || self.paused_until.is_some_and(|until| now < until)
    }

    fn waiting(&self) -> usize {
        self.normal.len() + self.low.len()
    }
}

impl Gate {
    /// The gate of never more than so many requests in flight.
    pub(super) fn new(most: usize) -> Arc<Self> {
        let state = State {
            window: Window::new(most),
            in_flight: 0,
            normal: VecDeque::new(),
            low: VecDeque::new(),
            turns: 0,
            paused_until: None,
        };
        Arc::new(Self { state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wait for a place.
    pub(super) async fn enter(self: &Arc<Self>, urgency: Urgency) -> Permit {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.lock();
            match urgency {
                Urgency::Normal => state.normal.push_back(sender),
                Urgency::Low => state.low.push_back(sender),
            }
        }
        self.admit();
        // The gate that holds the sender lives as long as this future, so there is an answer.
        let mut permit = receiver.await.unwrap_or_else(|_| self.uncounted());
        permit.sent = Instant::now();
        permit
    }

    fn permit(self: &Arc<Self>, is_returned: bool) -> Permit {
        Permit { gate: self.clone(), sent: Instant::now(), is_returned }
    }

    /// A place that was never taken, and so is not given back.
    fn uncounted(self: &Arc<Self>) -> Permit {
        self.permit(true)
    }

    /// Gives every free place to the request that waits longest.
    fn admit(self: &Arc<Self>) {
        loop {
            let next = self.lock().next(Instant::now());
            let Some(next) = next else { return };
            // The waiting request may have given up; its place is free again then, and this loop offers it to the next.
            if let Err(mut permit) = next.send(self.permit(false)) {
                permit.is_returned = true;
                self.lock().in_flight -= 1;
            }
        }
    }

    /// No request is sent before this time is over.
    fn pause(self: &Arc<Self>, time: Duration) {
        let until = Instant::now() + time.min(PAUSE_AT_MOST);
        {
            let mut state = self.lock();
            if state.paused_until.is_some_and(|known| known >= until) {
                return;
            }
            state.paused_until = Some(until);
        }
        let gate = Arc::downgrade(self);
        tokio::spawn(async move {
            sleep_until(until).await;
            if let Some(gate) = gate.upgrade() {
                gate.admit();
            }
        });
    }

    /// The requests in flight.
    pub(super) fn figures(&self) -> Figures {
        let state = self.lock();
        Figures { in_flight: state.in_flight, waiting: state.waiting(), limit: state.window.limit() }
    }
}

impl Permit {
    /// The request was answered, or failed; its place is free.
    pub(super) fn answered(self, signal: Signal) {
        {
            let mut state = self.gate.lock();
            let full = state.waiting() > 0 || state.in_flight >= state.window.limit();
            let before = state.window.limit();
            state.window.answered(signal, self.sent, Instant::now(), full);
            let limit = state.window.limit();
            if limit < before {
                tracing::debug!(?signal, before, limit, "the API server bears fewer requests in flight");
            }
        }
        if let Signal::Refused(Some(time)) = signal {
            self.gate.pause(time);
        }
    }

    /// How long ago it was sent.
    pub(super) fn elapsed(&self) -> Duration {
        self.sent.elapsed()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.is_returned {
            return;
        }
        self.gate.lock().in_flight -= 1;
        self.gate.admit();
    }
}
