//! What became of an object that sets up a Harbor: its status, and when to try again.

use std::time::Duration;

use serde_json::Value;

/// How often the server is told again, in case its settings were changed there.
pub(crate) const AGAIN: Duration = Duration::from_secs(300);

/// What became of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The status of the object.
    pub(crate) status: Value,
    /// Did the server take it?
    pub(crate) done: bool,
    /// Does only a change of an object help?
    pub(crate) waits: bool,
}

impl Outcome {
    /// The server has it.
    pub(crate) fn settled(status: Value) -> Self {
        Self { status, done: true, waits: false }
    }

    /// It has not.
    pub(crate) fn failed(status: Value, waits: bool) -> Self {
        Self { status, done: false, waits }
    }
}
