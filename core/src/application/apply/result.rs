//! The result of the apply phase of one reconcile. Only the phase that applies makes one; those that follow read it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::api::DynamicObject;
use vela_engine::ObjectKey;

/// The objects that this reconcile applied.
#[derive(Debug)]
pub(crate) struct Applied {
    live: BTreeMap<ObjectKey, Arc<DynamicObject>>,
    errors: BTreeMap<ObjectKey, String>,
    left_away: BTreeSet<ObjectKey>,
    /// How many of the errors need no further try: only a change, which wakes us, can help.
    refused: usize,
    /// Something is to be made again, and its former object is still there.
    waiting_for_room: bool,
    /// Those of the errors that another try of the same object ends alike.
    lasting: BTreeSet<ObjectKey>,
    complete: bool,
    again: Option<Duration>,
}

/// The result for one component.
#[derive(Default)]
pub(super) struct Part {
    pub(super) live: Vec<(ObjectKey, Arc<DynamicObject>)>,
    /// Objects that a user deleted, and that a policy keeps from being made again.
    pub(super) left_away: Vec<ObjectKey>,
    /// The first failure, which leaves the rest of the component alone.
    pub(super) error: Option<(ObjectKey, String)>,
    /// Only a change of the application or of the object can help against it.
    pub(super) is_final: bool,
    /// One is to be made again, which leaves the rest of the component alone: when to come again.
    pub(super) later: Option<Option<Duration>>,
    /// Another try of the same object ends alike.
    pub(super) is_lasting: bool,
}

impl Applied {
    /// The result before the first write.
    pub(super) fn nothing() -> Self {
        Self {
            live: BTreeMap::new(),
            errors: BTreeMap::new(),
            left_away: BTreeSet::new(),
            refused: 0,
            waiting_for_room: false,
            lasting: BTreeSet::new(),
            complete: false,
            again: None,
        }
    }

    pub(super) fn add(&mut self, part: Part) {
        self.live.extend(part.live);
        self.left_away.extend(part.left_away);
        if part.is_final {
            self.refused += usize::from(part.error.is_some());
        }
        if part.is_final || part.is_lasting {
            self.lasting.extend(part.error.iter().map(|(name, _)| name.clone()));
        }
        self.errors.extend(part.error);
        if let Some(again) = part.later {
            self.waiting_for_room = true;
            self.again = [self.again, again].into_iter().flatten().min();
        }
    }

    /// Was everything written that was begun?
    pub(super) fn has_no_gap(&self) -> bool {
        self.errors.is_empty() && !self.waiting_for_room
    }

    pub(super) fn come_again(&mut self, after: Duration) {
        self.again = Some(after);
    }

    /// The whole set was applied, and what else there was is pruned or waits for its quiet time.
    pub(super) fn completed(self) -> Self {
        Self { complete: true, ..self }
    }

    /// The live objects, under the names the graph gave.
    pub(crate) fn live(&self) -> &BTreeMap<ObjectKey, Arc<DynamicObject>> {
        &self.live
    }

    /// The failed writes, with their reasons.
    pub(crate) fn errors(&self) -> &BTreeMap<ObjectKey, String> {
        &self.errors
    }

    /// The objects that a user deleted, and that a policy keeps from being made again.
    pub(crate) fn left_away(&self) -> &BTreeSet<ObjectKey> {
        &self.left_away
    }

    /// Does another try of this object end alike?
    pub(crate) fn is_lasting(&self, name: &ObjectKey) -> bool {
        self.lasting.contains(name)
    }

    /// Everything that is wanted was applied.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// May another try help against one of the errors?
    pub(crate) fn may_be_retried(&self) -> bool {
        self.errors.len() > self.refused
    }

    /// When to come again although nothing changes: something unwanted waits for its quiet time.
    pub(crate) fn again(&self) -> Option<Duration> {
        self.again
    }
}
