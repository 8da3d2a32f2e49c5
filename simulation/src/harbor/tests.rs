//! Tests of the simulation of the Harbor operator: it finds nothing in the operator, and finds what is broken on purpose.

use std::sync::LazyLock;

use super::checkpoints::Checkpoints;
use super::end::Expected;
use super::run::Harbors;
use crate::arguments::Arguments;
use crate::draws::Draws;
use crate::sabotage::Sabotage;
use crate::search::{judge, search};
use crate::subject::Schedules as _;

/// Seeds of an ordinary test run; `cargo xtask simulate --form harbor` runs more.
const SEEDS: u64 = 6;
/// Seeds that are run twice, of which the second once differed.
const SEEDS_TWICE: u64 = 3;

static CHECKPOINTS: LazyLock<Checkpoints> = LazyLock::new(|| Checkpoints::prepare().unwrap());

fn harbors(sabotage: Option<Sabotage>) -> Harbors<'static> {
    Harbors { checkpoints: &CHECKPOINTS, sabotage }
}

#[test]
fn the_harbor_operator_keeps_its_promises() {
    let arguments = Arguments { seeds: SEEDS, keep_going: true, ..Arguments::default() };
    let total = search(&arguments, &harbors(None)).unwrap();
    assert_eq!(total.schedules, SEEDS);
    assert!(total.steps > SEEDS && total.requests > SEEDS, "schedules have steps: {total:?}");
    judge(&total, &arguments, &harbors(None)).unwrap();
}

#[test]
fn a_broken_promise_to_a_harbor_is_shrunk() {
    let sabotage = Some(Sabotage::RestlessStatus);
    let arguments = Arguments { seeds: 8, threads: 1, sabotage, ..Arguments::default() };
    let total = search(&arguments, &harbors(sabotage)).unwrap();
    let message = judge(&total, &arguments, &harbors(sabotage)).unwrap_err();
    for words in [
        "breaks the promise \"quiet\"",
        "runs of shrinking",
        "replay: cargo xtask simulate --seed ",
        " --form harbor",
    ] {
        assert!(message.contains(words), "{words}: {message}");
    }
}

/// A seed from `first` on shows that this promise can be broken.
fn is_found(sabotage: Sabotage, promise: &str, first: u64, seeds: u64) {
    let (mut expected, mut broken) = (Expected::default(), Vec::new());
    for seed in first..first + seeds {
        let outcome = harbors(Some(sabotage)).run(Draws::new(seed), false, &mut expected);
        broken.extend(outcome.violation.map(|violation| (seed, violation.promise)));
        // The first one that is found ends the search.
        if broken.last().is_some_and(|(_, found)| *found == promise) {
            println!("{sabotage:?}: {broken:?}");
            return;
        }
    }
    panic!("{sabotage:?} breaks only {broken:?}");
}

#[test]
fn children_of_a_harbor_without_owner_are_found() {
    is_found(Sabotage::NoOwner, "orphan", 1, 8);
}

#[test]
fn a_part_that_is_swept_though_wanted_is_found() {
    is_found(Sabotage::OverlooksParts, "wrongful delete", 1, 20);
}

#[test]
fn a_part_that_is_never_swept_is_found() {
    is_found(Sabotage::NoDeletion, "convergence", 1, 40);
}

#[test]
fn a_password_that_is_made_again_is_found() {
    is_found(Sabotage::ForgetsSecrets, "secret", 1, 40);
}

#[test]
fn a_core_before_its_certificate_is_found() {
    is_found(Sabotage::Impatient, "order", 1, 40);
}

#[test]
fn a_service_of_people_that_is_taken_is_found() {
    is_found(Sabotage::TakesAll, "foreign", 1, 40);
}

#[test]
fn a_second_robot_account_is_found() {
    is_found(Sabotage::ForgetsRobots, "duplicate", 1, 20);
}

#[test]
fn a_seed_repeats_step_by_step() {
    for seed in 1..=SEEDS_TWICE {
        let traced = || harbors(None).run(Draws::new(seed), true, &mut Expected::default()).trace;
        let traces: Vec<Vec<String>> = (0..2).map(|_| traced()).collect();
        assert!(!traces[0].is_empty(), "seed {seed} has steps");
        for other in &traces[1..] {
            let place = traces[0].iter().zip(other).position(|(one, other)| one != other);
            assert_eq!(place.map(|place| (&traces[0][place], &other[place])), None, "seed {seed}");
            assert_eq!(traces[0].len(), other.len(), "seed {seed}");
        }
    }
}

#[test]
fn a_status_that_is_written_again_and_again_is_found() {
    is_found(Sabotage::RestlessStatus, "quiet", 1, 8);
}
