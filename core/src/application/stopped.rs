//! Why a reconcile ended before its status, and what follows.

use vela_engine::status::ConditionType;
use vela_engine::{Code, Diagnostic, Diagnostics};

use crate::apart::NotComputed;

/// A reconcile that ended early.
pub(super) enum Stopped {
    /// A phase failed: people are told.
    Failed(Failed),
    /// Nothing is wrong: nobody need hear of it.
    Later(Later),
}

/// A phase that failed.
pub(super) struct Failed {
    /// Its condition.
    pub(super) phase: ConditionType,
    /// Why.
    pub(super) error: Diagnostics,
    /// Does only a change of the application, or of what it names, help? That wakes us; anything else is tried again.
    pub(super) lasts: bool,
}

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

impl Stopped {
    /// Only a change helps.
    pub(super) fn wrong(phase: ConditionType, error: Diagnostics) -> Self {
        Self::Failed(Failed { phase, error, lasts: true })
    }

    /// The same may succeed at another time.
    pub(super) fn passing(phase: ConditionType, error: Diagnostics) -> Self {
        Self::Failed(Failed { phase, error, lasts: false })
    }

    /// The cluster, or somebody else who was asked, did not do its part.
    pub(super) fn trouble(phase: ConditionType, error: &dyn std::fmt::Display) -> Self {
        Self::passing(phase, Diagnostic::error(Code::Unavailable, error.to_string()).into())
    }

    /// The process had no room for it, or ends.
    pub(super) fn not_computed(phase: ConditionType, error: &NotComputed) -> Self {
        match error {
            NotComputed::Ends => Self::Later(Later::NextProcess),
            error => Self::trouble(phase, error),
        }
    }

    /// The same of a write, where `source` tells whether another writer was merely faster.
    pub(super) fn write(
        phase: ConditionType,
        error: &dyn std::fmt::Display,
        source: Option<&kube::Error>,
    ) -> Self {
        match source {
            Some(kube::Error::Api(status)) if status.code == 409 => Self::Later(Later::Soon),
            _ => Self::trouble(phase, error),
        }
    }

    /// The failure that only a change mends.
    pub(super) fn lasting(&self) -> Option<&Failed> {
        match self {
            Self::Failed(failed) if failed.lasts => Some(failed),
            _ => None,
        }
    }
}

impl From<Failed> for Stopped {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

impl From<Later> for Stopped {
    fn from(later: Later) -> Self {
        Self::Later(later)
    }
}
