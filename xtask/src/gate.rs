//! The gate: every check of a change, the cheap ones first, in at most 25 minutes on two cores. `.ci/run` builds the workspace and starts it.
//!
//! Long checks run in the night (`nightly`); here a sample of each shows that it still works.

use std::path::{Path, PathBuf};

use crate::command;
use crate::step::{Outcome, Step, table};

/// Where a step's output is kept.
const LOGS: &str = "target/gate";
/// Forms of schedules, each for a part of a minute.
pub(crate) const FORMS: [&str; 5] = ["application", "configuration", "rollout", "rollout-seed", "workflow"];
/// Seconds of each form.
const SECONDS_OF_A_FORM: u64 = 12;
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

/// The table of the steps, and of each that failed its most telling lines: only the end of a log is read.
pub(crate) fn conclude(outcomes: &[Outcome]) -> Result<(), String> {
    let failed: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.failed()).collect();
    println!("\n{}", table(outcomes));
    for outcome in &failed {
        println!("--- {} failed; again: {}", outcome.name, outcome.command);
        for line in outcome.excerpt() {
            println!("    {line}");
        }
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
        Step::cargo("test", &["test", "--workspace", "--no-fail-fast"], 20, "test result: ok"),
    ];
    steps.push(Step::chore("kubectl", "kubectl", 5, "test result: ok. 1 passed")?);
    // Recordings are made beside the repository, where they are made at all.
    if command::root().join("../shared/conformance").is_dir() {
        steps.push(Step::chore("cases", "cases --check", 3, "as recorded")?);
    }
    steps.push(Step::chore("conformance", "conformance", 10, " passed, ")?);
    for form in FORMS {
        let words = format!("simulate --form {form} --first 25 --seeds 10000 --seconds {SECONDS_OF_A_FORM}");
        steps.push(Step::chore(&format!("simulate-{form}"), &words, 4, SCHEDULES)?);
    }
    steps.push(Step::chore("fuzz", "fuzz --seed 1 --seconds 20", 4, "inputs in")?);
    steps.push(Step::new(
        "control-plane",
        "bash",
        &["-c", "e2e/controlplane/build.sh || { rc=$?; [ $rc = 77 ] && echo 'skipped: Go is not installed' || exit $rc; }"],
        20,
        "kplane",
    ));
    steps.push(Step::chore("e2e-real", "e2e --real --sample", 8, "test result: ok")?);
    Ok(steps)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_failed_is_told_at_the_end() {
        let logs = std::env::temp_dir().join(format!("xtask-gate-{}", std::process::id()));
        std::fs::create_dir_all(&logs).unwrap();
        let passes = Step::new("one", "echo", &["3 cases"], 1, "cases").run(&logs);
        assert_eq!(conclude(&[passes]), Ok(()));
        let fails = Step::new("two", "sh", &["-c", "echo seed 7 breaks it; exit 1"], 1, "cases").run(&logs);
        assert_eq!(fails.excerpt(), ["seed 7 breaks it"]);
        assert_eq!(conclude(&[fails]), Err("FAILED: two".to_owned()));
    }

    #[test]
    fn a_step_that_does_not_exist_is_refused() {
        let options = Options { only: vec!["tset".to_owned()] };
        let error = run(&options).unwrap_err();
        assert!(error.contains("no step `tset`") && error.contains("conformance"), "{error}");
    }
}
