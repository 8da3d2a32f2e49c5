//! The source files of all rooms, as text and as tokens.

use std::path::Path;

use super::rooms::ROOMS;
use super::tokens::{self, Token};
use crate::command;

/// One source file of the workspace.
pub(crate) struct Source {
    /// Path inside the repository, with `/`.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// A source file as tokens.
pub(super) struct Code {
    pub(super) name: String,
    pub(super) all: Vec<Token>,
    /// Without what is compiled only for tests; nothing of a file that is one.
    pub(super) shipped: Vec<Token>,
}

impl Code {
    pub(super) fn read(name: &str, text: &str) -> Result<Self, String> {
        let is_a_test = name.ends_with("/tests.rs") || name.contains("/tests/");
        let shipped =
            if is_a_test { Vec::new() } else { tokens::shipped(text).map_err(|e| format!("{name}: {e}"))? };
        Ok(Self {
            name: name.to_owned(),
            all: tokens::all(text).map_err(|e| format!("{name}: {e}"))?,
            shipped,
        })
    }
}

/// Every Rust source file of every room, sorted by name.
pub(crate) fn sources() -> Vec<Source> {
    let root = command::root();
    let mut found = Vec::new();
    for room in &ROOMS {
        collect(&root, &root.join(room.directory), &mut found);
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn collect(root: &Path, directory: &Path, found: &mut Vec<Source>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|n| n != "target") {
                collect(root, &path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            found.push(Source { name, text });
        }
    }
}

/// Code that runs at people's: no test, no chore.
pub(super) fn is_ours(source: &Source) -> bool {
    let room = source.name.split('/').next();
    ROOMS.iter().any(|of| of.ships && room == Some(of.directory))
        && source.name.contains("/src/")
        && !source.name.contains("/tests")
        && !source.name.ends_with("tests.rs")
}

/// Lines before the tests of a file, with their numbers.
pub(super) fn shipped(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let lines = source.text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    lines.map(|(number, line)| (number + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}
