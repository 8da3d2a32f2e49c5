//! Why a step does not go on by itself: what it asks, what it waits for, or how it ended.

use serde_json::Value as Json;
use vela_cue::Value;

/// What a step asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Where in the template it stands.
    pub path: String,
    /// Who is asked.
    pub provider: String,
    /// What for.
    pub function: String,
    /// With what.
    pub params: Json,
    /// Whether the answer goes to `$returns` or, in the first package `vela/op`, beside what is asked.
    pub has_returns: bool,
}

/// Why a step does not go on by itself.
pub enum Stop {
    /// It needs an answer.
    Ask(Question),
    /// It is not done yet and wants to be run again later.
    Wait {
        /// Why.
        message: String,
    },
    /// It stops until somebody resumes it: then [`Answer::Nothing`] is the answer.
    Suspend {
        /// Where in the template it says so.
        path: String,
        /// Resume by itself after that time, as it is written (`30s`).
        duration: Option<String>,
        /// What to show.
        message: String,
    },
    /// It has failed.
    Fail {
        /// Why.
        message: String,
    },
    /// The whole workflow ends here.
    Break {
        /// Why.
        message: String,
    },
    /// It has succeeded with this value.
    Done(Value),
}
