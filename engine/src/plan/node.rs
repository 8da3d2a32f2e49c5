//! The parts of a plan: components at their places, and the step that cannot succeed.

use std::collections::BTreeSet;

use crate::placement::Placement;

/// A step that cannot succeed: it names a component that is not there. As upstream, the application is taken, and its
/// workflow fails at that step.
#[derive(Debug, Clone)]
pub struct Failing {
    /// Index of the step.
    pub step: usize,
    /// Why it fails.
    pub message: String,
    /// Nodes that only later steps apply.
    pub blocked: BTreeSet<usize>,
}

/// One component at one place.
#[derive(Debug, Clone)]
pub struct Node {
    /// Index of the component in the AppFile.
    pub component: usize,
    /// Where its objects go.
    pub placement: Placement,
    /// Indexes of the nodes that must be healthy before this one is applied.
    pub waits_for: BTreeSet<usize>,
}

impl Node {
    pub(super) fn new(component: usize, placement: Placement) -> Self {
        Self { component, placement, waits_for: BTreeSet::new() }
    }
}
