//! Why a reconcile ended before its status, and what follows.

use std::fmt::Display;

use vela_engine::status::ConditionType;
use vela_engine::{Code, Diagnostic, Diagnostics};
use vela_runtime::{Action, CONFLICT_WAIT};

use super::{apply, fetch, revisions};
use crate::author::UnknownAuthor;
use crate::blocking::NotComputed;
use crate::workflow::StoreError;

/// A reconcile that ended early.
pub(super) enum Stopped {
    /// A phase failed: its condition and an event say so.
    Failed(PhaseError),
    /// No error, and no report.
    Later(Later),
}

/// A phase that failed.
pub(super) enum PhaseError {
    /// The application, or what it names, cannot be read.
    Parse(Cause),
    /// Its revision cannot be recorded.
    Revision(Cause),
    /// Its policies and workflow cannot be carried out.
    Policy(Cause),
    /// Its objects cannot be rendered.
    Render(Cause),
    /// Its objects cannot be applied.
    Apply(Cause),
}

/// The error, and whether the same may succeed at another time.
pub(super) enum Cause {
    /// Only a change of the application, or of what it names, helps, and that wakes us.
    Lasting(Diagnostics),
    /// It is tried again.
    Passing(Diagnostics),
}

/// A phase, as what its failure is made with.
pub(super) type Phase = fn(Cause) -> PhaseError;

/// When to begin anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Later {
    /// The watches were behind: in a moment.
    Soon,
    /// Something of ours is on its way, and wakes us.
    Woken,
    /// The process ends: the next one does.
    NextProcess,
}

impl Cause {
    /// The API server, or another server, did not answer or failed.
    pub(super) fn unavailable(error: &dyn Display) -> Self {
        Self::Passing(Diagnostic::error(Code::Unavailable, error.to_string()).into())
    }

    /// The application asks for something that is refused.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::Lasting(Diagnostic::error(Code::Refused, why.into()).into())
    }
}

impl PhaseError {
    /// The condition that reports the phase.
    pub(super) fn condition(&self) -> ConditionType {
        match self {
            Self::Parse(_) => ConditionType::Parsed,
            Self::Revision(_) => ConditionType::Revision,
            Self::Policy(_) => ConditionType::Policy,
            Self::Render(_) => ConditionType::Render,
            Self::Apply(_) => ConditionType::Workflow,
        }
    }

    /// The message of the condition.
    pub(super) fn diagnostics(&self) -> &Diagnostics {
        match self.cause() {
            Cause::Lasting(diagnostics) | Cause::Passing(diagnostics) => diagnostics,
        }
    }

    /// Does only a change help?
    pub(super) fn is_lasting(&self) -> bool {
        matches!(self.cause(), Cause::Lasting(_))
    }

    fn cause(&self) -> &Cause {
        match self {
            Self::Parse(cause)
            | Self::Revision(cause)
            | Self::Policy(cause)
            | Self::Render(cause)
            | Self::Apply(cause) => cause,
        }
    }
}

impl Later {
    /// When the queue hands out the application again.
    pub(super) fn action(self) -> Action {
        match self {
            Self::Soon => Action::RequeueAfter(CONFLICT_WAIT),
            Self::Woken | Self::NextProcess => Action::Done,
        }
    }
}

impl Stopped {
    /// The API server, or another server, did not answer or failed.
    pub(super) fn unavailable(phase: Phase, error: &dyn Display) -> Self {
        phase(Cause::unavailable(error)).into()
    }

    /// The process had no room for it, or ends.
    pub(super) fn not_computed(phase: Phase, error: &NotComputed) -> Self {
        match error {
            NotComputed::Ends => Later::NextProcess.into(),
            error => Self::unavailable(phase, error),
        }
    }

    /// A write failed, where `source` tells whether another writer was merely faster.
    pub(super) fn write(phase: Phase, error: &dyn Display, source: Option<&kube::Error>) -> Self {
        match source {
            Some(kube::Error::Api(status)) if status.code == 409 => Later::Soon.into(),
            _ => Self::unavailable(phase, error),
        }
    }

    /// The failure that only a change mends.
    pub(super) fn lasting(&self) -> Option<&PhaseError> {
        match self {
            Self::Failed(error) if error.is_lasting() => Some(error),
            _ => None,
        }
    }
}

impl From<PhaseError> for Stopped {
    fn from(error: PhaseError) -> Self {
        Self::Failed(error)
    }
}

impl From<Later> for Stopped {
    fn from(later: Later) -> Self {
        Self::Later(later)
    }
}

impl From<UnknownAuthor> for PhaseError {
    fn from(unknown: UnknownAuthor) -> Self {
        Self::Parse(Cause::refused(unknown.to_string()))
    }
}

impl From<fetch::Error> for PhaseError {
    fn from(error: fetch::Error) -> Self {
        Self::Parse(match error {
            fetch::Error::Definition { found, .. } => Cause::Lasting(found),
            error => Cause::unavailable(&error),
        })
    }
}

impl From<fetch::NotRead> for Stopped {
    fn from(error: fetch::NotRead) -> Self {
        match error {
            fetch::NotRead::Cluster(error) => PhaseError::from(error).into(),
            fetch::NotRead::NotComputed(error) => Self::not_computed(PhaseError::Parse, &error),
        }
    }
}

impl From<revisions::Error> for Stopped {
    fn from(error: revisions::Error) -> Self {
        Self::write(PhaseError::Revision, &error, error.source())
    }
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::Client(source) => Self::write(PhaseError::Apply, &error, Some(source)),
            StoreError::Unreadable { .. } => PhaseError::Apply(Cause::refused(error.to_string())).into(),
            StoreError::Behind => Later::Soon.into(),
        }
    }
}

impl From<apply::Error> for Stopped {
    fn from(error: apply::Error) -> Self {
        match &error {
            apply::Error::NotJudged(error) => Self::not_computed(PhaseError::Apply, error),
            error => Self::write(PhaseError::Apply, error, error.source()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(code: u16) -> kube::Error {
        kube::Error::Api(serde_json::from_value(json!({"code": code, "message": "no"})).unwrap())
    }

    #[test]
    fn what_a_server_fails_to_do_is_no_mistake_and_is_tried_again() {
        let error = PhaseError::Render(Cause::unavailable(&"no answer"));
        assert!(!error.is_lasting());
        assert_eq!(error.condition(), ConditionType::Render);
        assert!(error.diagnostics().iter().all(|one| one.code == Code::Unavailable));
        let written = Stopped::write(PhaseError::Apply, &"no", Some(&refusal(503)));
        assert!(matches!(written, Stopped::Failed(PhaseError::Apply(Cause::Passing(_)))));
        assert!(PhaseError::Parse(Cause::refused("no")).is_lasting());
    }

    #[test]
    fn lost_writes_and_the_end_of_the_process_are_not_reported() {
        let lost = Stopped::write(PhaseError::Apply, &"lost", Some(&refusal(409)));
        assert!(matches!(lost, Stopped::Later(Later::Soon)));
        let ends = Stopped::not_computed(PhaseError::Render, &NotComputed::Ends);
        assert!(matches!(ends, Stopped::Later(Later::NextProcess)));
    }
}
