//! How far an object is, and what is told of it.

/// How far an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is what its spec asks for.
    Current,
    /// Its controller is on the way there, or has not begun.
    InProgress,
    /// Its controller gave up, or it ended without success; waiting does not help.
    Failed,
    /// It is being deleted.
    Terminating,
}

/// The verdict about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// How far it is.
    pub state: State,
    /// The existing or missing parts, for people; empty where there is nothing to tell.
    pub message: String,
}

impl Readiness {
    /// It is what its spec asks for.
    pub fn current(message: impl Into<String>) -> Self {
        Self { state: State::Current, message: message.into() }
    }

    /// It is on the way; the message names what is missing.
    pub fn in_progress(message: impl Into<String>) -> Self {
        Self { state: State::InProgress, message: message.into() }
    }

    /// Waiting does not help; the message says why.
    pub fn failed(message: impl Into<String>) -> Self {
        Self { state: State::Failed, message: message.into() }
    }

    /// May others rely on it?
    pub fn is_ready(&self) -> bool {
        self.state == State::Current
    }
}

/// The verdict for an object whose controller has written no status yet.
pub const UNREPORTED: &str = "its controller has not reported yet";
