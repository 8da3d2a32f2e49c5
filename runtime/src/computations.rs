//! Shares processors and memory among the computations of one process; each gets an allowance and gives it back when it
//! ends.
//!
//! A computation begins with a place and a little memory. One that takes long or wants much gives its place to the next
//! and goes on among the *large* ones, of which there are few: those that end soon never wait behind those that do not. A
//! large one has all the memory it may ever take, so none waits for another that waits for it.
//!
//! Each has a thread of its own, whose priority sinks the longer it takes: where there are fewer processors than
//! computations, those that end soon are not slowed down by those that do not.
//!
//! No caller can end a computation from outside: it asks, often, and ends itself when it is refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes that a computation has from the start.
const SMALL: usize = 4 << 20;

/// Processor time after which a computation counts as large.
const SOON: Duration = Duration::from_millis(100);

/// Processor time of a thread after which it lets others go first, and how much nicer it becomes to them (`nice(2)`: 1 has
/// four fifths of the weight, 10 a tenth, 19 a hundredth).
const SINKS: [(Duration, i32); 2] = [(Duration::from_millis(10), 5), (Duration::from_millis(40), 14)];

/// Computations that may wait to become large ones; each holds what it had from the start.
const WAITING: usize = 16;

/// How often one that waits looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(20);

/// The limits of the computations of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Computations at once, beside the large ones.
    pub at_once: usize,
    /// Bytes of one computation.
    pub memory: usize,
    /// Bytes of all computations together.
    pub total: usize,
    /// Processor time of one step of a computation; how many steps it has is the caller's affair.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { at_once: 4, memory: 64 << 20, total: 256 << 20, time: Duration::from_secs(2) }
    }
}

impl Limits {
    /// Large computations at once: what the small ones leave of the memory, of the places and of the processors, of each
    /// half at most; one at least.
    fn large(&self, processors: usize) -> usize {
        let small = (self.at_once + WAITING) * SMALL.min(self.memory);
        let by_memory = self.total.saturating_sub(small) / self.memory.max(1);
        by_memory.min(self.at_once / 2).min(processors / 2).max(1)
    }
}

/// The processors and the memory of a process for computations.
#[derive(Clone)]
pub struct Computations {
    shared: Arc<Shared>,
}

struct Shared {
    limits: Limits,
    places: Arc<Semaphore>,
    large: Mutex<Large>,
    /// A large place became free.
    freed: Condvar,
    stopped: AtomicBool,
}

struct Large {
    free: usize,
    waiting: usize,
}

impl std::fmt::Debug for Computations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Computations").field("limits", &self.shared.limits).finish_non_exhaustive()
    }
}

impl Default for Computations {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Computations {
    /// The processors and the memory of a process with these limits.
    pub fn new(limits: Limits) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let large = Mutex::new(Large { free: limits.large(processors), waiting: 0 });
        let places = Arc::new(Semaphore::new(limits.at_once.max(1)));
        let (freed, stopped) = (Condvar::new(), AtomicBool::new(false));
        Self { shared: Arc::new(Shared { limits, places, large, freed, stopped }) }
    }

    /// Their limits.
    pub fn limits(&self) -> Limits {
        self.shared.limits
    }

    /// Ends every computation, those that begin later too.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        self.shared.freed.notify_all();
    }

    /// Whether they were ended.
    pub fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }

    /// Waits for a place. Whatever the computation does after `until` is refused.
    pub async fn begin(&self, until: Option<Instant>) -> Arc<Allowance> {
        // A runtime of one thread computes one thing at a time, and a run of it can be repeated exactly: there is no
        // neighbour to wait for, and no processor's clock to look at.
        let alone = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        let place = match alone {
            true => None,
            // The semaphore is never closed.
            false => self.shared.places.clone().acquire_owned().await.ok(),
        };
        let held = Held { place, large: alone, lent: 0, sunk: 0 };
        let (cancelled, refused) = (AtomicBool::new(false), OnceLock::new());
        let shared = self.shared.clone();
        Arc::new(Allowance { shared, alone, until, cancelled, refused, held: Mutex::new(held) })
    }
}

/// The allowance of one computation. It ends with the last handle.
pub struct Allowance {
    shared: Arc<Shared>,
    alone: bool,
    until: Option<Instant>,
    cancelled: AtomicBool,
    /// The first reason for a refusal that is not its own.
    refused: OnceLock<String>,
    held: Mutex<Held>,
}

