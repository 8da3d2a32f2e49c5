//! The budget of one evaluation, its lender, and the price of its parts.

use std::sync::Arc;
use std::time::Duration;

use super::vertex::{Env, Vertex};

/// The limits of one evaluation, beyond which a diagnostic stops it.
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

/// The lender of evaluations' memory, which also says when they have to end. An evaluation knows no clock and no
/// neighbours: it asks. A refusal is a reason in words, and the evaluation ends with it.
pub trait Guard: Send + Sync {
    /// The evaluation calls this about every thousand steps: why it has to end now.
    ///
    /// # Errors
    /// Why the evaluation has to end.
    fn go_on(&self) -> Result<(), String>;

    /// The evaluation calls this before it uses so many bytes more; may wait.
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

/// The debt of an evaluation to its guard; settled when it is dropped.
pub(crate) struct Loan {
    pub(super) guard: Option<Arc<dyn Guard>>,
    pub(super) bytes: usize,
    /// The time of the guard's clock when it began.
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

/// The price of a value of the output beside its text.
pub(crate) const NODE_SIZE: usize = 32;

/// The price of an entry of a map beside its content, where the map is as empty as it may be.
pub(crate) const MAP_ENTRY: usize = 32;

/// The price of a label beside its text: it stands in a list and in a map.
pub(crate) const LABEL_SIZE: usize = 2 * size_of::<Arc<str>>() + 2 * size_of::<usize>() + MAP_ENTRY;

/// The price of a level of names.
pub(crate) const ENV_SIZE: usize = size_of::<Env>();

/// The price of a vertex beside its content.
pub(crate) const VERTEX_SIZE: usize = size_of::<Vertex>();
