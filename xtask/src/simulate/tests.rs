//! The simulation itself: it repeats exactly, finds nothing in the controllers, and finds what is broken on purpose.

use super::draws::Draws;
use super::sabotage::Sabotage;
use super::schedule::{self, Options};
use super::{Arguments, search, settle, world};

/// Seeds of an ordinary test run; the gate runs many more with fast code.
const SEEDS: u64 = 40;
/// Seeds among which a sabotage must be found; each of these four is found within the first few.
const SEEDS_OF_SABOTAGE: u64 = 8;

fn arguments(seeds: u64, sabotage: Option<Sabotage>) -> Arguments {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    Arguments {
        first: 1,
        seeds,
        threads,
        verbose: false,
        keep_going: false,
        seconds: u64::MAX,
        sabotage,
        form: None,
    }
}

#[test]
fn the_controllers_keep_their_promises() {
    let arguments = arguments(SEEDS, None);
    let total = search(&arguments).unwrap();
    assert!(total.failed.is_none(), "{}", super::explain(total.failed.unwrap(), &arguments));
}

#[test]
fn a_seed_repeats_exactly_in_another_world() {
    let run = |seed: u64| {
        let beginning = world::beginning().unwrap();
        let options = Options { sabotage: None, trace: true };
        let outcome = schedule::run(&beginning, Draws::new(seed), &options, &mut settle::Expected::default());
        (outcome.steps, outcome.requests, outcome.fingerprint, outcome.trace)
    };
    for seed in [3, 17, 40] {
        let (once, again) = (run(seed), std::thread::spawn(move || run(seed)).join().unwrap());
        assert_eq!(once, again, "seed {seed}");
    }
}

#[test]
fn what_is_broken_on_purpose_is_found() {
    let found = [
        (Sabotage::NoRecord, "record"),
        (Sabotage::NoDeletion, "convergence"),
        (Sabotage::StaleLook, "wrongful delete"),
        (Sabotage::EverybodyLeads, "single writer"),
    ];
    for (sabotage, promise) in found {
        let mut arguments = arguments(SEEDS_OF_SABOTAGE, Some(sabotage));
        arguments.keep_going = true;
        let total = search(&arguments).unwrap();
        assert!(total.broken.contains_key(promise), "{sabotage:?} breaks only {:?}", total.broken);
    }
}
