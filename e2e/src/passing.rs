//! Checks that no fewer of a set pass than are recorded in `e2e/expected/passing.txt`, whose numbers only rise.

use std::path::Path;

use crate::Result;
use crate::target::is_real;

/// The result of one case.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// The error.
    pub wrong: Vec<String>,
}

/// Prints a line for each case, and fails when fewer passed than `file` says of `set`.
pub fn judge(file: &Path, set: &str, outcomes: &[Outcome]) -> Result<()> {
    for outcome in outcomes {
        println!("{set} {}: {}", outcome.name, if outcome.wrong.is_empty() { "passed" } else { "FAILED" });
        for line in &outcome.wrong {
            println!("    {line}");
        }
    }
    let passed = outcomes.iter().filter(|outcome| outcome.wrong.is_empty()).count();
    let recorded = recorded(&std::fs::read_to_string(file)?, set, is_real())?;
    println!("{set}: {passed} of {} passed; at least {recorded} must", outcomes.len());
    if passed > recorded {
        println!("{set}: raise the number in {}", file.display());
    }
    if passed < recorded {
        let failed: Vec<&str> = outcomes
            .iter()
            .filter(|outcome| !outcome.wrong.is_empty())
            .map(|outcome| outcome.name.as_str())
            .collect();
        return Err(format!("{set}: {passed} passed, {recorded} must; failed: {}", failed.join(" ")).into());
    }
    Ok(())
}

/// A line of the file is the name of a set, then the number for the embedded API server, then the one for a real control plane.
fn recorded(text: &str, set: &str, real: bool) -> Result<usize> {
    for line in text.lines() {
        if let [name, embedded, cluster] = line.split_whitespace().collect::<Vec<_>>()[..]
            && name == set
        {
            return Ok(if real { cluster } else { embedded }.parse()?);
        }
    }
    Err(format!("no numbers are recorded for {set}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_name() {
        assert_eq!(recorded("# note\nruns 3 4\n", "runs", false).ok(), Some(3));
        assert_eq!(recorded("# note\nruns 3 4\n", "runs", true).ok(), Some(4));
        assert!(recorded("runs 3 4\n", "stories", true).is_err());
        assert!(recorded("runs 3\n", "runs", true).is_err());
    }
}
