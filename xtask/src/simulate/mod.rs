//! Deterministic simulation: seeded schedules of the real controllers against the real embedded API server.
//!
//! A seed decides everything: which request goes on, which is lost or refused, when a watch tells what, what people
//! do, when a process dies, how time passes. Nothing else does: one thread, a clock that jumps, no chance anywhere.
//! After every step the promises are checked ([`check`]); at the end the world heals and must come to the state of a
//! run without faults ([`settle`]).

mod check;
mod draws;
mod gate;
mod known;
mod model;
mod rollout;
mod sabotage;
mod schedule;
mod settle;
#[cfg(test)]
mod tests;
mod user;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use draws::Draws;
use model::Form;
use sabotage::Sabotage;
use schedule::{Options, Outcome};
use user::User;
use world::Beginnings;

/// Runs spent at most on making a failing schedule smaller.
const SHRINK_RUNS: usize = 400;
const USAGE: &str = "usage: cargo xtask simulate [--seeds N] [--seconds N] [--seed S] [--form F] [--threads T] [--sabotage NAME] [--verbose] [--keep-going]";

struct Arguments {
    first: u64,
    seeds: u64,
    threads: usize,
    verbose: bool,
    keep_going: bool,
    /// Begin no schedule after this time.
    seconds: u64,
    sabotage: Option<Sabotage>,
    /// Only schedules in which people write this form; rollouts have schedules of their own.
    form: Option<Form>,
}

impl Arguments {
    /// Whoever asks for one seed, or breaks the controllers on purpose, wants to see everything.
    fn forgives(&self) -> bool {
        self.seeds > 1 && self.sabotage.is_none()
    }
}

fn parse(words: &[&str]) -> Result<Arguments, String> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut arguments = Arguments {
        first: 1,
        seeds: 1000,
        threads,
        verbose: false,
        keep_going: false,
        seconds: u64::MAX,
        sabotage: None,
        form: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if *word == "--verbose" {
            arguments.verbose = true;
            continue;
        }
        if *word == "--keep-going" {
            arguments.keep_going = true;
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"))?;
        let number =
            || value.parse::<u64>().map_err(|_| format!("{word} needs a number, not {value:?}\n{USAGE}"));
        match *word {
            "--seeds" => arguments.seeds = number()?,
            "--seed" => (arguments.first, arguments.seeds) = (number()?, 1),
            "--form" => {
                let forms = [
                    ("application", Form::Application),
                    ("configuration", Form::Configuration),
                    ("rollout", Form::Rollout),
                ];
                let found = forms.into_iter().find(|(name, _)| name == value).map(|(_, form)| form);
                arguments.form = Some(found.ok_or("--form knows application, configuration and rollout")?);
            }
            "--seconds" => arguments.seconds = number()?,
            "--first" => arguments.first = number()?,
            "--threads" => arguments.threads = usize::try_from(number()?).unwrap_or(1).max(1),
            "--sabotage" => {
                let names: Vec<&str> = Sabotage::ALL.iter().map(|(name, _)| *name).collect();
                let found = Sabotage::named(value);
                arguments.sabotage =
                    Some(found.ok_or_else(|| format!("--sabotage knows {}", names.join(", ")))?);
            }
            _ => return Err(format!("{word} is not known\n{USAGE}")),
        }
    }
    Ok(arguments)
}

/// The chore.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let arguments = parse(words)?;
    if let Ok(filter) = std::env::var("SIMULATE_LOG") {
        let log = tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::new(filter));
        log.without_time().with_writer(std::io::stderr).init();
    }
    let began = Instant::now();
    let beginnings = world::beginnings(arguments.form)?;
    let total = search(&arguments, &beginnings)?;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "simulate: {} schedules in {seconds:.1} s on {} threads: {:.2} ms, {:.0} steps, {:.0} requests each",
        total.schedules,
        arguments.threads,
        seconds * 1000.0 * arguments.threads as f64 / total.schedules.max(1) as f64,
        total.steps as f64 / total.schedules.max(1) as f64,
        total.requests as f64 / total.schedules.max(1) as f64,
    );
    println!("simulate: fingerprint {:016x}", total.fingerprint);
    let each = |at: usize| total.times[at].as_secs_f64() * 1000.0 / total.schedules.max(1) as f64;
    println!("simulate: of this world {:.2} ms, steps {:.2} ms, end {:.2} ms", each(0), each(1), each(2));
    for (promise, seeds) in &total.broken {
        println!(
            "simulate: {promise:?} is broken by {} schedules, first by {:?}",
            seeds.len(),
            &seeds[..seeds.len().min(5)]
        );
    }
    if !total.known.is_empty() {
        println!("simulate: {} schedules break the promise they are known to break", total.known.len());
    }
    judge(&total, &arguments, &beginnings)
}

