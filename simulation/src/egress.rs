//! The servers that controllers ask in a schedule: a service that says yes to hooks until people want it to say no, and measures
//! well.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use vela_core::EgressOverride;

/// A hook that says no is asked again in the next reconcile, and not in this one.
const NO: u16 = 403;
const YES: u16 = 200;
/// The value of every metric.
const MEASURED: f64 = 0.5;

/// The service; clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct EgressService {
    refuses: Arc<AtomicBool>,
}

impl EgressService {
    /// From now on hooks are told no, or yes.
    pub(crate) fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::SeqCst);
    }

    /// Are hooks told no?
    pub(crate) fn refuses(&self) -> bool {
        self.refuses.load(Ordering::SeqCst)
    }
}

impl EgressOverride for EgressService {
    fn answer(&self, _: &str, _: &str, _: &[u8]) -> Result<(u16, Vec<u8>), String> {
        Ok((if self.refuses() { NO } else { YES }, Vec::new()))
    }

    fn measure(&self, _: &str) -> Option<Result<f64, String>> {
        Some(Ok(MEASURED))
    }
}
