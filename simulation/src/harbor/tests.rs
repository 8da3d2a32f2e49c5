//! Tests of the simulation of the Harbor operator: it finds nothing in the operator, and finds what is broken on purpose.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::cluster::Checkpoints;
use super::end::Expected;
use super::run::run;
use super::sabotage::HarborSabotage;

/// Seeds of an ordinary test run.
const SEEDS: u64 = 6;
/// Seeds that are run twice, of which the second once differed.
const SEEDS_TWICE: u64 = 3;
/// Seeds of a night, and the time after which it begins no more.
const SEEDS_OF_A_NIGHT: u64 = 10_000;
const NIGHT: Duration = Duration::from_secs(300);
/// Threads of a night.
const THREADS: usize = 2;

static CHECKPOINTS: LazyLock<Checkpoints> = LazyLock::new(Checkpoints::prepare);

/// Runs the seeds; the first that breaks a promise is told step by step.
fn keeps_its_promises(seeds: impl IntoIterator<Item = u64>) -> u64 {
    let (mut expected, mut steps) = (Expected::default(), 0);
    for seed in seeds {
        let outcome = run(&CHECKPOINTS, seed, None, &mut expected);
        steps += outcome.steps as u64;
        if let Some(violation) = outcome.violation {
            let trace = outcome.trace.join("\n");
            panic!("seed {seed} breaks {:?}: {}\n{trace}", violation.promise, violation.what);
        }
    }
    steps
}

#[test]
fn the_harbor_operator_keeps_its_promises() {
    assert!(keeps_its_promises(1..=SEEDS) > SEEDS, "schedules have steps");
}

#[test]
#[ignore = "needs minutes: cargo xtask nightly --only sabotages"]
fn the_harbor_operator_keeps_its_promises_all_night() {
    let (next, began) = (AtomicU64::new(1), Instant::now());
    let seeds = || {
        std::iter::from_fn(|| {
            let seed = next.fetch_add(1, Ordering::SeqCst);
            (seed <= SEEDS_OF_A_NIGHT && began.elapsed() < NIGHT).then_some(seed)
        })
    };
    let steps: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| keeps_its_promises(seeds()))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("{} schedules of Harbors, {steps} steps", next.load(Ordering::SeqCst) - 1 - THREADS as u64);
    assert!(steps > 0);
}

/// A seed from `first` on shows that this promise can be broken.
fn is_found(sabotage: HarborSabotage, promise: &str, first: u64, seeds: u64) {
    let (mut expected, mut broken) = (Expected::default(), Vec::new());
    for seed in first..first + seeds {
        let outcome = run(&CHECKPOINTS, seed, Some(sabotage), &mut expected);
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
    is_found(HarborSabotage::NoOwner, "orphan", 1, 8);
}

#[test]
fn a_part_that_is_swept_though_wanted_is_found() {
    is_found(HarborSabotage::OverlooksParts, "wrongful delete", 1, 20);
}

#[test]
fn a_part_that_is_never_swept_is_found() {
    is_found(HarborSabotage::NoDeletion, "convergence", 1, 40);
}

#[test]
fn a_password_that_is_made_again_is_found() {
    is_found(HarborSabotage::ForgetsSecrets, "secret", 1, 40);
}

#[test]
fn a_core_before_its_certificate_is_found() {
    is_found(HarborSabotage::Impatient, "order", 1, 40);
}

#[test]
fn a_seed_repeats_step_by_step() {
    for seed in 1..=SEEDS_TWICE {
        let traces: Vec<Vec<String>> =
            (0..2).map(|_| run(&CHECKPOINTS, seed, None, &mut Expected::default()).trace).collect();
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
    is_found(HarborSabotage::RestlessStatus, "quiet", 1, 8);
}
