//! Maps the early end of a reconcile to the message of its condition, and to the time of the next reconcile.

use std::fmt::Display;
use std::time::Duration;

use vela_engine::Secrets;
use vela_runtime::{Action, CONFLICT_WAIT, Failure, Retry, apply, dynamic_watch};

use crate::author::Actor;

/// The reason why a reconcile ended early.
#[derive(Debug)]
pub(crate) struct ReconcileError {
    /// The failed action in a few words: the event's reason and the beginning of the condition's message.
    pub(crate) reason: &'static str,
    message: String,
    next: NextReconcile,
}

/// The time of the next reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextReconcile {
    /// The next change of the object, or of an object that it read, wakes it.
    Wait,
    /// The same, or this time at the latest.
    Again(Duration),
    /// It comes after a back-off that grows.
    Retry,
    /// It comes at once without a report: another writer was faster.
    Quietly,
}

impl ReconcileError {
    /// An error that only a change can mend; the change wakes the reconcile.
    pub(crate) fn wrong(reason: &'static str, error: impl Display) -> Self {
        Self { reason, message: error.to_string(), next: NextReconcile::Wait }
    }

    /// An error that another try may mend.
    pub(crate) fn retry(reason: &'static str, error: impl Display) -> Self {
        Self { reason, message: error.to_string(), next: NextReconcile::Retry }
    }

    /// The reconcile saw a stale object; the next one sees the new one.
    pub(crate) fn changed(reason: &'static str) -> Self {
        Self { reason, message: "it changed meanwhile".to_owned(), next: NextReconcile::Quietly }
    }

    /// An error of a read.
    pub(crate) fn look(reason: &'static str, error: &dynamic_watch::Error) -> Self {
        let next = match error {
            dynamic_watch::Error::Missing { again: Some(again), .. } => NextReconcile::Again(*again),
            dynamic_watch::Error::Missing { again: None, .. } => NextReconcile::Wait,
            _ => NextReconcile::Retry,
        };
        Self { reason, message: error.to_string(), next }
    }

    /// An error of a write.
    pub(crate) fn apply(reason: &'static str, error: &apply::Error, acting: &Actor) -> Self {
        let next = match error.retry() {
            Retry::Conflict => NextReconcile::Quietly,
            Retry::BackOff(_) | Retry::Forbidden => NextReconcile::Retry,
            Retry::Never => NextReconcile::Wait,
        };
        Self { reason, message: acting.explain_apply(error), next }
    }

    /// Does the controller report nothing?
    pub(crate) fn is_quiet(&self) -> bool {
        self.next == NextReconcile::Quietly
    }

    /// Can only a change help?
    pub(crate) fn is_lasting(&self) -> bool {
        self.next == NextReconcile::Wait
    }

    /// The same without confidential values.
    pub(crate) fn without(self, secrets: &Secrets) -> Self {
        Self { message: secrets.hide(&self.message).into_owned(), ..self }
    }

    /// The sentence in the condition and the event.
    pub(crate) fn sentence(&self) -> String {
        format!("{}: {}", self.reason, self.message)
    }

    /// The requeue that the controller asks for.
    pub(crate) fn end(self) -> Result<Action, Failure> {
        match self.next {
            NextReconcile::Wait => Ok(Action::Done),
            NextReconcile::Again(after) => Ok(Action::RequeueAfter(after)),
            NextReconcile::Quietly => Ok(Action::RequeueAfter(CONFLICT_WAIT)),
            NextReconcile::Retry => Err(Failure::retry(self.sentence())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(again: Option<Duration>) -> dynamic_watch::Error {
        dynamic_watch::Error::Missing { api_version: "a/v1".into(), kind: "A".into(), again }
    }

    #[test]
    fn a_missing_kind_waits_for_its_definition() {
        let waits = ReconcileError::look("cannot", &missing(None));
        assert!(waits.sentence().starts_with("cannot: the cluster does not know kind A of a/v1"));
        assert!(matches!(waits.end(), Ok(Action::Done)));
        let soon = Duration::from_secs(3);
        assert!(
            matches!(ReconcileError::look("c", &missing(Some(soon))).end(), Ok(Action::RequeueAfter(s)) if s == soon)
        );
    }

    #[test]
    fn a_lost_race_is_not_reported() {
        let error = ReconcileError::changed("cannot");
        assert!(error.is_quiet());
        assert!(matches!(error.end(), Ok(Action::RequeueAfter(CONFLICT_WAIT))));
        assert!(matches!(ReconcileError::retry("cannot", "x").end(), Err(Failure::Retry(_))));
    }
}
