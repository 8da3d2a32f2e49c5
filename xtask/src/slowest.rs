//! The tests that take longest: output of test programs with `--report-time` in, twenty names with their seconds out.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// How many are listed.
const LISTED: usize = 20;
/// A test may take so many seconds, on two processors that do nothing else.
const SECONDS_AT_MOST: f64 = 10.0;
/// Tests that may take longer: each runs one scenario once for each write or each recording, or waits for a deadline that users have.
const LONG: [&str; 7] = [
    "applications::recorded_applications_become_equal_objects",
    "replay::recorded_runs_end_in_equal_objects",
    "there_and_back::a_user_who_comes_back_finds_everything",
    "scenarios::access::every_right_of_the_controllers_is_used",
    "scenarios::revision_hook::bad_answers_are_reported_retried_and_block_no_other",
    "scenarios::rollout_reverts::cut_off_at_any_write_it_goes_back_and_no_pod_is_missing",
    "scenarios::rollouts::cut_off_at_any_write_it_goes_on_and_no_pod_is_missing",
];

/// Where the output comes from.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Output of a run with `--report-time`, instead of running all tests
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Only the tests of this package
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    package: Option<String>,
}

/// Prints the slowest tests, and fails where one that is not in the list takes too long.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let output = match &options.from {
        Some(file) => {
            std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
        }
        None => everything(options.package.as_deref())?,
    };
    let mut times = times(&output);
    if times.is_empty() {
        return Err("no test told its time: it needs the output of `--report-time`".to_owned());
    }
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let sum: f64 = times.iter().map(|(seconds, _)| seconds).sum();
    for (seconds, name) in times.iter().take(LISTED) {
        println!("{seconds:8.2} s  {name}");
    }
    let long = too_long(&times);
    println!("{} tests, {sum:.0} s in all", times.len());
    if long.is_empty() {
        return Ok(());
    }
    Err(format!(
        "above {SECONDS_AT_MOST} s, and not in the list of xtask/src/slowest.rs: {}",
        long.join(", ")
    ))
}

/// The tests that take longer than a test may.
fn too_long(times: &[(f64, String)]) -> Vec<&str> {
    let long =
        times.iter().filter(|(seconds, name)| *seconds > SECONDS_AT_MOST && !LONG.contains(&name.as_str()));
    long.map(|(_, name)| name.as_str()).collect()
}

/// Runs every test program, one after the other, and returns what they print.
fn everything(package: Option<&str>) -> Result<String, String> {
    let mut output = String::new();
    for (folder, program) in command::test_programs(package)? {
        println!("$ {}", program.display());
        output.push_str(&timed(&folder, &program)?);
    }
    Ok(output)
}

/// Output of one test program. The harness tells times where it believes to be a nightly one.
fn timed(folder: &Path, program: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(["-Zunstable-options", "--report-time"]).env("RUSTC_BOOTSTRAP", "1").current_dir(folder);
    let output = command.output().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Seconds and name of each test: lines `test NAME ... ok <1.234s>`.
fn times(output: &str) -> Vec<(f64, String)> {
    let time = |line: &str| {
        let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
        let (_, seconds) = rest.trim_end().strip_suffix("s>")?.rsplit_once('<')?;
        Some((seconds.parse().ok()?, name.to_owned()))
    };
    output.lines().filter_map(time).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_tests_are_read() {
        let output = "running 3 tests\ntest a::b ... ok <0.500s>\ntest c ... ignored, needs x\ntest d ... FAILED <12.25s>\n";
        assert_eq!(times(output), [(0.5, "a::b".to_owned()), (12.25, "d".to_owned())]);
        assert_eq!(too_long(&times(output)), ["d"]);
        assert!(too_long(&[(12.25, LONG[0].to_owned())]).is_empty());
    }
}
