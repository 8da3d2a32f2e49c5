//! Counts words that hide who acts ("nobody", "somebody", "whoever") in code, comments, messages and pages.
//!
//! A sentence names its actor: the user, the caller, the reconciler, the API server. Rooms with older sentences have a budget
//! in `xtask/tidy.toml`: a room that passes it fails, and so does a budget that is higher than the room needs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::code::Source;
use super::exceptions::Exceptions;
use super::rooms::ROOMS;
use crate::command;

/// The words, in any case, also as part of a name such as `nobody_waits`.
const WORDS: [&str; 3] = ["nobody", "somebody", "whoever"];

/// Files that may name them: this rule, and the record of former releases.
const MAY_NAME_THEM: [&str; 2] = ["xtask/src/tidy/pronouns.rs", "CHANGELOG.md"];

/// Folders with pages that are no rooms.
const FOLDERS: [&str; 1] = ["docs"];

/// The budget of pages outside all folders.
const FRONT: &str = "README";

/// The rule for the source files of all rooms and for all pages.
pub(super) fn check(sources: &[Source], known: &Exceptions, wrong: &mut Vec<String>) {
    compare(sources.iter().chain(&pages(&command::root())), &known.pronouns, wrong);
}

fn compare<'a>(
    files: impl Iterator<Item = &'a Source>,
    budgets: &BTreeMap<String, usize>,
    wrong: &mut Vec<String>,
) {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files.filter(|file| !MAY_NAME_THEM.contains(&file.name.as_str())) {
        let room = file.name.split_once('/').map_or(FRONT, |(room, _)| room);
        for (number, line) in file.text.lines().enumerate() {
            let place = || format!("{}:{}", file.name, number + 1);
            places.entry(room).or_default().extend((0..count(line)).map(|_| place()));
        }
    }
    let rooms: BTreeSet<&str> = places.keys().copied().chain(budgets.keys().map(String::as_str)).collect();
    for room in rooms {
        let found = places.get(room).map_or(&[][..], Vec::as_slice);
        let budget = budgets.get(room).copied().unwrap_or_default();
        if found.len() > budget {
            let unique: BTreeSet<&String> = found.iter().collect();
            let shown: Vec<&str> = unique.into_iter().map(String::as_str).collect();
            wrong.push(format!(
                "{room}: {} times {}, at most {budget}; name who acts (the user, the caller, the reconciler): {}",
                found.len(),
                WORDS.join(", "),
                shown.join(" ")
            ));
        } else if found.is_empty() && budgets.contains_key(room) {
            wrong.push(format!("xtask/tidy.toml: {room} names its actors; take it off the list of pronouns"));
        } else if found.len() < budget {
            wrong.push(format!(
                "xtask/tidy.toml: write {} for the pronouns of {room}, not {budget}",
                found.len()
            ));
        }
    }
}

fn count(line: &str) -> usize {
    let parts = line.split(|c: char| !c.is_alphanumeric());
    parts.filter(|part| WORDS.iter().any(|word| part.eq_ignore_ascii_case(word))).count()
}

/// Every page below `root`: those of rooms and folders, and those beside them.
fn pages(root: &Path) -> Vec<Source> {
    let mut found = Vec::new();
    collect(root, root, false, &mut found);
    let rooms = ROOMS.iter().map(|room| room.directory);
    rooms.chain(FOLDERS).for_each(|folder| collect(root, &root.join(folder), true, &mut found));
    found
}

fn collect(root: &Path, directory: &Path, enters: bool, found: &mut Vec<Source>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            if enters && path.file_name().is_some_and(|name| name != "target") {
                collect(root, &path, enters, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "md")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            found.push(Source { name, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], budgets: &[(&str, usize)]) -> Vec<String> {
        let file =
            |(name, text): &(&str, &str)| Source { name: (*name).to_owned(), text: (*text).to_owned() };
        let files: Vec<Source> = files.iter().map(file).collect();
        let budgets = budgets.iter().map(|(room, budget)| ((*room).to_owned(), *budget)).collect();
        let mut wrong = Vec::new();
        compare(files.iter(), &budgets, &mut wrong);
        wrong
    }

    #[test]
    fn a_sentence_names_who_acts() {
        let text =
            "//! Nobody reads.\n// Somebody's, and whoever's.\nfn nobody_waits() {}\nlet busybody = 1;\n";
        let expected = "cue: 4 times nobody, somebody, whoever, at most 0; name who acts (the user, the caller, the \
                        reconciler): cue/src/a.rs:1 cue/src/a.rs:2 cue/src/a.rs:3";
        assert_eq!(found(&[("cue/src/a.rs", text)], &[]), [expected]);
        assert_eq!(found(&[("README.md", "Nobody.\n")], &[]).len(), 1);
        assert_eq!(
            found(&[("cue/src/a.rs", "// The user reads.\n"), ("CHANGELOG.md", "Nobody.\n")], &[]).len(),
            0
        );
    }

    #[test]
    fn budgets_only_fall() {
        let file = [("docs/a.md", "Nobody and somebody.\n")];
        assert_eq!(found(&file, &[("docs", 2)]).len(), 0);
        assert_eq!(
            found(&file, &[("docs", 3)]),
            ["xtask/tidy.toml: write 2 for the pronouns of docs, not 3"]
        );
        let gone = "xtask/tidy.toml: cue names its actors; take it off the list of pronouns";
        assert_eq!(found(&file, &[("cue", 1), ("docs", 2)]), [gone]);
    }

    #[test]
    fn pages_are_found_where_they_stand() {
        let names: Vec<String> = pages(&command::root()).into_iter().map(|page| page.name).collect();
        for name in ["README.md", "docs/status.md", "engine/README.md"] {
            assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
        }
    }
}
