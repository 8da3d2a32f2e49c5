//! Shrinks a schedule that breaks a promise to the smallest that breaks the same one, and explains it step by step.

use std::collections::BTreeSet;

use crate::draws::Draws;
use crate::outcome::Outcome;
use crate::subject::Schedules;

/// Runs spent at most on making a failing schedule smaller.
const SHRINK_RUNS: usize = 400;

/// The smallest schedule that fails the same way, step by step; the whole one where everything is asked for.
pub(crate) fn explain<S: Schedules>(seed: u64, is_verbose: bool, schedules: &S) -> String {
    let mut baselines = S::Baselines::default();
    let mut again = |calm: &BTreeSet<usize>, from: usize| {
        let draws = Draws::new(seed).calmed(calm.clone(), from);
        schedules.run(draws, true, &mut baselines)
    };
    let first = again(&BTreeSet::new(), usize::MAX);
    let Some(violation) = first.violation.clone() else {
        return format!(
            "seed {seed} failed once and does not fail again: something decides that is not the seed"
        );
    };
    let (smallest, runs) = shrink(&first, violation.promise, &mut again);
    let shown = if is_verbose { &first } else { &smallest };
    let violation = shown.violation.clone().unwrap_or(violation);
    format!(
        "seed {seed} breaks the promise {:?}: {}\n{} steps, {} after {runs} runs of shrinking:\n{}\n\
         replay: cargo xtask simulate --seed {seed}{}",
        violation.promise,
        violation.what,
        first.steps,
        smallest.steps,
        shown.trace.join("\n"),
        schedules.words(),
    )
}

/// Calm as many decisions as possible while the same promise breaks: first all from some decision on, then one by one.
fn shrink(
    first: &Outcome,
    promise: &str,
    again: &mut impl FnMut(&BTreeSet<usize>, usize) -> Outcome,
) -> (Outcome, usize) {
    let mut runs = 0;
    let mut best = again(&BTreeSet::new(), usize::MAX);
    let fails = |outcome: &Outcome| outcome.violation.as_ref().is_some_and(|found| found.promise == promise);
    let (mut low, mut high) = (0, first.decisions);
    while low < high && runs < SHRINK_RUNS {
        let middle = (low + high) / 2;
        runs += 1;
        let outcome = again(&BTreeSet::new(), middle);
        if fails(&outcome) {
            (high, best) = (middle, outcome);
        } else {
            low = middle + 1;
        }
    }
    let mut calm = BTreeSet::new();
    for at in (0..high).rev() {
        if runs >= SHRINK_RUNS {
            break;
        }
        runs += 1;
        calm.insert(at);
        let outcome = again(&calm, high);
        if fails(&outcome) && outcome.trace.len() <= best.trace.len() {
            best = outcome;
        } else {
            calm.remove(&at);
        }
    }
    (best, runs)
}
