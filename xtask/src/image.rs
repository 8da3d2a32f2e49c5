//! The Dockerfile in; whether every path it copies exists and its images are minimal out. CI has no container engine.

use crate::command;

/// Checks the Dockerfile against the repository.
pub(crate) fn check() -> Result<(), String> {
    let text = std::fs::read_to_string(command::root().join("Dockerfile"))
        .map_err(|e| format!("Dockerfile: {e}"))?;
    let wrong = violations(&text, |path| command::root().join(path).exists());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n       ")) }
}

fn violations(text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut user = None;
    let mut copied = 0;
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["COPY", option, ..] if option.starts_with("--from=") => {}
            ["COPY", sources @ .., _target] => {
                copied += sources.len();
                let missing = sources.iter().filter(|s| !exists(s));
                wrong.extend(
                    missing.map(|s| format!("Dockerfile:{}: `{s}` is not in the repository", number + 1)),
                );
            }
            ["USER", who] => user = Some((*who).to_owned()),
            ["FROM", ..] => user = None,
            ["ENTRYPOINT", ..] if user.as_deref().is_none_or(|u| u.starts_with("0") || u == "root") => {
                wrong.push(format!("Dockerfile:{}: an image would run as root; set USER first", number + 1));
            }
            _ => {}
        }
    }
    if copied == 0 {
        wrong.push("Dockerfile: copies nothing from the repository".to_owned());
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dockerfile_copies_only_what_exists_and_runs_as_nobody() {
        check().unwrap();
    }

    #[test]
    fn a_missing_path_and_root_are_reported() {
        let wrong = violations("FROM a\nCOPY gone here .\nENTRYPOINT [\"x\"]\n", |p| p == "here");
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong[0].starts_with("Dockerfile:2: `gone`"));
    }
}
