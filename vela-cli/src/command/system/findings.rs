//! What a check found, on one line, with how to mend it.

use serde_json::{Value, json};

use crate::error::Failure;

/// How a part of the installation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Right,
    Wrong,
    /// It could not be looked at.
    Unknown,
}

/// What a check found.
pub(super) struct Finding {
    about: &'static str,
    state: State,
    message: String,
    mend: Option<String>,
}

impl Finding {
    pub(super) fn right(about: &'static str, message: impl Into<String>) -> Self {
        Self { about, state: State::Right, message: message.into(), mend: None }
    }

    pub(super) fn wrong(about: &'static str, message: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { about, state: State::Wrong, message: message.into(), mend: Some(mend.into()) }
    }

    /// A check that came to no end, such as for want of a right.
    pub(super) fn unknown(about: &'static str, failure: &Failure) -> Self {
        let all = failure.texts().join("\n");
        let (message, mend) = all.split_once("\n  help: ").unwrap_or((&all, ""));
        let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = one_line(message.trim_start_matches("error: "));
        Self {
            about,
            state: State::Unknown,
            message,
            mend: Some(one_line(mend)).filter(|mend| !mend.is_empty()),
        }
    }

    pub(super) fn about(&self) -> &'static str {
        self.about
    }

    pub(super) fn state(&self) -> State {
        self.state
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn mend(&self) -> Option<&str> {
        self.mend.as_deref()
    }

    pub(super) fn value(&self) -> Value {
        let state = match self.state {
            State::Right => "right",
            State::Wrong => "wrong",
            State::Unknown => "unknown",
        };
        json!({"about": self.about, "state": state, "message": self.message, "mend": self.mend})
    }
}
