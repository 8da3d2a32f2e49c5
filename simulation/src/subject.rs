//! What schedules are about: an application in one of its forms, or a Harbor.

use std::str::FromStr;

use crate::draws::Draws;
use crate::model::Form;
use crate::outcome::Outcome;

/// What schedules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// An application that people write in this form; rollouts have schedules of their own.
    Application(Form),
    /// A Harbor, with the operator for it in place of the controllers.
    Harbor,
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match (name, Form::from_str(name)) {
            ("harbor", _) => Ok(Self::Harbor),
            (_, Ok(form)) => Ok(Self::Application(form)),
            (_, Err(error)) => Err(format!("{error}, and harbor")),
        }
    }
}

/// The schedules of one subject.
pub(crate) trait Schedules: Sync {
    /// What runs without faults come to, made once by each thread.
    type Baselines: Default;

    /// Does this seed lead to one of them?
    fn has(&self, seed: u64) -> bool;

    /// Runs one to its end, on this thread; `keep_trace` keeps what happened, for people.
    fn run(&self, draws: Draws, keep_trace: bool, baselines: &mut Self::Baselines) -> Outcome;

    /// The words that say which schedules these are, where a seed is run again.
    fn words(&self) -> &'static str;
}
