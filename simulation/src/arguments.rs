//! The arguments of the simulation.

use crate::model::Form;
use crate::sabotage::Sabotage;

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
    /// Only schedules in which people write this form; rollouts have schedules of their own.
    pub form: Option<Form>,
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
            form: None,
        }
    }
}

impl Arguments {
    /// A caller that asks for one seed, or breaks the controllers on purpose, wants to see everything.
    pub(crate) fn forgives(&self) -> bool {
        self.seeds > 1 && self.sabotage.is_none()
    }
}
