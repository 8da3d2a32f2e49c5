//! Where a lap can stop, and in which words that is told.

use std::time::Duration;

use vela_engine::Secrets;
use vela_engine::application_configuration::status;
use vela_runtime::{Action, Failure};

/// A part of the lap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Before,
    Render,
    Apply,
    Collect,
    After,
}

impl Phase {
    /// Reason of the event that tells a failure.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Before => "CannotExecutePrehooks",
            Self::Render => "CannotRenderComponents",
            Self::Apply => "CannotApplyComponents",
            Self::Collect => "CannotGarbageCollectComponents",
            Self::After => "CannotExecutePosthooks",
        }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Before => "failed to execute pre-hooks",
            Self::Render => "cannot render components",
            Self::Apply => "cannot apply components",
            Self::Collect => "cannot garbage collect components",
            Self::After => "failed to execute post-hooks",
        }
    }
}

/// Why a lap ended early.
#[derive(Debug)]
pub(super) enum Stopped {
    /// Something is wrong that the user must hear of.
    Wrong(Wrong),
    /// The cluster could not be asked; nothing is known to be wrong.
    Trouble(Failure),
    /// A component's revision is not cut yet; it wakes us.
    NotYet,
}

/// What the user hears.
#[derive(Clone, Debug)]
pub(super) struct Wrong {
    pub(super) phase: Phase,
    message: String,
    /// Come again after this time instead of the usual back-off.
    again: Option<Duration>,
    /// It cannot get better before somebody changes something.
    pub(super) refused: bool,
    /// What is to be changed wakes us: no other try is needed.
    is_final: bool,
    /// Was the template of a rollout on its way?
    pub(super) templating: bool,
}

impl Wrong {
    pub(super) fn new(phase: Phase, message: impl Into<String>) -> Self {
        Self {
            phase,
            message: message.into(),
            again: None,
            refused: false,
            is_final: false,
            templating: false,
        }
    }

    pub(super) fn again(mut self, again: Option<Duration>) -> Self {
        self.again = again;
        self
    }

    /// The same, told as what cannot get better before somebody changes something.
    pub(super) fn refused(mut self, refused: bool) -> Self {
        self.refused = refused;
        self
    }

    /// The same, tried once only.
    pub(super) fn once(mut self, is_final: bool) -> Self {
        self.is_final = is_final;
        self
    }

    /// The same with more to tell.
    pub(super) fn and(mut self, more: &str) -> Self {
        self.message = format!("{}; {more}", self.message);
        self
    }

    pub(super) fn templating(mut self, templating: bool) -> Self {
        self.templating = templating;
        self
    }

    /// The same without what is confidential.
    pub(super) fn hide(mut self, secrets: &Secrets) -> Self {
        self.message = secrets.hide(&self.message).into_owned();
        self
    }

    /// The message of the condition.
    pub(super) fn message(&self) -> String {
        format!("{}: {}", self.phase.prefix(), self.message)
    }

    /// What the queue is told: a failure is tried again, unless only a change that wakes us can help.
    pub(super) fn verdict(&self) -> Result<Action, Failure> {
        match self.again {
            Some(again) => Ok(Action::RequeueAfter(again)),
            None if self.is_final => Ok(Action::Done),
            None => Err(Failure::retry(self.message())),
        }
    }
}

impl From<Wrong> for Stopped {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

impl From<crate::application::fetch::Error> for Stopped {
    fn from(error: crate::application::fetch::Error) -> Self {
        match error {
            crate::application::fetch::Error::Definition { found, .. } => {
                Wrong::new(Phase::Render, status::message(&found)).refused(true).into()
            }
            error => Self::Trouble(Failure::retry(error)),
        }
    }
}

impl From<kube::Error> for Stopped {
    fn from(error: kube::Error) -> Self {
        Self::Trouble(Failure::retry(error))
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Trouble(failure)
    }
}
