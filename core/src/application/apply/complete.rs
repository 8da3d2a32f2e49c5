//! Proof that a whole set was applied, without which nothing is pruned.

use std::collections::BTreeSet;

use super::applied::Applied;
use crate::application::desired::Desired;
use crate::application::record::{Owned, Record};

/// Proof that the whole set with one identity was applied by this reconcile; made nowhere else.
pub(super) struct Complete<'a> {
    desired: &'a Desired,
}

impl<'a> Complete<'a> {
    /// Nothing where a component waits, where a write failed, or where a former object is still there.
    pub(super) fn of(desired: &'a Desired, begun: usize, applied: &Applied) -> Option<Self> {
        (begun >= desired.nodes.len() && applied.has_no_gap()).then_some(Self { desired })
    }

    /// What was applied.
    pub(super) fn desired(&self) -> &'a Desired {
        self.desired
    }

    /// The record of the set: what else is in it is marked as unwanted, and it is complete without that.
    pub(super) fn settle(&self, record: &mut Record) {
        let wanted = wanted(self.desired);
        for (owned, entry) in &mut record.entries {
            entry.unwanted = !wanted.contains(owned) && !self.desired.form.keeps(owned);
        }
        record.complete = record.entries.values().all(|entry| !entry.unwanted);
    }
}

/// The objects that a set names.
pub(super) fn wanted(desired: &Desired) -> BTreeSet<Owned> {
    desired.pieces().map(|(_, piece)| piece.owned()).collect()
}
