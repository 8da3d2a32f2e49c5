//! Fails where fewer cases pass than the repository has recorded.

use std::collections::BTreeMap;

use crate::command;

/// Passed and failed cases of one kind and scope; cases with a result and cases that must fail are told apart,
/// because a program that always fails passes every one of the latter.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// Cases with a result: (passed, failed).
    pub(crate) result: (usize, usize),
    /// Cases that must be refused: (passed, failed).
    pub(crate) must_fail: (usize, usize),
}

impl Count {
    /// Adds one case.
    pub(crate) fn add(&mut self, must_fail: bool, passed: bool) {
        let pair = if must_fail { &mut self.must_fail } else { &mut self.result };
        if passed {
            pair.0 += 1;
        } else {
            pair.1 += 1;
        }
    }
}

/// The least number of passed cases, per group.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
pub(crate) struct Least {
    #[serde(default)]
    result: usize,
    #[serde(default, rename = "must-fail")]
    must_fail: usize,
}

type Recorded = BTreeMap<String, Least>;

const FILE: &str = "conformance.toml";
const HEAD: &str = "\
# The least number of passed cases per kind and scope. CI fails below them; `cargo xtask conformance --record` raises them.
# They only rise.
";

/// Reads the recorded numbers.
pub(crate) fn read() -> Result<Recorded, String> {
    let text = std::fs::read_to_string(command::root().join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
    toml::from_str(&text).map_err(|e| format!("{FILE}: {e}"))
}

/// Groups that were run and passed fewer cases than recorded.
pub(crate) fn fallen(recorded: &Recorded, counts: &BTreeMap<String, Count>) -> Vec<String> {
    let mut fallen = Vec::new();
    for (group, count) in counts {
        let least = recorded.get(group).copied().unwrap_or_default();
        for (what, passed, least) in
            [("result", count.result.0, least.result), ("must-fail", count.must_fail.0, least.must_fail)]
        {
            if passed < least {
                fallen.push(format!("{group}: {passed} {what} cases pass, {least} did before"));
            }
        }
    }
    fallen
}

/// Raises the recorded numbers to what passes now; never lowers one.
pub(crate) fn record(mut recorded: Recorded, counts: &BTreeMap<String, Count>) -> Result<(), String> {
    use std::fmt::Write as _;
    for (group, count) in counts {
        let least = recorded.entry(group.clone()).or_default();
        least.result = least.result.max(count.result.0);
        least.must_fail = least.must_fail.max(count.must_fail.0);
    }
    let mut text = HEAD.to_owned();
    for (group, least) in &recorded {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n[{group:?}]\nresult = {}\nmust-fail = {}\n", least.result, least.must_fail);
    }
    std::fs::write(command::root().join(FILE), text).map_err(|e| format!("{FILE}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_passed_cases_than_recorded_fail_in_each_group() {
        let recorded: Recorded = toml::from_str("[\"export A\"]\nresult = 2\nmust-fail = 1\n").unwrap();
        let mut count = Count::default();
        for (must_fail, passed) in [(false, true), (false, false), (true, true), (true, true)] {
            count.add(must_fail, passed);
        }
        let counts = BTreeMap::from([("export A".to_owned(), count)]);
        assert_eq!(fallen(&recorded, &counts), ["export A: 1 result cases pass, 2 did before"]);
        assert!(fallen(&Recorded::new(), &counts).is_empty());
    }
}