struct Held {
    place: Option<OwnedSemaphorePermit>,
    large: bool,
    lent: usize,
    /// How often the priority of its thread sank.
    sunk: usize,
}

impl std::fmt::Debug for Allowance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Allowance").finish_non_exhaustive()
    }
}

impl Allowance {
    /// No caller waits for the result any more.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.shared.freed.notify_all();
    }

    /// Whether it was refused something for a reason that is not its own: asked for again, it may well succeed.
    pub fn interrupted(&self) -> bool {
        self.refused.get().is_some()
    }

    /// Why it was refused something, if for such a reason.
    pub fn refusal(&self) -> Option<&str> {
        self.refused.get().map(String::as_str)
    }

    /// Processor time that this thread, its own, has used; it stands still where computations must be repeatable.
    pub fn clock(&self) -> Duration {
        if self.alone {
            return Duration::ZERO;
        }
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
    }

    /// Computes on a thread of its own, which serves no later computation: a priority that sank does not rise again. A
    /// panic goes on in the caller. Refused where the system has no thread to give.
    ///
    /// # Errors
    /// The system has no thread to give; the text says so.
    pub fn run<T: Send>(&self, compute: impl FnOnce() -> T + Send) -> Result<T, String> {
        if self.alone {
            return Ok(compute());
        }
        std::thread::scope(|scope| {
            let own = std::thread::Builder::new().name("computation".to_owned()).spawn_scoped(scope, compute);
            match own {
                Ok(own) => Ok(own.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
                Err(error) => self.refuse(&format!("no thread for the evaluation: {error}; try again later")),
            }
        })
    }

    /// Whether it may go on; may wait until a large one may.
    ///
    /// # Errors
    /// Why the computation has to end: no caller waits for it any more, the process ends, or too many want much memory
    /// or time.
    pub fn go_on(&self) -> Result<(), String> {
        self.not_cancelled()?;
        if self.alone {
            return Ok(());
        }
        let used = self.clock();
        let large = {
            let mut held = self.held();
            while let Some((_, more)) = SINKS.get(held.sunk).filter(|(after, _)| used > *after) {
                sink(*more);
                held.sunk += 1;
            }
            held.large
        };
        if !large && used > SOON { self.enlarge() } else { Ok(()) }
    }

    /// So many bytes more; may wait.
    ///
    /// # Errors
    /// Why it gets no more: it is more than all may take together, or one of the reasons of [`Allowance::go_on`].
    pub fn lend(&self, bytes: usize) -> Result<(), String> {
        self.not_cancelled()?;
        let (lent, large) = {
            let held = self.held();
            (held.lent.saturating_add(bytes), held.large)
        };
        let memory = self.shared.limits.memory;
        // A grain more than the limit is what rounding up asks for at the very end.
        if lent > memory.saturating_add(memory / 8) {
            return Err(format!(
                "evaluations that are needed at the same time take more than {memory} bytes"
            ));
        }
        if lent > SMALL && !large {
            self.enlarge()?;
        }
        self.held().lent = lent;
        Ok(())
    }

    /// So many bytes are free again.
    pub fn give_back(&self, bytes: usize) {
        let mut held = self.held();
        held.lent = held.lent.saturating_sub(bytes);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // No code panics while it is locked.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse<T>(&self, reason: &str) -> Result<T, String> {
        // Only the first one is told.
        let _ = self.refused.set(reason.to_owned());
        Err(reason.to_owned())
    }

    fn not_cancelled(&self) -> Result<(), String> {
        if self.shared.stopped.load(Ordering::Relaxed) {
            return self.refuse("evaluation stopped because the process ends");
        }
        if self.cancelled.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until) {
            return self.refuse("evaluation stopped because no caller waits for it any more");
        }
        Ok(())
    }

    /// Gives the place away and becomes one of the large ones.
    fn enlarge(&self) -> Result<(), String> {
        let own = self.held().place.take();
        drop(own);
        let shared = &self.shared;
        let mut large = shared.large.lock().unwrap_or_else(PoisonError::into_inner);
        if large.free == 0 {
            if large.waiting >= WAITING {
                drop(large);
                return self.refuse("too many evaluations want much memory or time; try again later");
            }
            large.waiting += 1;
            while large.free == 0 {
                large = shared.freed.wait_timeout(large, LOOK).unwrap_or_else(PoisonError::into_inner).0;
                if let Err(reason) = self.not_cancelled() {
                    large.waiting -= 1;
                    return Err(reason);
                }
            }
            large.waiting -= 1;
        }
        large.free -= 1;
        drop(large);
        self.held().large = true;
        Ok(())
    }
}

