//! Checks that every path that the Dockerfile copies exists and that its images are minimal; CI has no container
//! engine.

use crate::command;

/// What is read of the workspace's manifest.
#[derive(serde::Deserialize)]
struct Manifest {
    workspace: Workspace,
}

#[derive(serde::Deserialize)]
struct Workspace {
    members: Vec<String>,
}

/// Checks the Dockerfile against the repository.
pub(crate) fn check() -> Result<(), String> {
    let text = std::fs::read_to_string(command::root().join("Dockerfile"))
        .map_err(|e| format!("Dockerfile: {e}"))?;
    let manifest = std::fs::read_to_string(command::root().join("Cargo.toml"))
        .map_err(|e| format!("Cargo.toml: {e}"))?;
    let manifest: Manifest = toml::from_str(&manifest).map_err(|e| format!("Cargo.toml: {e}"))?;
    let wrong = violations(&text, &manifest.workspace.members, |path| command::root().join(path).exists());
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n       ")) }
}

fn violations(text: &str, rooms: &[String], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut user = None;
    let mut copied = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["COPY", option, ..] if option.starts_with("--from=") => {}
            ["COPY", sources @ .., _target] => {
                copied.extend(sources.iter().copied());
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
    if copied.is_empty() {
        wrong.push("Dockerfile: copies nothing from the repository".to_owned());
    }
    // cargo reads the manifest of every room before it builds one.
    let missing = rooms.iter().filter(|room| !copied.contains(&room.as_str()));
    wrong.extend(missing.map(|room| format!("Dockerfile: does not copy the room `{room}`")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dockerfile_copies_every_room_and_runs_without_rights() {
        check().unwrap();
    }

    #[test]
    fn a_missing_path_and_root_are_reported() {
        let rooms = ["here".to_owned(), "new".to_owned()];
        let wrong = violations("FROM a\nCOPY gone here .\nENTRYPOINT [\"x\"]\n", &rooms, |p| p == "here");
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(wrong[0].starts_with("Dockerfile:2: `gone`"));
        assert_eq!(wrong[2], "Dockerfile: does not copy the room `new`");
    }
}