/// A broken promise that is not known is an error, and so is a known one that is kept.
fn judge(total: &Total, arguments: &Arguments, beginnings: &Beginnings) -> Result<(), String> {
    match (total.failed, total.mended.is_empty()) {
        (Some(seed), _) => Err(explain(seed, arguments, beginnings)),
        (None, false) => {
            Err(format!("seeds {:?} keep their promises: take them out of known.rs", total.mended))
        }
        (None, true) => Ok(()),
    }
}

#[derive(Default)]
struct Total {
    schedules: u64,
    steps: u64,
    requests: u64,
    times: [Duration; 3],
    /// Seeds by the promise they broke.
    broken: BTreeMap<&'static str, Vec<u64>>,
    /// Seeds that broke the promise they are known to break, and listed ones that kept it.
    known: Vec<u64>,
    mended: Vec<u64>,
    /// Equal for equal runs.
    fingerprint: u64,
    failed: Option<u64>,
}

/// Run the seeds on all threads; the first failing seed ends it.
fn search(arguments: &Arguments, beginnings: &Beginnings) -> Result<Total, String> {
    let next = AtomicU64::new(arguments.first);
    let (stop, began) = (AtomicBool::new(false), Instant::now());
    let total = Mutex::new(Total::default());
    let outcome: Result<Vec<()>, String> = std::thread::scope(|scope| {
        let worker = || -> Result<(), String> {
            let mut expected = settle::Expected::default();
            let options = Options {
                form: arguments.form,
                sabotage: arguments.sabotage,
                trace: arguments.verbose && arguments.seeds == 1,
            };
            loop {
                let seed = next.fetch_add(1, Ordering::SeqCst);
                let late = began.elapsed().as_secs() >= arguments.seconds;
                if seed >= arguments.first + arguments.seeds || late || stop.load(Ordering::SeqCst) {
                    return Ok(());
                }
                let draws = Draws::new(seed);
                if arguments
                    .form
                    .is_some_and(|form| form != Form::Rollout && User::new(&mut draws.clone()).form != form)
                {
                    continue;
                }
                let outcome = schedule::run(beginnings, draws, &options, &mut expected);
                outcome.trace.iter().for_each(|line| println!("{line}"));
                let mut total = total.lock().map_err(|error| error.to_string())?;
                total.schedules += 1;
                total.steps += outcome.steps as u64;
                total.requests += outcome.requests;
                total.fingerprint ^= outcome.fingerprint.rotate_left(u32::try_from(seed % 64).unwrap_or(0));
                total.times.iter_mut().zip(outcome.times).for_each(|(total, time)| *total += time);
                let open = known::promise(seed).filter(|_| arguments.forgives());
                match outcome.violation {
                    None if open.is_some() => total.mended.push(seed),
                    None => {}
                    Some(violation) if open == Some(violation.promise) => total.known.push(seed),
                    Some(violation) => {
                        stop.store(!arguments.keep_going, Ordering::SeqCst);
                        total.broken.entry(violation.promise).or_default().push(seed);
                        total.failed = Some(total.failed.map_or(seed, |known| known.min(seed)));
                    }
                }
            }
        };
        let threads: Vec<_> = (0..arguments.threads).map(|_| scope.spawn(worker)).collect();
        let ended =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?);
        ended.collect()
    });
    outcome?;
    total.into_inner().map_err(|error| error.to_string())
}

/// The smallest schedule that fails the same way, step by step.
fn explain(seed: u64, arguments: &Arguments, beginnings: &Beginnings) -> String {
    let mut expected = settle::Expected::default();
    let options = Options { form: arguments.form, sabotage: arguments.sabotage, trace: true };
    let mut again = |calm: &BTreeSet<usize>, from: usize| {
        let draws = Draws::new(seed).calmed(calm.clone(), from);
        schedule::run(beginnings, draws, &options, &mut expected)
    };
    let first = again(&BTreeSet::new(), usize::MAX);
    let Some(violation) = first.violation.clone() else {
        return format!(
            "seed {seed} failed once and does not fail again: something decides that is not the seed"
        );
    };
    let (smallest, runs) = shrink(&first, violation.promise, &mut again);
    let shown = if arguments.verbose { &first } else { &smallest };
    let violation = shown.violation.clone().unwrap_or(violation);
    format!(
        "seed {seed} breaks the promise {:?}: {}\n{} steps, {} after {runs} runs of shrinking:\n{}\n\
         replay: cargo xtask simulate --seed {seed}{}",
        violation.promise,
        violation.what,
        first.steps,
        smallest.steps,
        shown.trace.join("\n"),
        if arguments.form == Some(Form::Rollout) { " --form rollout" } else { "" },
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
