//! Proof that a whole set was applied, without which nothing is pruned.

use std::collections::BTreeSet;

use super::result::Applied;
use crate::application::desired::Desired;
use crate::application::inventory::{Owned, Record};

/// Proof that the set with one identity was applied by this reconcile, as far as it ever will be; made nowhere else.
pub(super) struct Complete<'a> {
    desired: &'a Desired,
    is_whole: bool,
}

impl<'a> Complete<'a> {
    /// Nothing where a component waits, where a write failed, or where a former object is still there. Components that a
    /// failed workflow will never begin count as applied only where the application's garbage-collect policy goes on
    /// then: their objects are wanted all the same, and stay.
    pub(super) fn of(
        desired: &'a Desired,
        (begun, blocked): (usize, usize),
        applied: &Applied,
        record: &Record,
    ) -> Option<Self> {
        // A component that is rendered later, and never was, is still to come.
        let is_whole = begun >= desired.nodes.len() && desired.was_made(record);
        let goes_on = desired.garbage_collect.continues_on_failure()
            && blocked > 0
            && begun + blocked >= desired.nodes.len();
        ((is_whole || goes_on) && applied.has_no_gap()).then_some(Self { desired, is_whole })
    }

    /// The applied objects.
    pub(super) fn desired(&self) -> &'a Desired {
        self.desired
    }

    /// Was everything applied that is wanted?
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The record of the set: what else is in it is marked as unwanted, and it is complete without that.
    pub(super) fn settle(&self, record: &mut Record) {
        let wanted = wanted(self.desired);
        for (owned, entry) in &mut record.entries {
            entry.unwanted = !wanted.contains(owned) && !self.desired.keeps(owned, entry);
        }
        record.complete = self.is_whole && record.entries.values().all(|entry| !entry.unwanted);
    }
}

/// The objects that a set names.
pub(super) fn wanted(desired: &Desired) -> BTreeSet<Owned> {
    desired.pieces().map(|(_, piece)| piece.owned()).collect()
}
