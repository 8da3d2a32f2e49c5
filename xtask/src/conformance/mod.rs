//! The peers' cases in; passed and failed per kind and scope out, held against `conformance.toml`.
//!
//! Every case goes through a door that anybody can score from outside: the binaries `cue-eval` and `vela`, and for parts of
//! definitions `cargo xtask case`. One process a case, so a crash or an endless loop is one failed case and not the end
//! of the run.

mod cases;
mod definition;
mod json;
mod process;
mod ratchet;
mod tree;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::command;
use cases::{Case, Doors};
pub(crate) use definition::run as case;
use ratchet::Count;

struct Options {
    directory: PathBuf,
    kind: Option<String>,
    verbose: bool,
    record: bool,
}

/// Runs the cases below a folder.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let options = options(arguments)?;
    if !options.directory.is_dir() {
        println!("skipped: {} is not there, so no conformance case was run", options.directory.display());
        println!("0 passed, 0 failed");
        return Ok(());
    }
    let mut cases = cases::find(&options.directory)?;
    cases.retain(|case| options.kind.as_deref().is_none_or(|kind| case.kind == kind));
    if cases.is_empty() {
        return Err(format!("no case of a known format in {}", options.directory.display()));
    }
    let doors = build()?;
    let counts = run_all(&cases, &doors, options.verbose);
    let (passed, failed) = print(&counts);
    let recorded = ratchet::read()?;
    let fallen = ratchet::fallen(&recorded, &counts);
    if options.record {
        ratchet::record(recorded, &counts)?;
    }
    println!("{passed} passed, {failed} failed");
    if fallen.is_empty() { Ok(()) } else { Err(fallen.join("\n       ")) }
}

fn options(arguments: &[&str]) -> Result<Options, String> {
    let mut options = Options {
        directory: command::root().join("../shared/conformance"),
        kind: None,
        verbose: false,
        record: false,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().map(|v| (*v).to_owned()).ok_or(format!("{word} needs a value"));
        match *word {
            "--dir" => options.directory = PathBuf::from(value()?),
            "--kind" => options.kind = Some(value()?),
            "--verbose" => options.verbose = true,
            "--record" => options.record = true,
            other => {
                return Err(format!("unknown option {other}; expected --dir, --kind, --verbose or --record"));
            }
        }
    }
    options.directory = std::path::absolute(&options.directory).map_err(|e| e.to_string())?;
    Ok(options)
}

/// Builds the doors and asks cargo where it put them.
fn build() -> Result<Doors, String> {
    command::cargo(&[
        "build",
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
    ])?;
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let folder = me.parent().map_or_else(PathBuf::new, Path::to_path_buf);
    let name = |stem: &str| folder.join(format!("{stem}{}", std::env::consts::EXE_SUFFIX));
    Ok(Doors { cue_eval: name("cue-eval"), vela: name("vela"), xtask: me })
}

fn run_all(cases: &[Case], doors: &Doors, verbose: bool) -> BTreeMap<String, Count> {
    let counts = Mutex::new(BTreeMap::<String, Count>::new());
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = case.run(doors);
                    if verbose && let Err(why) = &outcome {
                        let why: Vec<&str> = why.lines().take(4).collect();
                        println!("FAIL {} {}: {}", case.group(), case.name, why.join(" | "));
                    }
                    // A poisoned lock only means that another worker panicked; its counts are still right.
                    let mut counts = counts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    counts.entry(case.group()).or_default().add(case.must_fail, outcome.is_ok());
                }
            });
        }
    });
    counts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
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
