//! Checks that no fewer of a set pass than are recorded in `e2e/expected/passing.txt`, whose numbers only rise.

use std::path::Path;

use crate::Result;

/// What became of one case.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
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
    let recorded = recorded(&std::fs::read_to_string(file)?, set)?;
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

fn recorded(text: &str, set: &str) -> Result<usize> {
    for line in text.lines() {
        if let Some((name, number)) = line.split_once(' ')
            && name == set
        {
            return Ok(number.trim().parse()?);
        }
    }
    Err(format!("no number is recorded for {set}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_name() {
        assert_eq!(recorded("# note\nruns 3\n", "runs").ok(), Some(3));
        assert!(recorded("runs 3\n", "stories").is_err());
    }
}
