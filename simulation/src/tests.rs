//! Tests of the simulation: it repeats exactly, finds nothing new in the controllers, and finds what is broken on purpose.

use std::sync::LazyLock;

use crate::arguments::Arguments;
use crate::checkpoints::Checkpoints;
use crate::draws::Draws;
use crate::model::Form;
use crate::outcome::Outcome;
use crate::run::{Applications, Baselines, run};
use crate::sabotage::Sabotage;
use crate::schedule::Options;
use crate::search::{Total, judge, search};

/// Seeds of an ordinary test run; `.ci/run` spends more time on it.
const SEEDS: u64 = 24;

/// Made once: in code that is not optimized it costs as much as several schedules.
static CHECKPOINTS: LazyLock<Checkpoints> = LazyLock::new(|| Checkpoints::prepare(None).unwrap());

/// The same with those of rollouts.
static ROLLOUTS: LazyLock<Checkpoints> = LazyLock::new(|| Checkpoints::prepare(Some(Form::Rollout)).unwrap());
/// Seeds of rollouts of an ordinary test run.
const ROLLOUT_SEEDS: u64 = 12;

fn arguments(seeds: u64) -> Arguments {
    Arguments { seeds, keep_going: true, ..Arguments::default() }
}

/// What all seeds came to; without a sabotage, each of them keeps its promises.
fn searched(arguments: &Arguments, form: Option<Form>, checkpoints: &Checkpoints) -> Total {
    let schedules = Applications { checkpoints, form, sabotage: arguments.sabotage };
    let total = search(arguments, &schedules).unwrap();
    if arguments.sabotage.is_none() {
        assert_eq!(total.schedules, arguments.seeds);
        judge(&total, arguments, &schedules).unwrap();
    }
    total
}

fn traced(seed: u64, sabotage: Option<Sabotage>) -> Outcome {
    let options = Options { form: None, sabotage, trace: true };
    run(&CHECKPOINTS, Draws::new(seed), &options, &mut Baselines::default())
}

#[test]
fn the_controllers_keep_their_promises() {
    searched(&arguments(SEEDS), None, &CHECKPOINTS);
}

#[test]
fn the_controllers_keep_their_promises_to_rollouts() {
    searched(&arguments(ROLLOUT_SEEDS), Some(Form::Rollout), &ROLLOUTS);
}

#[test]
fn the_controllers_keep_promises_to_rollouts_of_early_2021() {
    let checkpoints = Checkpoints::prepare(Some(Form::RolloutSeed)).unwrap();
    searched(&arguments(ROLLOUT_SEEDS), Some(Form::RolloutSeed), &checkpoints);
}

#[test]
fn the_controllers_keep_their_promises_to_workflows() {
    searched(&arguments(SEEDS), Some(Form::Workflow), &CHECKPOINTS);
}

#[test]
fn workflows_that_are_broken_on_purpose_are_found() {
    let found = [
        (Sabotage::SkipsSuspension, "unrun", 1),
        (Sabotage::OnlySays, "unrun", 3),
        (Sabotage::ForgetsCalls, "outside", 1),
    ];
    for (sabotage, promise, first) in found {
        // The first one that is found ends the search.
        let (sabotage, keep_going) = (Some(sabotage), false);
        let arguments = Arguments { sabotage, first, keep_going, threads: 1, ..arguments(SEEDS) };
        let total = searched(&arguments, Some(Form::Workflow), &CHECKPOINTS);
        assert!(total.broken.contains_key(promise), "{sabotage:?} breaks only {:?}", total.broken);
    }
}

#[test]
fn a_seed_of_rollouts_repeats_exactly_in_another_run() {
    let traced = |seed| {
        let options = Options { form: Some(Form::Rollout), sabotage: None, trace: true };
        run(&ROLLOUTS, Draws::new(seed), &options, &mut Baselines::default())
    };
    for seed in [3, 7, 8] {
        let again = std::thread::spawn(move || traced(seed));
        let (once, again) = (traced(seed), again.join().unwrap());
        let differs = once.trace.iter().zip(&again.trace).find(|(once, again)| once != again);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!(once.fingerprint, again.fingerprint, "seed {seed}");
    }
}

#[test]
fn rollouts_that_are_broken_on_purpose_are_found() {
    let found = [
        (Sabotage::BlindStatus, "states", 5),
        (Sabotage::Hasty, "bounds", 24),
        (Sabotage::KeepsClaims, "claim", 3),
        (Sabotage::IgnoresPause, "states", 35),
    ];
    for (sabotage, promise, first) in found {
        // The first one that is found ends the search.
        let (sabotage, keep_going) = (Some(sabotage), false);
        let arguments = Arguments { sabotage, first, keep_going, threads: 1, ..arguments(40) };
        let total = searched(&arguments, Some(Form::Rollout), &ROLLOUTS);
        assert!(total.broken.contains_key(promise), "{sabotage:?} breaks only {:?}", total.broken);
    }
}

#[test]
fn a_seed_repeats_exactly_in_another_run() {
    // Two that lead at once race in everything they do: nothing but the seed may say who is first.
    let both = Some(Sabotage::EverybodyLeads);
    for (seed, sabotage) in [(9, None), (18, None), (20, None), (1, both), (2, both), (3, both)] {
        let again = std::thread::spawn(move || traced(seed, sabotage));
        let (once, again) = (traced(seed, sabotage), again.join().unwrap());
        let differs = once.trace.iter().zip(&again.trace).find(|(once, again)| once != again);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!((once.steps, once.requests), (again.steps, again.requests), "seed {seed}");
        assert_eq!(once.fingerprint, again.fingerprint, "seed {seed}");
    }
}

#[test]
fn what_is_broken_on_purpose_is_found() {
    let found = [
        (Sabotage::NoRecord, "record", 1, 3),
        (Sabotage::NoDeletion, "convergence", 1, 3),
        (Sabotage::EverybodyLeads, "single writer", 1, 6),
        (Sabotage::StaleLook, "wrongful delete", 50, 2),
        (Sabotage::RestlessStatus, "quiet", 1, 3),
    ];
    for (sabotage, promise, first, seeds) in found {
        let arguments = Arguments { sabotage: Some(sabotage), first, ..arguments(seeds) };
        let total = searched(&arguments, None, &CHECKPOINTS);
        assert!(total.broken.contains_key(promise), "{sabotage:?} breaks only {:?}", total.broken);
    }
}
