//! Why a reconcile of a configuration ends before its status: a variant per phase, which carries when to try again.

use std::fmt;
use std::time::Duration;

use vela_engine::Secrets;
use vela_engine::application_configuration::status;
use vela_runtime::{Action, Failure};

/// Why a reconcile ended early.
#[derive(Debug)]
pub(super) enum Error {
    /// A phase failed: people are told.
    Phase(PhaseError),
    /// The cluster could not be asked; nothing is known to be wrong.
    Unavailable(Failure),
    /// Something of ours is on its way, and wakes us.
    Pending,
}

/// Which phase failed, and how.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum PhaseError {
    /// A hook before everything else.
    #[error("failed to execute pre-hooks: {0}")]
    PreHooks(Failed),
    /// The phases up to the desired state.
    #[error("cannot render components: {0}")]
    Render(Failed),
    /// The apply of the wanted objects.
    #[error("cannot apply components: {0}")]
    Apply(Failed),
    /// The collection of unwanted objects.
    #[error("cannot garbage collect components: {0}")]
    Collect(Failed),
    /// A hook after everything else.
    #[error("failed to execute post-hooks: {0}")]
    PostHooks(Failed),
}

/// The report to people on a failed phase.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    message: String,
    next: NextTry,
    /// Was the template of a rollout on its way?
    templating: bool,
}

/// When what failed is tried again. The later of two variants has more to hope for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NextTry {
    /// Only a change of what is asked for or of the object can help, and it wakes us.
    OnChange,
    /// Another try ends alike until a user changes something, which need not wake us: after the usual back-off.
    Persistent,
    /// After the usual back-off.
    BackOff,
    /// After this time.
    After(Duration),
}

impl NextTry {
    /// After this time, if one is said.
    pub(super) fn after(time: Option<Duration>) -> Self {
        time.map_or(Self::BackOff, Self::After)
    }
}

impl Failed {
    pub(super) fn new(message: impl Into<String>, next: NextTry) -> Self {
        Self { message: message.into(), next, templating: false }
    }

    /// Something that may be over the next time.
    pub(super) fn passing(message: impl Into<String>) -> Self {
        Self::new(message, NextTry::BackOff)
    }

    /// A state that lasts until a user changes it.
    pub(super) fn persistent(message: impl Into<String>) -> Self {
        Self::new(message, NextTry::Persistent)
    }

    pub(super) fn templating(mut self, templating: bool) -> Self {
        self.templating = templating;
        self
    }

    /// The same with these words before it.
    pub(super) fn within(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// The same with more to tell.
    pub(super) fn and(mut self, more: &str) -> Self {
        self.message = format!("{}; {more}", self.message);
        self
    }

    /// This failure, tried again as soon as the more hopeful of the two.
    pub(super) fn or(self, other: &Self) -> Self {
        Self { next: self.next.max(other.next), ..self }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl PhaseError {
    /// Reason of the event that tells it.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::PreHooks(_) => "CannotExecutePrehooks",
            Self::Render(_) => "CannotRenderComponents",
            Self::Apply(_) => "CannotApplyComponents",
            Self::Collect(_) => "CannotGarbageCollectComponents",
            Self::PostHooks(_) => "CannotExecutePosthooks",
        }
    }

    fn failed(&self) -> &Failed {
        let (Self::PreHooks(failed)
        | Self::Render(failed)
        | Self::Apply(failed)
        | Self::Collect(failed)
        | Self::PostHooks(failed)) = self;
        failed
    }

    /// The same without what is confidential.
    pub(super) fn without(mut self, secrets: &Secrets) -> Self {
        let (Self::PreHooks(failed)
        | Self::Render(failed)
        | Self::Apply(failed)
        | Self::Collect(failed)
        | Self::PostHooks(failed)) = &mut self;
        failed.message = secrets.hide(&failed.message).into_owned();
        self
    }

    /// It cannot get better before a user changes something.
    pub(super) fn is_persistent(&self) -> bool {
        self.failed().next <= NextTry::Persistent
    }

    /// Was the template of a rollout on its way?
    pub(super) fn is_templating(&self) -> bool {
        self.failed().templating
    }

    /// The answer to the queue.
    pub(super) fn action(&self) -> Result<Action, Failure> {
        match self.failed().next {
            NextTry::After(time) => Ok(Action::RequeueAfter(time)),
            NextTry::OnChange => Ok(Action::Done),
            NextTry::Persistent | NextTry::BackOff => Err(Failure::retry(self.to_string())),
        }
    }
}

impl Error {
    /// The same without what is confidential.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        match self {
            Self::Phase(error) => Self::Phase(error.without(secrets)),
            Self::Unavailable(failure) => {
                Self::Unavailable(failure.reworded(|said| secrets.hide(said).into_owned()))
            }
            Self::Pending => Self::Pending,
        }
    }
}

impl From<PhaseError> for Error {
    fn from(error: PhaseError) -> Self {
        Self::Phase(error)
    }
}

impl From<vela_snapshot::Error> for Error {
    fn from(error: vela_snapshot::Error) -> Self {
        match error {
            vela_snapshot::Error::Definition { found, .. } => {
                PhaseError::Render(Failed::persistent(status::message(&found))).into()
            }
            error => Self::Unavailable(Failure::retry(error)),
        }
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::Unavailable(Failure::retry(error))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Unavailable(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_failures_the_most_hopeful_says_when_to_come_again() {
        let soon = NextTry::After(Duration::from_secs(1));
        let first = |next| Failed::new("first", next).or(&Failed::new("second", soon));
        for next in [NextTry::OnChange, NextTry::Persistent, NextTry::BackOff] {
            let failed = first(next);
            assert_eq!((failed.next, failed.to_string()), (soon, "first".to_owned()));
        }
        let error = PhaseError::Apply(first(NextTry::OnChange));
        assert_eq!(error.action().unwrap(), Action::RequeueAfter(Duration::from_secs(1)));
        assert!(!error.is_persistent());
    }

    #[test]
    fn errors_are_retried_where_no_watch_tells_of_the_change() {
        let error = |next| PhaseError::Render(Failed::new("no", next));
        assert_eq!(error(NextTry::OnChange).action().unwrap(), Action::Done);
        let failure = error(NextTry::Persistent).action().unwrap_err();
        assert_eq!(failure.to_string(), "cannot render components: no");
        assert!(error(NextTry::OnChange).is_persistent() && error(NextTry::Persistent).is_persistent());
        assert!(!error(NextTry::BackOff).is_persistent());
    }

    #[test]
    fn what_is_confidential_is_not_told() {
        let mut secrets = Secrets::default();
        secrets.add(&serde_json::json!({
            "apiVersion": "v1", "kind": "Secret", "stringData": {"password": "very-secret-word"},
        }));
        let error = PhaseError::Apply(Failed::passing("it is very-secret-word"));
        let said = Error::from(error).without(&secrets);
        let Error::Phase(error) = said else { panic!("it is another error") };
        assert!(!error.to_string().contains("very-secret-word"), "{error}");
    }
}
