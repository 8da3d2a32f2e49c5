//! What an evaluation uses up, held against its budget: a hostile template ends with a diagnostic.

use super::{Env, Evaluation, Fault, Vertex, VertexId};
use crate::{
    diagnostic::Code,
    ir::{self, ExprId},
};

/// What one evaluation may use up before it is stopped with a diagnostic.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Conjuncts and operations.
    pub steps: u64,
    /// Nesting of values.
    pub depth: u32,
    /// Bytes of output: text, and [`NODE_SIZE`] for each value.
    pub output: usize,
    /// Bytes of values in the making and of texts.
    pub memory: usize,
}

impl Default for Budget {
    /// Enough for templates a hundred times larger than any known one, and less than a few seconds of work.
    fn default() -> Self {
        Self { steps: 10_000_000, depth: 400, output: 64 << 20, memory: 1 << 30 }
    }
}

/// What a value of the output counts beside its text.
pub(crate) const NODE_SIZE: usize = 32;

/// Most values that are written as syntax or as a tree: far more than anybody reads.
const MAX_WRITTEN: usize = 1_000_000;

/// Most pairs that are compared to tell two disjuncts apart; beyond that they count as different.
pub(crate) const MAX_COMPARED: u32 = 100_000;

/// Bytes or bits that are worked on in the time of one step.
const STEP_SIZE: usize = 64;

impl Evaluation {
    /// Counts a step; fails when the budget is used up.
    pub(crate) fn step(&mut self, place: ExprId) -> Result<(), Fault> {
        self.steps += 1;
        if self.steps > self.budget.steps {
            let limit = self.budget.steps;
            return Err(self.fault(Code::Budget, format!("evaluation stopped after {limit} steps"), place));
        }
        let values = self.vertices.len();
        if values >= ir::MAX_VERTICES - 1 {
            return Err(self.fault(Code::Budget, format!("evaluation stopped at {values} values"), place));
        }
        let used = values * size_of::<Vertex>() + self.envs.len() * size_of::<Env>() + self.text_size;
        if used > self.budget.memory {
            return Err(self.out_of_memory(place));
        }
        Ok(())
    }

    /// Counts work on something of that size.
    pub(crate) fn work(&mut self, size: usize, place: ExprId) -> Result<(), Fault> {
        self.steps += (size / STEP_SIZE) as u64;
        self.step(place)
    }

    /// Counts a text before it is made.
    pub(crate) fn grow(&mut self, size: usize, place: ExprId) -> Result<(), Fault> {
        self.text_size = self.text_size.saturating_add(size);
        if self.text_size > self.budget.memory {
            return Err(self.out_of_memory(place));
        }
        self.work(size, place)
    }

    fn out_of_memory(&self, place: ExprId) -> Fault {
        let limit = self.budget.memory;
        self.fault(Code::Budget, format!("evaluation stopped at {limit} bytes of memory"), place)
    }

    /// A number that marks the vertices of one walk over values, which sharing makes a graph.
    pub(crate) fn new_walk(&mut self) -> u32 {
        self.walks += 2;
        self.walks
    }

    /// Marks a vertex as seen in a walk; false when it was before.
    pub(crate) fn enter(&mut self, vertex: VertexId, walk: u32) -> bool {
        std::mem::replace(&mut self.vm(vertex).walk, walk) != walk
    }

    /// Starts writing a value as syntax or as a tree.
    pub(crate) fn start_writing(&mut self) {
        self.written = 0;
    }

    /// Counts a value that is written; false when it is one too many.
    pub(crate) fn may_write(&mut self) -> bool {
        self.written += 1;
        self.written <= MAX_WRITTEN
    }
}
