//! The inputs of one evaluation.

use std::{cell::RefCell, sync::Arc};

use crate::{input::Positions, ir::ExprId, source::Source};

/// All inputs of one evaluation.
#[derive(Default)]
pub(crate) struct Inputs {
    pub(super) given: Vec<Given>,
    /// The texts that positions lead into, in the order they were met.
    pub(super) files: RefCell<Vec<Arc<Source>>>,
}

pub(super) struct Given {
    pub(super) root: ExprId,
    /// How many names lead from the root of the expression to the input's value.
    pub(super) wrapped: usize,
    pub(super) patch: bool,
    pub(super) positions: Option<Arc<dyn Positions>>,
}
