//! Fails where a case that passed before fails, or a failing case has no reason.
//!
//! `cue/passing.txt` names what passes and only grows; `cue/failing.txt` names what fails, each with its reason in words.

use std::collections::{BTreeMap, BTreeSet};

use crate::command;

const PASSING: &str = "cue/passing.txt";
const FAILING: &str = "cue/failing.txt";
const FAILING_HEAD: &str = "\
# Every case that fails, and why: a line of the reason with `#` before it, then the cases it explains, one a line.
";
/// What stands above cases that `--record` found without a reason.
const UNEXPLAINED: &str = "no reason is known yet";

/// A case by its kind and name, and whether it passed.
pub(crate) struct Outcome {
    /// Stable name: kind, space, name in its folder.
    pub(crate) id: String,
    /// Name for people, where it differs.
    pub(crate) name: String,
    /// Whether it passed.
    pub(crate) passed: bool,
}

/// Both lists.
pub(crate) struct Listed {
    passing: BTreeSet<String>,
    /// Reason by case.
    failing: BTreeMap<String, String>,
}

/// Reads both lists; an absent one is empty.
pub(crate) fn read() -> Listed {
    let text = |file: &str| std::fs::read_to_string(command::root().join(file)).unwrap_or_default();
    let passing = text(PASSING).lines().filter(|l| !l.is_empty()).map(str::to_owned).collect();
    Listed { passing, failing: reasons(&text(FAILING)) }
}

/// Cases with the reason that stands above them.
fn reasons(text: &str) -> BTreeMap<String, String> {
    let mut reason = String::new();
    let mut by_case = BTreeMap::new();
    for line in text.lines().filter(|l| !l.is_empty()) {
        match line.strip_prefix("# ") {
            Some(words) => words.clone_into(&mut reason),
            None => {
                by_case.insert(line.to_owned(), reason.clone());
            }
        }
    }
    by_case
}

impl Listed {
    /// Cases that passed when the list was recorded and fail now.
    pub(crate) fn fallen(&self, outcomes: &[Outcome]) -> Vec<String> {
        let failed = outcomes.iter().filter(|o| !o.passed && self.passing.contains(&o.id));
        failed.map(|o| format!("{} ({}) passed before and fails", o.id, o.name)).collect()
    }

    /// Cases that fail without a recorded reason.
    pub(crate) fn unexplained(&self, outcomes: &[Outcome]) -> Vec<String> {
        let known = |o: &&Outcome| self.failing.get(&o.id).is_some_and(|reason| reason != UNEXPLAINED);
        let failed = outcomes.iter().filter(|o| !o.passed && !known(o));
        failed.map(|o| format!("{} ({}) fails and {FAILING} gives no reason", o.id, o.name)).collect()
    }

    /// Adds what passes now, and takes it from the failing ones; what fails and was not listed waits for its reason.
    pub(crate) fn record(mut self, outcomes: &[Outcome]) -> Result<(), String> {
        for outcome in outcomes {
            if outcome.passed {
                self.failing.remove(&outcome.id);
                self.passing.insert(outcome.id.clone());
            } else if !self.passing.contains(&outcome.id) {
                self.failing.entry(outcome.id.clone()).or_insert_with(|| UNEXPLAINED.to_owned());
            }
        }
        let passing: String = self.passing.iter().map(|id| format!("{id}\n")).collect();
        write(PASSING, &passing)?;
        write(FAILING, &grouped(&self.failing))
    }
}

fn grouped(failing: &BTreeMap<String, String>) -> String {
    let mut cases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (case, reason) in failing {
        cases.entry(reason).or_default().push(case);
    }
    let mut text = FAILING_HEAD.to_owned();
    for (reason, cases) in cases {
        text.push_str(&format!("\n# {reason}\n{}\n", cases.join("\n")));
    }
    text
}

fn write(file: &str, text: &str) -> Result<(), String> {
    std::fs::write(command::root().join(file), text).map_err(|e| format!("{file}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(id: &str, passed: bool) -> Outcome {
        Outcome { id: id.to_owned(), name: id.to_owned(), passed }
    }

    #[test]
    fn a_listed_case_may_not_fail_and_a_failing_case_needs_a_reason() {
        let listed = Listed {
            passing: BTreeSet::from(["k a".to_owned()]),
            failing: reasons("# A head.\n\n# Numbers.\nk b\nk c\n\n# no reason is known yet\nk d\n"),
        };
        let outcomes =
            [outcome("k a", false), outcome("k b", false), outcome("k d", false), outcome("k e", true)];
        assert_eq!(listed.fallen(&outcomes), ["k a (k a) passed before and fails"]);
        let unexplained = listed.unexplained(&outcomes);
        assert_eq!(unexplained.len(), 2, "{unexplained:?}");
    }

    #[test]
    fn reasons_survive_reading_and_writing() {
        let text = format!("{FAILING_HEAD}\n# Numbers.\nk b\nk c\n\n# Other.\nk a\n");
        assert_eq!(grouped(&reasons(&text)), text);
    }
}
