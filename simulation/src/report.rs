//! Reports to people what a simulation found.

use std::fmt;

use crate::search::Total;

/// The findings of a simulation.
#[derive(Debug)]
pub struct Report {
    pub(crate) total: Total,
    pub(crate) threads: usize,
    pub(crate) seconds: f64,
    pub(crate) outcome: Result<(), String>,
}

impl Report {
    /// Nothing, where every promise was kept; else the smallest schedule that breaks one.
    ///
    /// # Errors
    ///
    /// A schedule broke a promise that it is not known to break, or kept one that it is known to break.
    pub fn outcome(self) -> Result<(), String> {
        self.outcome
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { total, threads, seconds, .. } = self;
        let count = total.schedules.max(1) as f64;
        for line in &total.trace {
            writeln!(f, "{line}")?;
        }
        writeln!(
            f,
            "simulate: {} schedules in {seconds:.1} s on {threads} threads: {:.2} ms, {:.0} steps, {:.0} requests each",
            total.schedules,
            seconds * 1000.0 * *threads as f64 / count,
            total.steps as f64 / count,
            total.requests as f64 / count,
        )?;
        writeln!(f, "simulate: fingerprint {:016x}", total.fingerprint)?;
        let [cluster, steps, end] = total.times.map(|time| time.as_secs_f64() * 1000.0 / count);
        writeln!(f, "simulate: of this cluster {cluster:.2} ms, steps {steps:.2} ms, end {end:.2} ms")?;
        for (promise, seeds) in &total.broken {
            let (count, first) = (seeds.len(), &seeds[..seeds.len().min(5)]);
            writeln!(f, "simulate: {promise:?} is broken by {count} schedules, first by {first:?}")?;
        }
        if !total.known.is_empty() {
            let count = total.known.len();
            writeln!(f, "simulate: {count} schedules break the promise they are known to break")?;
        }
        Ok(())
    }
}
