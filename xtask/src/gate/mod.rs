//! The gate: every check of a change, the cheap ones first, in at most 25 minutes on two cores. `.ci/run` builds the workspace and starts it.
//!
//! Long checks run in the night (`nightly`); here a sample of each shows that it still works.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::command;
use crate::step::{Outcome, Step, Verdict, table};

/// Where a step's output is kept.
const LOGS: &str = "target/gate";
/// Forms of schedules, each for a part of a minute.
pub(crate) const FORMS: [&str; 6] =
    ["application", "configuration", "rollout", "rollout-seed", "workflow", "harbor"];
/// Seconds of each form.
const SECONDS_OF_A_FORM: u64 = 12;
/// Builds the control plane of `e2e-real`, in bash. Its code for a machine without Go is no failure.
const CONTROL_PLANE: &str = "e2e/controlplane/build.sh || { rc=$?; [ $rc = 77 ] && echo 'skipped: Go is not installed' || exit $rc; }";
/// What a run says about schedules.
pub(crate) const SCHEDULES: &str = "schedules in";

/// Which steps to run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this step; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

/// Runs the steps, all of them even when one fails, and repeats at the end what failed.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let outcomes = run_all(&chosen(steps()?, &options.only)?, &logs(LOGS)?);
    conclude(&outcomes)
}

/// The steps of these names, or all where none is named.
///
/// # Errors
/// A name that no step has, with those that there are.
pub(crate) fn chosen(mut steps: Vec<Step>, only: &[String]) -> Result<Vec<Step>, String> {
    if let Some(name) = only.iter().find(|name| steps.iter().all(|step| step.name != **name)) {
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        return Err(format!("there is no step `{name}`; there are {}", names.join(", ")));
    }
    steps.retain(|step| only.is_empty() || only.contains(&step.name));
    Ok(steps)
}

/// Runs them one after the other.
pub(crate) fn run_all(steps: &[Step], logs: &Path) -> Vec<Outcome> {
    steps.iter().map(|step| step.run(logs)).collect()
}

/// The folder of the logs of one run, empty.
pub(crate) fn logs(name: &str) -> Result<PathBuf, String> {
    let folder = command::root().join(name);
    let cannot = |error: std::io::Error| format!("cannot make {}: {error}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(cannot)?;
    }
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    Ok(folder)
}

/// The table of the steps, and of each that failed its most telling lines: only the end of a log is read. A run in which
/// every step was skipped has shown nothing and fails.
pub(crate) fn conclude(outcomes: &[Outcome]) -> Result<(), String> {
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.failed()).collect();
    println!("\n{}", table(outcomes));
    for outcome in &failed {
        println!("--- {} failed; again: {}", outcome.name, outcome.command);
        for line in outcome.excerpt() {
            println!("    {line}");
        }
    }
    if !outcomes.iter().any(|outcome| outcome.verdict == Verdict::Passed) && failed.is_empty() {
        return Err(
            "nothing was checked: every step was skipped; the table says what this machine lacks".to_owned()
        );
    }
    if failed.is_empty() {
        println!("all {} steps passed or said why they were skipped", outcomes.len());
        return Ok(());
    }
    let names: Vec<&str> = failed.iter().map(|outcome| outcome.name.as_str()).collect();
    Err(format!("FAILED: {}", names.join(", ")))
}

fn steps() -> Result<Vec<Step>, String> {
    let mut steps = vec![
        Step::chore("check", "check", 10, "check: clean")?,
        Step::cargo("test", &["test", "--workspace", "--no-fail-fast"], 20, "test result: ok")
            .with("RUST_TEST_THREADS", test_threads().to_string()),
    ];
    steps.push(Step::chore("kubectl", "kubectl", 5, "test result: ok. 1 passed")?);
    steps.push(Step::chore("cases", "cases --check", 3, "as recorded")?);
    steps.push(Step::chore("pictures", "pictures --check", 3, "are current")?);
    steps.push(Step::chore("conformance", "conformance", 10, " passed, ")?);
    for form in FORMS {
        let words = format!("simulate --form {form} --first 25 --seeds 10000 --seconds {SECONDS_OF_A_FORM}");
        steps.push(Step::chore(&format!("simulate-{form}"), &words, 4, SCHEDULES)?);
    }
    steps.push(Step::chore("fuzz", "fuzz --seed 1 --seconds 20", 4, "inputs in")?);
    steps.push(Step::new("control-plane", "bash", &["-c", CONTROL_PLANE], 20, "kplane"));
    steps.push(Step::chore("e2e-real", "e2e --real --sample", 8, "test result: ok")?);
    Ok(steps)
}

/// Two tests for each processor: many of them wait most of their time, for a reconcile or a deadline.
fn test_threads() -> usize {
    2 * std::thread::available_parallelism().map_or(2, usize::from)
}

/// The embedded API server with the kubectl of this machine.
pub(crate) fn kubectl() -> Result<(), String> {
    if !found("kubectl") {
        println!("skipped: kubectl is not installed");
        return Ok(());
    }
    let tests = command::tests_of("vela-apiserver", "apiserver")?;
    let status = command::status(&tests.to_string_lossy(), &["--ignored", "kubectl_works"], &[])?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("kubectl on the embedded API server failed: {status}"))
    }
}

fn found(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
