//! Chores of the project: `cargo xtask CHORE`; `cargo xtask help` lists them.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod cases;
mod check;
mod codegen;
mod command;
mod conformance;
mod differential;
mod e2e;
mod fuzz;
mod gate;
mod image;
mod nightly;
mod pictures;
mod simulate;
mod slowest;
mod soak;
mod step;
mod tidy;

use std::process::ExitCode;

use clap::Parser;

/// The words of the command line.
#[derive(clap::Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Chores of the project")]
enum Chore {
    /// The gate of a change, after the workspace was built: `.ci/run` is the way in
    Gate(gate::Options),
    /// kubectl against the embedded API server
    Kubectl,
    /// Everything that takes long, with new seeds; writes target/nightly/table.md
    Nightly(nightly::Options),
    /// The slowest tests of a run, from what `cargo test` or the gate printed
    Slowest(slowest::Options),
    /// Format, lints (warnings are errors), tidy; prints the largest files and functions
    Check,
    /// Only the rules of the house: arrows, circles of files, unused dependencies, sizes, pure rooms, names
    Tidy,
    /// Packs the recorded cases of the peers anew into testkit/cases
    Cases(cases::Options),
    /// Runs the peers' cases, compares with conformance.toml
    Conformance(conformance::Options),
    /// One definition case (component, trait, patch or health); prints its result as JSON
    Case { kind: String, folder: String },
    /// The same for many cases: one JSON object a line in, one out
    Batch,
    /// Random programs through the real cue and ours; keeps the smallest that differ
    DifferentialCue(differential::Options),
    /// Changed inputs through every part that takes input; keeps what panics, hangs or crashes
    Fuzz(fuzz::Options),
    /// One target of the fuzzer, in a process of its own
    #[command(hide = true)]
    FuzzChild { target: String },
    /// Seeded schedules of the controllers with faults, kills and meddling; every promise checked
    Simulate(simulate::Options),
    /// A real vela-core kept busy for an hour; its memory, queues and connections must come back
    Soak(soak::Options),
    /// The scenarios on the sandbox, or on a real control plane
    E2e {
        /// On a real control plane
        #[arg(long)]
        real: bool,
        /// Only one scenario of each kind
        #[arg(long, requires = "real", conflicts_with = "other")]
        sample: bool,
        /// Only the scenario of two versions, with vela-core of that commit as one of them
        #[arg(long, value_name = "COMMIT", requires = "real")]
        other: Option<String>,
    },
    /// Figures of the release binaries, as recorded in docs/benchmarks.md
    Bench {
        /// Only those of the manager and its webhooks, in a profile that builds fast
        #[arg(long, conflicts_with = "rollouts")]
        manager: bool,
        /// Only those of rollouts, in a profile that builds fast
        #[arg(long)]
        rollouts: bool,
    },
    /// Draws the pictures of README from what `vela` prints in its sandbox
    Pictures(pictures::Options),
    /// Rewrites generated files (a test proves them current)
    Codegen(codegen::Options),
}

fn main() -> ExitCode {
    let outcome = match Chore::parse() {
        Chore::Gate(options) => gate::run(&options),
        Chore::Kubectl => gate::kubectl(),
        Chore::Nightly(options) => nightly::run(&options),
        Chore::Slowest(options) => slowest::run(&options),
        Chore::Check => check::run(),
        Chore::Tidy => tidy::run(),
        Chore::Cases(options) => cases::run(&options),
        Chore::Conformance(options) => conformance::run(&options),
        Chore::Case { kind, folder } => conformance::case(&kind, &folder),
        Chore::Batch => conformance::serve(),
        Chore::DifferentialCue(options) => differential::run(options),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::FuzzChild { target } => fuzz::serve(&target),
        Chore::Simulate(options) => simulate::run(&options),
        Chore::Soak(options) => soak::run(&options),
        Chore::E2e { other: Some(commit), .. } => e2e::with_another_version(&commit),
        Chore::E2e { sample: true, .. } => e2e::sample_on_a_control_plane(),
        Chore::E2e { real: true, .. } => e2e::on_a_control_plane(),
        Chore::E2e { .. } => e2e::on_the_sandbox(),
        Chore::Bench { manager: true, .. } => bench::of_the_manager(),
        Chore::Bench { rollouts: true, .. } => bench::of_rollouts(),
        Chore::Bench { .. } => bench::run(),
        Chore::Pictures(options) => pictures::run(&options),
        Chore::Codegen(options) => codegen::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_words_of_every_chore_are_sound() {
        Chore::command().debug_assert();
    }

    #[test]
    fn chores_read_the_words_that_the_gate_gives_them() {
        for words in [
            "simulate --first 25 --seeds 10000 --seconds 120",
            "simulate --form rollout --seeds 20000 --seconds 300",
            "simulate --form rollout-seed --seeds 20000 --seconds 300",
            "simulate --form workflow --seeds 20000 --seconds 120",
            "simulate --seed 7 --sabotage no-record --threads 1 --verbose --keep-going",
            "fuzz --target parse --seed 2 --runs 10",
            "differential-cue --seed 3 --programs 10 --order --cycles",
            "soak --minutes 1 --seed 7",
            "cases --check",
            "bench --manager",
            "e2e --real --other HEAD",
            "e2e --real --sample",
            "gate --only test --only check",
            "kubectl",
            "nightly --only soak --minutes 60",
            "pictures --check",
        ] {
            let read = Chore::try_parse_from(["cargo xtask"].into_iter().chain(words.split(' ')));
            assert!(read.is_ok(), "{words}: {}", read.err().unwrap());
        }
        for words in [
            "simulate --form nothing",
            "simulate --sabotage nothing",
            "soak --minutes x",
            "e2e --other HEAD",
            "e2e --sample",
        ] {
            assert!(
                Chore::try_parse_from(["cargo xtask"].into_iter().chain(words.split(' '))).is_err(),
                "{words}"
            );
        }
    }
}
