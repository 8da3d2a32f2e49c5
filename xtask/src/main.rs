//! Chores of the project: `cargo xtask check | cases | conformance | differential-cue | fuzz | simulate | soak | e2e | bench | codegen`.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod cases;
mod check;
mod command;
mod conformance;
mod differential;
mod e2e;
mod fuzz;
mod ignored;
mod image;
mod simulate;
mod soak;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <chore>

  check                       format, lints (warnings are errors), tidy; prints the largest files and functions
  tidy                        only the rules of the house: arrows, circles of files, unused dependencies, sizes, pure rooms, names
  cases [--check] [--from DIR]
                              packs the recorded cases of the peers anew into testkit/cases; --check only compares
  conformance [--dir DIR] [--kind K] [--verbose] [--record]
                              runs the peers' cases, compares with conformance.toml
  case KIND FOLDER            one definition case (component, trait, patch or health); prints its result as JSON
  differential-cue [--seed S] [--programs N] [--cue PATH] [--keep DIR] [--order] [--cycles] [--file FILE]
                              random programs through the real cue and ours; keeps the smallest that differ
  fuzz [--target T] [--seed S] [--seconds N | --runs N] [--keep DIR]
                              changed inputs through every part that takes input; keeps what panics, hangs or crashes
  simulate [--seeds N] [--seed S] [--threads T] [--form F] [--sabotage NAME] [--verbose]
                              seeded schedules of the controllers with faults, kills and meddling; every promise checked
  batch                       the same for many cases: one JSON object a line in, one out
  e2e [--real [--other COMMIT]]
                              the scenarios on the sandbox, or on a real control plane; or only that of two versions, with
                              vela-core of that commit as one of them
  soak [--minutes N] [--seed S]
                              a real vela-core kept busy for an hour; its memory, queues and connections must come back
  bench [--manager|--rollouts] figures of the release binaries, as recorded in docs/benchmarks.md; or only those of the
                              manager and its webhooks, or of rollouts, in a profile that builds fast
  codegen                     rewrites generated files (a test proves them current)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["check"] => check::run(),
        ["tidy"] => tidy::run(),
        ["cases", rest @ ..] => cases::run(rest),
        ["conformance", rest @ ..] => conformance::run(rest),
        ["case", kind, folder] => conformance::case(kind, folder),
        ["differential-cue", rest @ ..] => differential::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["fuzz-child", target] => fuzz::serve(target),
        ["simulate", rest @ ..] => simulate::run(rest),
        ["soak", rest @ ..] => soak::run(rest),
        ["batch"] => conformance::serve(),
        ["e2e"] => e2e::on_the_sandbox(),
        ["e2e", "--real"] => e2e::on_a_control_plane(),
        ["e2e", "--real", "--other", commit] => e2e::with_another_version(commit),
        ["bench"] => bench::run(),
        ["bench", "--manager"] => bench::of_the_manager(),
        ["bench", "--rollouts"] => bench::of_rollouts(),
        ["codegen"] => command::cargo_with(&["test", "--package", "vela-crds"], &[("UPDATE", "1")]),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
