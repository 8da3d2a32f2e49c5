//! The outputs and inputs of a machine: a step with its parameters, its result, or why there is none to be run.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::workflow::phase::RunPhase;

/// How long an id is.
const ID_LENGTH: usize = 10;
/// The parts of ids.
const ID_LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// The limits of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLimits {
    /// Failures of one step that are followed by another try.
    pub retries: u32,
    /// A step that failed too often suspends the run instead of ending it.
    pub suspend_on_failure: bool,
    /// The longest wait before a step that is not done is looked at again.
    pub longest_wait: SignedDuration,
    /// The longest wait after a failure.
    pub longest_failure_wait: SignedDuration,
    /// The identity of this run, for the ids of its steps.
    pub seed: String,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            retries: 10,
            suspend_on_failure: false,
            longest_wait: SignedDuration::from_secs(60),
            longest_failure_wait: SignedDuration::from_secs(300),
            seed: String::new(),
        }
    }
}

/// The next action.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// This step is to be run.
    Execute(Task),
    /// No step for now.
    Idle(Idle),
}

/// Why no step is to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// Steps are under way, and are to be looked at again after this time.
    Executing {
        /// From now on.
        after: SignedDuration,
    },
    /// A person is waited for, or this time.
    Suspended {
        /// No step, where only a person can go on.
        until: Option<Timestamp>,
    },
    /// The run is over.
    Ended(RunPhase),
}

/// A step that is to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Tells it from every other, also from the same step of another run.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: String,
    /// The group that it stands in.
    pub group: Option<String>,
    /// Its parameters, with the values it takes from other steps.
    pub properties: Json,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepOutcome {
    /// It is done.
    Done {
        /// Each of its outputs by name, or why there is none.
        outputs: Vec<(String, Result<Json, String>)>,
        /// The step's own message.
        message: String,
    },
    /// The objects of its components were applied, and are not healthy yet. The values count where the time of the step is up.
    Unhealthy {
        /// Each of its outputs by name as the objects are now, or why there is none.
        outputs: Vec<(String, Result<Json, String>)>,
    },
    /// It is not done yet.
    Wait {
        /// For what.
        message: String,
    },
    /// A call suspends it.
    Suspend {
        /// Where in the template.
        field: String,
        /// It goes on by itself after that time.
        duration: Option<String>,
        /// The message to show.
        message: String,
    },
    /// It says itself that it has failed.
    Fail {
        /// Why.
        message: String,
    },
    /// It ends the whole workflow.
    Break {
        /// Why.
        message: String,
    },
    /// Something went wrong that another try may mend.
    Error {
        /// The error.
        message: String,
    },
    /// Something is wrong that no other try mends: the template, or its parameters.
    Broken {
        /// The error.
        message: String,
    },
}

impl StepOutcome {
    /// Done, without outputs and words.
    pub fn done() -> Self {
        Self::Done { outputs: Vec::new(), message: String::new() }
    }
}

/// Ten letters and digits that tell a step from every other: of another name, run, or try.
pub(super) fn id(parts: &[&str]) -> String {
    let hash = Sha256::digest(parts.join("/"));
    let letter = |byte: &u8| char::from(ID_LETTERS[usize::from(*byte) % ID_LETTERS.len()]);
    hash.iter().take(ID_LENGTH).map(letter).collect()
}
