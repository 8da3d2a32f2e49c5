//! Runs the peers' cases and compares the counts per kind and scope with `conformance.toml`.
//!
//! Every case goes through a door that anybody can score from outside: the binaries `cue-eval` and `vela`, and for parts of
//! definitions `cargo xtask case`. Many cases go through one process, which is started again after a crash or an endless
//! loop: that is one failed case and not the end of the run.

mod batch;
mod calls;
mod cases;
mod crd;
mod definition;
mod examples;
mod files;
mod json;
mod listed;
mod process;
mod ratchet;
mod session;
mod trait_pairs;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::command;
pub(crate) use batch::serve;
use cases::{Case, Programs};
pub(crate) use definition::run as case;
pub(crate) use json::Json;
use listed::Outcome;
pub(crate) use process::{Finished, run as run_process};
use ratchet::Count;
pub(crate) use session::Session;

/// Which cases to run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Other cases than those of the repository, whose failing ones are all listed with their reasons
    #[arg(long = "dir", value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Only cases of this kind
    #[arg(long, value_name = "K")]
    kind: Option<String>,
    /// Tell why each failed
    #[arg(long)]
    verbose: bool,
    /// Write what passed into conformance.toml and the lists
    #[arg(long)]
    record: bool,
}

/// Runs the cases below a folder.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let directory = match &options.directory {
        Some(directory) if directory.is_dir() => {
            std::path::absolute(directory).map_err(|error| error.to_string())?
        }
        Some(directory) => return Err(format!("{} is no folder", directory.display())),
        None => vela_testkit::cases::all().join("conformance"),
    };
    let mut cases = cases::find(&directory)?;
    cases.retain(|case| options.kind.as_deref().is_none_or(|kind| case.kind == kind || case.group() == kind));
    if cases.is_empty() {
        return Err(format!("no case of a known format in {}", directory.display()));
    }
    let programs = programs(cases.iter().any(|case| case.kind != "crd"))?;
    let outcomes = run_all(&cases, &programs, options.verbose);
    let counts = count(&cases, &outcomes);
    // The lists lie in the room `cue` and speak of it: these kinds fail for reasons of other rooms.
    let listed = |case: &Case| !matches!(case.kind, "application" | "example" | "trait-pairs" | "crd");
    let outcomes: Vec<Outcome> =
        cases.iter().zip(outcomes).filter(|(case, _)| listed(case)).map(|pair| pair.1).collect();
    let (passed, failed) = print(&counts);
    let (recorded, listed) = (ratchet::read()?, listed::read());
    let mut wrong = ratchet::fallen(&recorded, &counts);
    wrong.extend(listed.fallen(&outcomes));
    if options.directory.is_none() {
        wrong.extend(listed.unexplained(&outcomes));
    }
    if options.record {
        ratchet::record(recorded, &counts)?;
        listed.record(&outcomes)?;
    }
    println!("{passed} passed, {failed} failed");
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n       ")) }
}

/// The programs, built anew where a case goes through one.
fn programs(used: bool) -> Result<Programs, String> {
    if used {
        build()?;
    }
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let folder = me.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let name = |stem: &str| folder.join(format!("{stem}{}", std::env::consts::EXE_SUFFIX));
    Ok(Programs { cue_eval: name("cue-eval"), vela: name("vela"), xtask: me })
}

fn build() -> Result<(), String> {
    command::build(&[
        "--quiet",
        "--profile",
        "dev",
        "--package",
        "vela-cue",
        "--bin",
        "cue-eval",
        "--package",
        "vela-cli",
        "--bin",
        "vela",
    ])
}

/// The outcome of every case, in the order of the cases.
fn run_all(cases: &[Case], programs: &Programs, verbose: bool) -> Vec<Outcome> {
    let passed = Mutex::new(vec![false; cases.len()]);
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut programs = programs.open();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    let outcome = case.run(&mut programs);
                    if verbose && let Err(why) = &outcome {
                        let why: Vec<&str> = why.lines().take(4).collect();
                        println!("FAIL {} {}: {}", case.group(), case.name, why.join(" | "));
                    }
                    // A poisoned lock only means that another worker panicked; its outcomes are still right.
                    let mut passed = passed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    passed[index] = outcome.is_ok();
                }
            });
        }
    });
    let passed = passed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let outcome =
        |(case, passed): (&Case, bool)| Outcome { id: case.id.clone(), name: case.name.clone(), passed };
    cases.iter().zip(passed).map(outcome).collect()
}

fn count(cases: &[Case], outcomes: &[Outcome]) -> BTreeMap<String, Count> {
    let mut counts = BTreeMap::<String, Count>::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        counts.entry(case.group()).or_default().add(case.must_fail, outcome.passed);
    }
    counts
}

fn print(counts: &BTreeMap<String, Count>) -> (usize, usize) {
    println!("{:<24} {:>16} {:>16}", "kind and scope", "result", "must fail");
    let mut total = (0, 0);
    for (group, count) in counts {
        let cell = |(passed, failed): (usize, usize)| match passed + failed {
            0 => "-".to_owned(),
            all => format!("{passed}/{all}"),
        };
        println!("{group:<24} {:>16} {:>16}", cell(count.result), cell(count.must_fail));
        total.0 += count.result.0 + count.must_fail.0;
        total.1 += count.result.1 + count.must_fail.1;
    }
    total
}
