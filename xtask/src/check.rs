//! The gate beside the tests: format, lints, tidy, and a list of what has grown large.

use crate::{command, image, tidy};

/// How many of the largest files and functions are printed for the reader.
const LARGEST: usize = 10;

/// Runs every check; all of them run even when one fails, so that one run shows everything.
pub(crate) fn run() -> Result<(), String> {
    let outcomes = [
        command::cargo(&["fmt", "--all", "--check"]),
        command::cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"]),
        // Some use it for the language alone.
        command::cargo(&[
            "clippy",
            "--package",
            "vela-cue",
            "--no-default-features",
            "--quiet",
            "--",
            "--deny",
            "warnings",
        ]),
        tidy::run(),
        image::check(),
    ];
    report_largest();
    let failures: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    if failures.is_empty() {
        println!("check: clean");
        Ok(())
    } else {
        Err(failures.join("\n       "))
    }
}

fn report_largest() {
    let sources = tidy::sources();
    let mut files: Vec<(usize, String)> =
        sources.iter().map(|s| (production_lines(&s.text), s.name.clone())).collect();
    files.sort_by(|a, b| b.cmp(a));
    println!("largest files (production lines):");
    for (lines, name) in files.iter().take(LARGEST) {
        println!("  {lines:5}  {name}");
    }
    let mut functions: Vec<(usize, String)> =
        sources.iter().flat_map(|s| functions(&s.name, &s.text)).collect();
    functions.sort_by(|a, b| b.cmp(a));
    println!("largest functions:");
    for (lines, name) in functions.iter().take(LARGEST) {
        println!("  {lines:5}  {name}");
    }
}

/// Lines before the first `#[cfg(test)]`: the house counts what ships.
fn production_lines(text: &str) -> usize {
    text.lines().take_while(|line| line.trim() != "#[cfg(test)]").count()
}

/// Functions and their lengths; relies on rustfmt closing a function at the indentation it began with.
fn functions(file: &str, text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let Some(at) = trimmed.find("fn ") else { continue };
        let before = &trimmed[..at];
        if !before
            .split_whitespace()
            .all(|w| w.starts_with("pub") || ["const", "async", "unsafe", "(crate)"].contains(&w))
        {
            continue;
        }
        let close = format!("{}}}", &line[..line.len() - trimmed.len()]);
        if let Some(length) = lines[start..].iter().position(|l| **l == close) {
            let name = trimmed[at + 3..].split(['(', '<']).next().unwrap_or_default();
            found.push((length + 1, format!("{file}:{} {name}", start + 1)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_first_line_to_closing_brace() {
        let text = "pub(crate) fn a() {\n    let x = 1;\n}\n\nimpl B {\n    async fn b<T>(\n        t: T,\n    ) {\n    }\n}\n";
        assert_eq!(functions("f.rs", text), [(3, "f.rs:1 a".to_owned()), (4, "f.rs:6 b".to_owned())]);
    }
}
