//! Lists the tests that `cargo test` does not run, why, and what runs them.
//!
//! A test that finds out while it runs that it cannot, and passes, makes a green run say less than it seems to. Such a test is
//! ignored, with its reason; and what it reads lies in the repository.

use super::code::Source;

/// What stands before the reason of an ignored test.
const IGNORED: &str = "#[ignore";
/// Between the reason and what runs the test.
const RUN_BY: &str = ": cargo ";
/// Where recordings are made, which not everybody has.
const BESIDE: &str = "../shared";
/// Who packs them for everybody, and this file.
const PACKERS: [&str; 2] = ["xtask/src/cases.rs", "xtask/src/tidy/ignored.rs"];

/// Reasons that are missing or name no command, and sources that read what is not in the repository.
pub(super) fn unexplained(source: &Source, wrong: &mut Vec<String>) {
    for (number, reason) in reasons(source) {
        if !reason.is_some_and(|reason| reason.contains(RUN_BY)) {
            wrong.push(format!(
                "{}:{number}: an ignored test says why, and what runs it: {IGNORED} = \"needs …{RUN_BY}…\"]",
                source.name
            ));
        }
    }
    if PACKERS.contains(&source.name.as_str()) {
        return;
    }
    for (number, _) in source.text.lines().enumerate().filter(|(_, line)| line.contains(BESIDE)) {
        wrong.push(format!(
            "{}:{}: `{BESIDE}` is not in every clone; vela_testkit::cases is",
            source.name,
            number + 1
        ));
    }
}

/// The lines that ignore a test, with the reason.
fn reasons(source: &Source) -> impl Iterator<Item = (usize, Option<&str>)> {
    let lines = source.text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with(IGNORED));
    lines.map(|(number, line)| (number + 1, line.split('"').nth(1)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Write as _;

    use super::*;
    use crate::tidy::sources;

    /// One line: how many tests are not run, and why.
    fn line(sources: &[Source]) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, reason) in sources.iter().flat_map(reasons) {
            *counts.entry(reason.unwrap_or("no reason")).or_default() += 1;
        }
        let all: usize = counts.values().sum();
        let parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} ({reason})")).collect();
        format!("{all} tests were not run: {}", parts.join(", "))
    }

    /// The last program of `cargo test --workspace`: what it writes here past the harness closes the run.
    #[test]
    fn the_tests_that_were_not_run_are_told() {
        let line = line(&sources());
        assert!(line.contains("needs a real control plane"), "{line}");
        writeln!(std::io::stderr(), "\n{line}").unwrap();
    }

    #[test]
    fn a_reason_and_a_command_within_the_repository_are_required() {
        let source = |name: &str, text: &str| Source { name: name.to_owned(), text: text.to_owned() };
        let text = format!(
            "{IGNORED}]\n{IGNORED} = \"slow\"]\n    {IGNORED} = \"slow: cargo xtask bench\"]\nlet folder = \"{BESIDE}\";\n"
        );
        let sources = [source("cue/tests/a.rs", &text), source(PACKERS[0], BESIDE)];
        let mut wrong = Vec::new();
        sources.iter().for_each(|source| unexplained(source, &mut wrong));
        let places: Vec<&str> = wrong.iter().filter_map(|line| line.split(": ").next()).collect();
        assert_eq!(places, ["cue/tests/a.rs:1", "cue/tests/a.rs:2", "cue/tests/a.rs:4"], "{wrong:?}");
        assert_eq!(
            line(&sources),
            "3 tests were not run: 1 (no reason), 1 (slow), 1 (slow: cargo xtask bench)"
        );
    }
}
