//! The result of a reconcile: the status, and when to begin anew.

use std::sync::Arc;
use std::time::Duration;

use kube::api::DynamicObject;
use vela_engine::status::{Definitions, Status};
use vela_engine::{Document, Graph};

use super::apply::Applied;
use super::error::PhaseError;

/// The result of a reconcile.
pub(super) struct Outcome {
    pub(super) status: Status,
    /// Everything that is wanted was applied, and nothing else is left.
    pub(super) complete: bool,
    /// Something failed that another try may mend.
    pub(super) retry: bool,
    /// When to come again although nothing changes.
    pub(super) again: Option<Duration>,
    /// All is applied and under way, so that the status may wait for what comes next.
    pub(super) under_way: bool,
    /// The application as the run of its workflow knows it: people steer the run by the status, so it is written over this
    /// version and no other.
    pub(super) steered: Option<Arc<DynamicObject>>,
}

impl Outcome {
    /// Of objects that were applied.
    pub(super) fn applied(status: Status, applied: &Applied) -> Self {
        let (complete, retry) = (applied.is_complete(), applied.may_be_retried());
        Self { status, complete, retry, again: applied.again(), under_way: false, steered: None }
    }

    /// The same where the status may wait while nothing is wrong and something is under way.
    pub(super) fn paced(self) -> Self {
        let under_way = self.complete && !self.retry && !self.status.is_running();
        Self { under_way, ..self }
    }

    /// Where another controller applies them.
    pub(super) fn left_to_others(status: Status, complete: bool) -> Self {
        Self { status, complete, retry: false, again: None, under_way: false, steered: None }
    }

    /// Where an AppRollout brings the revision.
    pub(super) fn rolled(status: Status) -> Self {
        let complete = status.is_running();
        Self::left_to_others(status, complete)
    }

    /// Where a phase failed.
    pub(super) fn failed(document: &Document, error: &PhaseError) -> Self {
        let status = Status::failed(document, error.condition(), error.diagnostics());
        let retry = !error.is_lasting();
        Self { status, complete: false, retry, again: None, under_way: false, steered: None }
    }

    /// The same, telling how the definitions differ from those that are there now, and coming again when a slot may be free.
    pub(super) fn with_definitions(self, definitions: Option<Definitions>, waits: Option<Duration>) -> Self {
        let status = self.status.with_definitions(definitions);
        Self { status, again: self.again.or(waits), ..self }
    }

    /// The same, telling what became of the policies that change the application.
    pub(super) fn with_policies(self, graph: &Graph) -> Self {
        Self { status: self.status.with_policies(graph), ..self }
    }

    /// Is everything applied, and does it run?
    pub(super) fn is_settled(&self) -> bool {
        self.complete && self.status.is_running()
    }
}
