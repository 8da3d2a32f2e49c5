//! The limits of the evaluation of a template.

use std::sync::Arc;

use vela_cue::{Budget, Guard};

/// Bytes that the evaluation of one template may take unless told otherwise: a thousand times what a large one takes.
pub const MEMORY: usize = 64 << 20;

/// The limits of each evaluation, and the judge that lets it go on.
#[derive(Clone)]
pub struct Limits {
    /// The limits of one evaluation.
    pub budget: Budget,
    /// The lender of memory, which also ends computations; none by default.
    pub guard: Option<Arc<dyn Guard>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { budget: Budget { memory: MEMORY, ..Budget::default() }, guard: None }
    }
}

impl Limits {
    pub(super) fn are_usual(&self) -> bool {
        self.guard.is_none() && self.budget == Self::default().budget
    }
}