/// Lets other threads go first.
fn sink(more: i32) {
    // Elsewhere it would be the priority of the whole process.
    #[cfg(target_os = "linux")]
    // One that may not sink takes what it can get.
    let _ = rustix::process::nice(more);
    #[cfg(not(target_os = "linux"))]
    let _ = more;
}

impl Drop for Allowance {
    fn drop(&mut self) {
        if self.alone || !self.held().large {
            return;
        }
        self.shared.large.lock().unwrap_or_else(PoisonError::into_inner).free += 1;
        self.shared.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits =
        Limits { at_once: 2, memory: 64 << 20, total: 256 << 20, time: Duration::from_secs(2) };

    #[tokio::test(flavor = "multi_thread")]
    async fn one_that_wants_much_gives_its_place_to_the_next() {
        let computations = Computations::new(LIMITS);
        let first = computations.begin(None).await;
        let second = computations.begin(None).await;
        first.lend(SMALL + 1).expect("the only large one");
        let third = computations.begin(None).await;
        second.lend(SMALL).expect("small");
        // The second one has to wait for the first, and does not take the third one's place meanwhile.
        let waits = {
            let second = second.clone();
            tokio::task::spawn_blocking(move || second.lend(1))
        };
        let fourth = computations.begin(None).await;
        drop((third, fourth, first));
        waits.await.expect("a thread").expect("large now");
        assert!(!second.interrupted());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_that_waits_can_be_cancelled_and_stopped() {
        let computations = Computations::new(LIMITS);
        let first = computations.begin(None).await;
        first.lend(SMALL + 1).expect("large");
        for stop in [false, true] {
            let second = computations.begin(None).await;
            let waits = {
                let second = second.clone();
                tokio::task::spawn_blocking(move || second.lend(SMALL + 1))
            };
            if stop {
                computations.stop()
            } else {
                second.cancel()
            }
            assert!(waits.await.expect("a thread").is_err());
            assert!(second.interrupted());
        }
        assert!(first.go_on().is_err(), "the process ends");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_too_much_for_one_is_its_own_fault() {
        let computations = Computations::new(LIMITS);
        let one = computations.begin(None).await;
        one.lend(60 << 20).expect("within its limit");
        assert!(one.lend(20 << 20).is_err() && !one.interrupted());
        one.give_back(60 << 20);
        one.lend(20 << 20).expect("what was given back is there again");
        let late = computations.begin(Some(Instant::now())).await;
        assert!(late.go_on().is_err() && late.interrupted());
    }

    #[tokio::test]
    async fn one_thread_has_no_clock_and_no_neighbours() {
        let computations = Computations::new(LIMITS);
        let all =
            [computations.begin(None).await, computations.begin(None).await, computations.begin(None).await];
        for one in &all {
            one.lend(LIMITS.memory).expect("no other computation runs");
            assert!(one.clock() == Duration::ZERO && one.go_on().is_ok());
        }
    }

    #[test]
    fn large_ones_have_what_small_ones_leave() {
        assert_eq!(Limits::default().large(8), 2);
        assert_eq!(Limits::default().large(2), 1, "a processor is left for those that end soon");
        assert_eq!(Limits { total: 1, ..LIMITS }.large(8), 1);
        assert_eq!(Limits { at_once: 16, total: 1 << 30, ..LIMITS }.large(16), 8);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test(flavor = "multi_thread")]
    async fn a_long_computation_lets_others_go_first() {
        // Nineteenth in `proc(5)`, counted behind the name, which may hold blanks.
        fn nice() -> i32 {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("this thread");
            let behind = stat.rsplit_once(')').expect("a name").1;
            behind.split_whitespace().nth(16).and_then(|nice| nice.parse().ok()).expect("a number")
        }
        let computations = Computations::new(LIMITS);
        let allowance = computations.begin(None).await;
        let before = nice();
        let (soon, late) = allowance
            .run(|| {
                let soon = nice();
                while allowance.clock() < SOON {
                    allowance.go_on().expect("no other computation runs");
                }
                (soon, nice())
            })
            .expect("a thread");
        let sum: i32 = SINKS.iter().map(|(_, more)| more).sum();
        assert_eq!((soon, late, nice()), (before, (before + sum).min(19), before));
    }
}
