//! How many requests may be in flight: more by one for each round of quick answers, fewer by a part when the server slows
//! down or refuses (additive increase, multiplicative decrease), as TCP finds out what a path bears.

use std::time::Duration;

use tokio::time::Instant;

/// Requests in flight before anything is known of the server.
const START: f64 = 16.0;
/// Slowness and failures alone never bring the window below this: a server far away answers slowly, and well.
const SLOW_LEAST: f64 = 8.0;
/// The part of the window that remains after a refusal.
const AFTER_REFUSAL: f64 = 0.5;
/// The part that remains when answers take long.
const AFTER_SLOWNESS: f64 = 0.9;

/// Answers are slow that take so many times as long as those of an idle server…
const SLOW_TIMES: f64 = 4.0;
/// … and this much longer, in seconds: a person would notice.
const SLOW_BY: f64 = 0.05;
/// Weight of one answer in what is usual at present.
const PRESENT_WEIGHT: f64 = 0.1;
/// Weight of one answer in what an idle server needs, where it took longer although few were in flight: what is slow then
/// is not slow because of us, and a server that has become slower for good is known as such after some dozen answers.
const IDLE_WEIGHT: f64 = 0.02;

/// The server's state by the answer to one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Signal {
    /// It answered after this time, as a quick request is answered.
    Answered(Duration),
    /// It answered, and how long that took says nothing: a list is as long as it is.
    Fine,
    /// It has too much to do, and may say how long it wants to be left alone.
    Refused(Option<Duration>),
    /// It did not answer, or could not.
    Failed,
}

/// How long answers take at present, and how long they take when the server is idle; in seconds.
#[derive(Debug, Default)]
struct Latency {
    idle: Option<f64>,
    present: Option<f64>,
}

impl Latency {
    /// `few`: as few requests were in flight as slowness leaves.
    fn add(&mut self, took: Duration, few: bool) {
        let took = took.as_secs_f64();
        let toward = |from: f64, weight: f64| from + (took - from) * weight;
        let idle = self.idle.map_or(took, |idle| if few { toward(idle, IDLE_WEIGHT) } else { idle });
        self.idle = Some(idle.min(took));
        self.present = Some(self.present.map_or(took, |present| toward(present, PRESENT_WEIGHT)));
    }

    fn is_slow(&self) -> bool {
        let (Some(idle), Some(present)) = (self.idle, self.present) else { return false };
        present > idle * SLOW_TIMES + SLOW_BY
    }
}

/// The window of one priority level.
#[derive(Debug)]
pub(super) struct Window {
    limit: f64,
    most: f64,
    /// Until the first sign that it is too large the window grows by one for each answer, afterwards for each round.
    is_exploring: bool,
    /// When it last shrank: what was sent before was sent into a larger window, and says nothing of this one.
    shrunk: Option<Instant>,
    latency: Latency,
}

impl Window {
    /// A window of never more than so many requests.
    pub(super) fn new(most: usize) -> Self {
        let most = f64::from(u32::try_from(most.max(1)).unwrap_or(u32::MAX));
        Self { limit: START.min(most), most, is_exploring: true, shrunk: None, latency: Latency::default() }
    }

    /// How many requests may be in flight.
    pub(super) fn limit(&self) -> usize {
        // At least one and never more than a number that was a `usize` before.
        self.limit as usize
    }

    /// The answer to a request that was sent then. `full`: the window was used up, so that it may have been too small.
    pub(super) fn answered(&mut self, signal: Signal, sent: Instant, now: Instant, full: bool) {
        match signal {
            Signal::Refused(_) => self.shrink(AFTER_REFUSAL, 1.0, sent, now),
            Signal::Failed => self.shrink(AFTER_REFUSAL, SLOW_LEAST, sent, now),
            Signal::Fine => self.grow(full),
            Signal::Answered(took) => {
                self.latency.add(took, self.limit <= SLOW_LEAST);
                match self.latency.is_slow() {
                    true => self.shrink(AFTER_SLOWNESS, SLOW_LEAST, sent, now),
                    false => self.grow(full),
                }
            }
        }
    }

    fn grow(&mut self, full: bool) {
        if full {
            let step = if self.is_exploring { 1.0 } else { 1.0 / self.limit };
            self.limit = (self.limit + step).min(self.most);
        }
    }

    /// Once for all requests of one round.
    fn shrink(&mut self, factor: f64, least: f64, sent: Instant, now: Instant) {
        self.is_exploring = false;
        if self.shrunk.is_some_and(|shrunk| sent <= shrunk) {
            return;
        }
        self.shrunk = Some(now);
        // A window that a refusal brought below what slowness may is not widened by slowness.
        self.limit = (self.limit * factor).max(least.min(self.limit)).max(1.0);
    }
}
