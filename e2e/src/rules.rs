//! Differences that are meant: a table of places with a reason each; a rule that excuses nothing is a mistake.

use std::collections::BTreeSet;

use crate::compare::Difference;

/// A difference by choice.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The beginning of the names of the runs it holds for; empty for all.
    pub runs: &'static str,
    /// The kind; `*` is every kind.
    pub kind: &'static str,
    /// The fields from the object down: `*` is one field, `**` at the end any number; empty for a whole object
    /// that is missing or too much.
    pub path: &'static [&'static str],
    /// The differences between upstream and us, in either direction, and their reasons. The same words stand in
    /// `docs/differences/recorded-runs.md`.
    pub reason: &'static str,
}

/// A table and which of its rules were needed.
#[derive(Debug)]
pub struct Rules {
    table: &'static [Rule],
    used: BTreeSet<usize>,
}

impl Rules {
    /// Nothing is needed yet.
    pub fn new(table: &'static [Rule]) -> Self {
        Self { table, used: BTreeSet::new() }
    }

    /// The differences that no rule excuses, and the numbers of the rules that excused the others.
    pub fn unexcused(&self, run: &str, found: Vec<Difference>) -> (Vec<Difference>, BTreeSet<usize>) {
        let mut used = BTreeSet::new();
        let mut left = Vec::new();
        for difference in found {
            match self.table.iter().position(|rule| rule.covers(run, &difference)) {
                Some(number) => {
                    used.insert(number);
                }
                None => left.push(difference),
            }
        }
        (left, used)
    }

    /// Notes which rules were needed.
    pub fn needed(&mut self, used: BTreeSet<usize>) {
        self.used.extend(used);
    }

    /// The rules that nothing needed.
    pub fn idle(&self) -> Vec<&'static Rule> {
        self.table
            .iter()
            .enumerate()
            .filter(|(number, _)| !self.used.contains(number))
            .map(|(_, rule)| rule)
            .collect()
    }

    /// The reasons that `document` does not give.
    pub fn undocumented(&self, document: &str) -> Vec<&'static str> {
        self.table.iter().map(|rule| rule.reason).filter(|reason| !document.contains(reason)).collect()
    }
}

impl Rule {
    fn covers(&self, run: &str, difference: &Difference) -> bool {
        run.starts_with(self.runs)
            && (self.kind == "*" || self.kind == difference.kind)
            && matches(self.path, &difference.path)
    }
}

fn matches(pattern: &[&str], path: &[String]) -> bool {
    match (pattern, path) {
        (["**"], path) => !path.is_empty(),
        ([], []) => true,
        ([first, pattern @ ..], [field, path @ ..]) => {
            (*first == "*" || *first == field.as_str()) && matches(pattern, path)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    static TABLE: [Rule; 2] = [
        Rule { runs: "app-", kind: "Deployment", path: &["metadata", "**"], reason: "one" },
        Rule { runs: "", kind: "*", path: &[], reason: "two" },
    ];

    fn difference(kind: &str, path: &[&str]) -> Difference {
        Difference {
            kind: kind.to_owned(),
            name: "x".to_owned(),
            path: path.iter().map(|field| (*field).to_owned()).collect(),
            expected: Some(json!(1)),
            found: None,
        }
    }

    #[test]
    fn a_rule_excuses_its_place_only_and_idle_ones_are_told() {
        let mut rules = Rules::new(&TABLE);
        let found =
            vec![difference("Deployment", &["metadata", "labels"]), difference("Deployment", &["spec"])];
        let (left, used) = rules.unexcused("app-1", found);
        assert_eq!(left.len(), 1);
        rules.needed(used);
        assert_eq!(rules.idle().iter().map(|rule| rule.reason).collect::<Vec<_>>(), ["two"]);
        assert_eq!(rules.undocumented("one and only"), ["two"]);
        let (left, _) = rules.unexcused("other", vec![difference("Deployment", &["metadata", "labels"])]);
        assert_eq!(left.len(), 1, "another run has no such rule");
    }
}
