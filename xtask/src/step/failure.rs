//! The log of a step that failed in, the few lines that say why out: the assertion, the figure and the seed.
//!
//! Only the end of a long log is read by people, and what failed often stands in its middle.

/// So many lines of one step are repeated.
pub(super) const LINES: usize = 40;
/// A longer line is cut.
const CHARACTERS: usize = 300;
/// What follows a line that begins an account of a failure.
const FOLLOWING: usize = 6;
/// Lines of the end that are repeated when nothing else is found.
const LAST: usize = 15;

/// Lines that begin an account; what follows them belongs to it.
const BEGINS: [&str; 6] = ["panicked at", "error: ", "error[", "warning: unused", "FAIL ", "broken promise"];
/// Lines that stand for themselves.
const SAYS: [&str; 9] = [
    "... FAILED",
    "test result: FAILED",
    "tidy: ",
    "xtask: ",
    "seed ",
    "below the recorded",
    "breaks",
    "Diff in",
    "stopped after",
];

/// At most [`LINES`] lines.
pub(super) fn excerpt(log: &str) -> Vec<String> {
    let lines: Vec<&str> = log.lines().collect();
    let mut wanted = vec![false; lines.len()];
    for (number, line) in lines.iter().enumerate() {
        if BEGINS.iter().any(|word| line.contains(word)) {
            for one in wanted.iter_mut().skip(number).take(1 + FOLLOWING) {
                *one = true;
            }
        } else if SAYS.iter().any(|word| line.contains(word)) {
            wanted[number] = true;
        }
    }
    if !wanted.contains(&true) {
        let from = lines.len().saturating_sub(LAST);
        wanted[from..].fill(true);
    }
    let mut found: Vec<String> = Vec::new();
    for (line, _) in lines.iter().zip(&wanted).filter(|(line, wanted)| **wanted && !line.trim().is_empty()) {
        let line: String = line.chars().take(CHARACTERS).collect();
        if !found.contains(&line) {
            found.push(line);
        }
    }
    if found.len() > LINES {
        // The first failures explain the others; the last line often has the count.
        let left_out = found.len() - LINES + 2;
        let last = found.pop().unwrap_or_default();
        found.truncate(LINES - 2);
        found.push(format!("… {left_out} more lines in the log"));
        found.push(last);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assertion_and_the_seed_are_found_in_a_long_log() {
        let noise = "test a::b ... ok\n".repeat(5_000);
        let log = format!(
            "{noise}thread 'c' panicked at core/x.rs:7:\nassertion `left == right` failed: seed 4711\n  left: 1\n right: 2\n{noise}test c ... FAILED\n{noise}"
        );
        let found = excerpt(&log);
        assert!(found.iter().any(|line| line.contains("seed 4711")), "{found:?}");
        assert!(found.contains(&"  left: 1".to_owned()) && found.contains(&"test c ... FAILED".to_owned()));
        assert!(found.len() <= LINES, "{}", found.len());
    }

    #[test]
    fn many_failures_are_cut_and_counted() {
        let log: String = (0..200).map(|n| format!("test t{n} ... FAILED\n")).collect();
        let found = excerpt(&log);
        assert_eq!(found.len(), LINES);
        assert_eq!(found[LINES - 2], "… 162 more lines in the log");
        assert_eq!(found[LINES - 1], "test t199 ... FAILED");
    }

    #[test]
    fn without_a_known_word_the_end_is_repeated() {
        let log: String = (0..100).map(|n| format!("line {n}\n")).collect();
        assert_eq!(excerpt(&log).last().map(String::as_str), Some("line 99"));
        assert_eq!(excerpt(&log).len(), LAST);
    }
}
