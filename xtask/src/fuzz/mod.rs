//! Committed inputs in; every mutation of them on which a part of the evaluator or of admission panics, hangs, or eats memory or stack out.
//!
//! There is no feedback from coverage, which needs a compiler of another channel; the inputs know the languages instead.
//! Each target runs in a process of its own with a limit on memory, so that whatever happens is seen and the input kept.

mod child;
mod corpus;
mod minimize;
mod mutate;
mod targets;

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use vela_testkit::program::Random;

use crate::command;
pub(crate) use child::serve;
use child::{Child, Verdict};

/// One target stops after so many finds; a build that fails on everything would find for ever.
const MOST_FOUND: usize = 5;

/// Which targets to run, and for how long.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this target
    #[arg(long, value_name = "T", value_parser = clap::builder::PossibleValuesParser::new(targets::all()))]
    target: Option<String>,
    /// Where chance begins
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// For all targets together
    #[arg(long, value_name = "N", default_value_t = 40)]
    seconds: u64,
    /// For each target, instead of seconds
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// Where inputs that show a mistake are kept
    #[arg(long, value_name = "DIR", default_value_os_t = command::root().join("target/fuzz"))]
    keep: PathBuf,
}

/// Runs the targets.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let mut targets = targets::all();
    targets.retain(|target| options.target.as_deref().is_none_or(|only| only == *target));
    let workers = std::thread::available_parallelism().map_or(2, usize::from).min(targets.len());
    let rounds = targets.len().div_ceil(workers).max(1);
    let each = Duration::from_secs(options.seconds) / u32::try_from(rounds).unwrap_or(1);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let outcomes: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let work = || {
            while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                let finds = one_target(target, options, each)?;
                found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(finds);
            }
            Ok(())
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|w| w.join().unwrap_or_else(|_| Err("a worker panicked".into()))).collect()
    });
    outcomes.into_iter().collect::<Result<Vec<()>, String>>()?;
    let found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if found.is_empty() { Ok(()) } else { Err(found.join("\n       ")) }
}

fn one_target(target: &'static str, options: &Options, time: Duration) -> Result<Vec<String>, String> {
    let corpus = corpus::read(target)?;
    let mut random = Random::new(options.seed);
    let mut child = Child::new(target);
    let mut found = Vec::new();
    let mut seen: Vec<Verdict> = Vec::new();
    let started = Instant::now();
    let mut runs = 0_u64;
    let mut slowest = Duration::ZERO;
    // Every input is run as it is before any is changed.
    let mut plain = corpus.iter().map(|input| input.bytes.clone());
    loop {
        let input = plain.next().unwrap_or_else(|| mutate::mutated(target, &corpus, &mut random));
        let begun = Instant::now();
        let verdict = child.run(&input)?;
        slowest = slowest.max(begun.elapsed());
        runs += 1;
        if verdict != Verdict::Fine
            && !(matches!(verdict, Verdict::Panic(_)) && seen.iter().any(|v| v.is_like(&verdict)))
        {
            seen.push(verdict.clone());
            let small = minimize::smallest(&input, &verdict, &mut child)?;
            let file = corpus::save(&options.keep, target, &verdict, &small)?;
            let line = format!("{target}: {}; the input is kept in {}", verdict.words(), file.display());
            println!("{line}");
            found.push(line);
        }
        let over = match options.runs {
            Some(most) => runs >= most.max(corpus.len() as u64),
            None => started.elapsed() >= time && runs >= corpus.len() as u64,
        };
        if over || found.len() >= MOST_FOUND {
            break;
        }
    }
    println!(
        "{target}: {runs} inputs in {:.1} s, the slowest took {} ms, {} found",
        started.elapsed().as_secs_f64(),
        slowest.as_millis(),
        found.len()
    );
    Ok(found)
}
