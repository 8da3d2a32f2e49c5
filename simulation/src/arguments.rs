//! The arguments of the simulation.

use crate::sabotage::Sabotage;
use crate::subject::Subject;

/// Which schedules to run, and how.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The first seed.
    pub first: u64,
    /// How many seeds, one after the other.
    pub seeds: u64,
    /// How many schedules run at the same time.
    pub threads: usize,
    /// Tell every step of a single seed, and a failing schedule as it is instead of the smallest.
    pub verbose: bool,
    /// Go on after the first broken promise.
    pub keep_going: bool,
    /// Begin no schedule after this time.
    pub seconds: u64,
    /// Break the controllers on purpose.
    pub sabotage: Option<Sabotage>,
    /// Only schedules about this; applications of two forms, where nothing is said.
    pub subject: Option<Subject>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            first: 1,
            seeds: 1000,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            verbose: false,
            keep_going: false,
            seconds: u64::MAX,
            sabotage: None,
            subject: None,
        }
    }
}

impl Arguments {
    /// A caller that asks for one seed, or breaks the controllers on purpose, wants to see everything.
    pub(crate) fn forgives(&self) -> bool {
        self.seeds > 1 && self.sabotage.is_none()
    }
}
