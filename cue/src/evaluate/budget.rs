//! What one evaluation may use up, who lends it, and what its parts take.

use std::sync::Arc;
use std::time::Duration;

use super::vertex::{Env, Vertex};

/// What one evaluation may use up before it is stopped with a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Conjuncts and operations.
    pub steps: u64,
    /// Nesting of values.
    pub depth: u32,
    /// Bytes of output: text, and [`NODE_SIZE`] for each value.
    pub output: usize,
    /// Bytes of everything that the evaluation holds: values, texts, numbers, patterns, output.
    pub memory: usize,
    /// Processor time, by the clock of the [`Guard`]; without one it is not looked at.
    pub time: Option<Duration>,
}

impl Default for Budget {
    /// Enough for templates a hundred times larger than any known one, and less than a few seconds of work.
    fn default() -> Self {
        Self { steps: 10_000_000, depth: 400, output: 64 << 20, memory: 1 << 30, time: None }
    }
}

/// Who lends evaluations their memory and says when they have to end. An evaluation knows no clock and no neighbours: it
/// asks. A refusal is a reason in words, and the evaluation ends with it.
pub trait Guard: Send + Sync {
    /// Asked about every thousand steps: why the evaluation has to end now.
    ///
    /// # Errors
    /// Why the evaluation has to end.
    fn go_on(&self) -> Result<(), String>;

    /// Asked for so many bytes more, before they are used; may wait.
    ///
    /// # Errors
    /// Why it gets no more.
    fn lend(&self, bytes: usize) -> Result<(), String>;

    /// So many bytes that were lent are free again.
    fn give_back(&self, bytes: usize);

    /// Processor time used so far; only differences count.
    fn clock(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether it refused for a reason that is not the evaluation's own: the same one may succeed at another time.
    fn interrupted(&self) -> bool {
        false
    }
}

/// What an evaluation owes its guard; settled when it is dropped.
pub(crate) struct Loan {
    pub(super) guard: Option<Arc<dyn Guard>>,
    pub(super) bytes: usize,
    /// What the guard's clock showed when it began.
    pub(super) began: Option<Duration>,
}

impl Loan {
    pub(crate) fn new(guard: Option<Arc<dyn Guard>>) -> Self {
        Self { guard, bytes: 0, began: None }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(guard) = &self.guard
            && self.bytes > 0
        {
            guard.give_back(self.bytes);
        }
    }
}

/// What a value of the output counts beside its text.
pub(crate) const NODE_SIZE: usize = 32;

/// What an entry of a map takes beside its content, where the map is as empty as it may be.
pub(crate) const MAP_ENTRY: usize = 32;

/// What a label takes beside its text: it stands in a list and in a map.
pub(crate) const LABEL_SIZE: usize = 2 * size_of::<Arc<str>>() + 2 * size_of::<usize>() + MAP_ENTRY;

/// What a level of names takes.
pub(crate) const ENV_SIZE: usize = size_of::<Env>();

/// What a vertex takes beside what it holds.
pub(crate) const VERTEX_SIZE: usize = size_of::<Vertex>();
