//! Runs work on a clock that jumps to the next moment at which something is due, and gives its time to what is written.

use std::future::Future;
use std::io;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use vela_apiserver::Clock;
use vela_runtime::clock;

/// When simulated clusters begin: 2026-01-01. Any moment does, as long as it is the same in every run.
pub const EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// Runs it here.
///
/// # Errors
///
/// The runtime cannot be built.
pub fn run<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(work))
}

/// Runs it on a thread and clock of its own: its duration does not show in the time of its caller.
///
/// # Errors
///
/// The runtime cannot be built, or the thread panicked.
pub fn run_apart<T: Send, F: Future<Output = T>>(work: impl FnOnce() -> F + Send) -> io::Result<T> {
    let ended = std::thread::scope(|scope| scope.spawn(|| run(work())).join());
    ended.unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
}

/// The time of tokio's clock as objects carry it. While it lives, what the controllers on this thread write has this time.
#[derive(Debug)]
#[must_use = "the clock is the machine's again when this goes"]
pub struct VirtualClock {
    began: Instant,
    at: Timestamp,
    _of_objects: clock::Set,
}

impl VirtualClock {
    /// Begins at this moment; inside a runtime whose clock is paused.
    pub fn begin(at: Timestamp) -> Self {
        let began = Instant::now();
        Self { began, at, _of_objects: clock::set(move || moment(at, began)) }
    }

    /// The same time for an API server.
    pub fn of_server(&self) -> Clock {
        let (at, began) = (self.at, self.began);
        Clock::from_fn(move || moment(at, began))
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        moment(self.at, self.began)
    }

    /// The moment when it began, for callers that wait until a moment.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// How long ago that was.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

/// In whole milliseconds, as timers have them.
fn moment(at: Timestamp, began: Instant) -> Timestamp {
    let passed = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(at.as_millisecond().saturating_add(passed)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_jumps_for_all_and_is_the_machines_afterwards() {
        const HOUR: Duration = Duration::from_secs(3600);
        let moments = run(async {
            let clock = VirtualClock::begin(EPOCH);
            tokio::time::sleep(HOUR).await;
            [clock.now(), clock.of_server().now(), clock::now()]
        });
        assert_eq!(moments.unwrap(), [EPOCH + HOUR; 3]);
        assert!(clock::now() > EPOCH + HOUR);
    }

    #[test]
    fn what_runs_apart_takes_no_time_here() {
        let passed = run(async {
            let clock = VirtualClock::begin(EPOCH);
            let elsewhere = run_apart(|| async {
                let clock = VirtualClock::begin(EPOCH);
                tokio::time::sleep(Duration::from_secs(60)).await;
                clock.elapsed()
            });
            (elsewhere.unwrap(), clock.elapsed())
        });
        assert_eq!(passed.unwrap(), (Duration::from_secs(60), Duration::ZERO));
    }
}
