//! The night: everything that takes long in one command, with seeds that were not used before; a table of Markdown at the end.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::command;
use crate::gate::{self, FORMS, SCHEDULES};
use crate::step::{Outcome, Step, table};

/// Where a night's table and logs are kept.
const FOLDER: &str = "target/nightly";
/// A night begins with other seeds than the one before: so many lie between two days.
const SEEDS_OF_A_DAY: u64 = 100_000;
/// The time of all steps beside those that are given their minutes.
const FIXED_MINUTES: u64 = 40;

/// Which steps to run, and for how long.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this step; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// How long the whole may take, about
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(50..=1440))]
    minutes: u64,
    /// Where chance begins [default: a number of today's date]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
}

/// Runs the steps and writes the table.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let seed = options.seed.map_or_else(of_today, Ok)?;
    let steps = gate::chosen(steps(options.minutes, seed)?, &options.only)?;
    println!("nightly: seed {seed}, {} minutes; again: cargo xtask nightly --seed {seed}", options.minutes);
    let logs = gate::logs(FOLDER)?;
    let outcomes = gate::run_all(&steps, &logs);
    let file = logs.join("table.md");
    let text = format!("Seed {seed}.\n\n{}{}", table(&outcomes), repeats(&outcomes));
    std::fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    println!("nightly: the table is in {}", file.display());
    gate::conclude(&outcomes)
}

/// How each failure is repeated.
fn repeats(outcomes: &[Outcome]) -> String {
    let failed = outcomes.iter().filter(|outcome| outcome.failed());
    failed.map(|outcome| format!("\n{}: `{}`\n", outcome.name, outcome.command)).collect()
}

fn of_today() -> Result<u64, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let days =
        now.map_err(|error| format!("the clock of this machine is wrong: {error}"))?.as_secs() / 86_400;
    Ok(days * SEEDS_OF_A_DAY)
}

/// Two thirds of what is not fixed belong to schedules, the rest to the soak, programs and inputs.
fn steps(minutes: u64, seed: u64) -> Result<Vec<Step>, String> {
    let free = minutes.saturating_sub(FIXED_MINUTES).max(10) * 60;
    let each = free * 2 / 3 / FORMS.len() as u64;
    let soak = (free / 6 / 60).max(2);
    let fuzz = free / 12;
    let mut steps = vec![Step::new(
        "build",
        &command::cargo_program(),
        &["build", "--workspace", "--bins", "--tests", "--examples"],
        40,
        "Finished",
    )];
    for form in FORMS {
        let words = format!(
            "simulate --form {form} --first {seed} --seeds {SEEDS_OF_A_DAY} --seconds {each} --keep-going"
        );
        steps.push(Step::chore(&format!("simulate-{form}"), &words, each / 60 + 5, SCHEDULES)?);
    }
    let sabotages = ["test", "--package", "vela-simulation", "--", "--include-ignored"];
    steps.push(Step::cargo("sabotages", &sabotages, 20, "test result: ok"));
    let watched =
        ["test", "--package", "vela-console", "--test", "console", "--", "--include-ignored", "two_hundred"];
    steps.push(Step::cargo("console-watched", &watched, 10, "1 passed"));
    let browser = ["test", "--package", "vela-cli", "--test", "cli", "--", "--include-ignored", "browser::"];
    steps.push(Step::cargo("console-browser", &browser, 10, "1 passed"));
    // It fails where a render allocates more than it is known to.
    steps.push(Step::cargo(
        "render",
        &["bench", "--package", "vela-engine", "--bench", "render"],
        20,
        "best",
    ));
    let words = format!("soak --minutes {soak} --seed {seed}");
    steps.push(Step::chore("soak", &words, soak + 10, "KiB")?);
    steps.push(Step::chore(
        "fuzz",
        &format!("fuzz --seed {seed} --seconds {fuzz}"),
        fuzz / 60 + 5,
        "inputs in",
    )?);
    let words = format!("differential-cue --seed {seed} --programs 20000");
    steps.push(Step::chore("differential-cue", &words, 30, "differences")?);
    steps.push(Step::chore("e2e-sandbox", "e2e", 15, "test result: ok")?);
    steps.push(Step::chore("e2e-real", "e2e --real", 30, "test result: ok")?);
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_divides_its_minutes_and_repeats_by_its_seed() {
        let words = |minutes, seed| -> Vec<String> {
            steps(minutes, seed).unwrap().iter().map(Step::command).collect()
        };
        let night = words(100, 2_000_000_000);
        let form = "simulate --form workflow --first 2000000000 --seeds 100000 --seconds 400 --keep-going";
        assert!(night.iter().any(|words| words.contains(form)), "{night:#?}");
        assert!(
            words(50, 1)
                .iter()
                .any(|words| words.contains("--form harbor --first 1 --seeds 100000 --seconds 66")),
            "{:#?}",
            words(50, 1)
        );
        let days = of_today().unwrap();
        assert!(days > 20_000 * SEEDS_OF_A_DAY && days.is_multiple_of(SEEDS_OF_A_DAY), "{days}");
    }
}
