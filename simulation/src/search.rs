//! Runs many seeds on many threads and counts what they cost and which broke a promise.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::arguments::Arguments;
use crate::draws::Draws;
use crate::known;
use crate::shrink::explain;
use crate::subject::Schedules;

/// All schedules together.
#[derive(Debug, Default)]
pub(crate) struct Total {
    pub(crate) schedules: u64,
    pub(crate) steps: u64,
    pub(crate) requests: u64,
    /// Real time of making the clusters, of the steps and of the ends.
    pub(crate) times: [Duration; 3],
    /// Seeds by the promise they broke.
    pub(crate) broken: BTreeMap<&'static str, Vec<u64>>,
    /// Seeds that broke the promise they are known to break, and listed ones that kept it.
    pub(crate) known: Vec<u64>,
    mended: Vec<u64>,
    /// Equal for equal runs.
    pub(crate) fingerprint: u64,
    failed: Option<u64>,
    /// The log of events, where a person will read it.
    pub(crate) trace: Vec<String>,
}

/// Run the seeds on all threads; the first failing seed ends it.
pub(crate) fn search<S: Schedules>(arguments: &Arguments, schedules: &S) -> Result<Total, String> {
    let next = AtomicU64::new(arguments.first);
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    let total = Mutex::new(Total::default());
    let outcome: Result<Vec<()>, String> = std::thread::scope(|scope| {
        let worker = || -> Result<(), String> {
            let mut baselines = S::Baselines::default();
            let keep_trace = arguments.verbose && arguments.seeds == 1;
            loop {
                let seed = next.fetch_add(1, Ordering::SeqCst);
                let late = began.elapsed().as_secs() >= arguments.seconds;
                if seed >= arguments.first + arguments.seeds || late || stop.load(Ordering::SeqCst) {
                    return Ok(());
                }
                if !schedules.has(seed) {
                    continue;
                }
                let outcome = schedules.run(Draws::new(seed), keep_trace, &mut baselines);
                let mut total = total.lock().map_err(|error| error.to_string())?;
                total.trace.extend(outcome.trace);
                total.schedules += 1;
                total.steps += outcome.steps as u64;
                total.requests += outcome.requests;
                total.fingerprint ^= outcome.fingerprint.rotate_left(u32::try_from(seed % 64).unwrap_or(0));
                total.times.iter_mut().zip(outcome.times).for_each(|(total, time)| *total += time);
                let open = known::promise(seed).filter(|_| arguments.forgives());
                match outcome.violation {
                    None if open.is_some() => total.mended.push(seed),
                    None => {}
                    Some(violation) if open == Some(violation.promise) => total.known.push(seed),
                    Some(violation) => {
                        stop.store(!arguments.keep_going, Ordering::SeqCst);
                        total.broken.entry(violation.promise).or_default().push(seed);
                        total.failed = Some(total.failed.map_or(seed, |known| known.min(seed)));
                    }
                }
            }
        };
        let threads: Vec<_> = (0..arguments.threads).map(|_| scope.spawn(worker)).collect();
        let ended =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?);
        ended.collect()
    });
    outcome?;
    total.into_inner().map_err(|error| error.to_string())
}

/// A broken promise that is not known is an error, and so is a known one that is kept.
pub(crate) fn judge<S: Schedules>(total: &Total, arguments: &Arguments, schedules: &S) -> Result<(), String> {
    match (total.failed, total.mended.is_empty()) {
        (Some(seed), _) => Err(explain(seed, arguments.verbose, schedules)),
        (None, false) => {
            Err(format!("seeds {:?} keep their promises: take them out of known.rs", total.mended))
        }
        (None, true) => Ok(()),
    }
}
