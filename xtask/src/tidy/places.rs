//! Checks that the files and folders which the documentation names are there.

use std::path::Path;

use super::rooms::ROOMS;
use crate::command;

/// The pages at the root that speak of the present tree; CHANGELOG.md tells what was.
const PAGES: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];
/// The folders whose pages do.
const FOLDERS: [&str; 3] = ["docs", "docs/adr", "docs/differences"];

/// The rule for every page.
pub(super) fn check(wrong: &mut Vec<String>) {
    let root = command::root();
    for name in pages(&root) {
        match std::fs::read_to_string(root.join(&name)) {
            Ok(text) => judge(&name, &text, &root, wrong),
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
}

/// Paths of the pages in the repository, sorted in each folder.
fn pages(root: &Path) -> Vec<String> {
    let mut pages: Vec<String> = PAGES.map(str::to_owned).into();
    for folder in FOLDERS {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut found: Vec<String> =
            names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")).collect();
        found.sort();
        pages.append(&mut found);
    }
    pages
}

fn judge(name: &str, text: &str, root: &Path, wrong: &mut Vec<String>) {
    for (number, line) in text.lines().enumerate() {
        for quoted in line.split('`').skip(1).step_by(2).filter(|quoted| is_place(quoted)) {
            for place in alternatives(quoted) {
                if !root.join(known_part(&place)).exists() {
                    wrong.push(format!("{name}:{}: `{place}` is not there", number + 1));
                }
            }
        }
    }
}

/// `room/…`, where nothing but a path stands.
fn is_place(quoted: &str) -> bool {
    let is_in_a_room = ROOMS
        .iter()
        .any(|room| quoted.strip_prefix(room.directory).is_some_and(|rest| rest.starts_with('/')));
    is_in_a_room && !quoted.contains([' ', '*', '<', '…'])
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn alternatives(place: &str) -> Vec<String> {
    let Some((before, rest)) = place.split_once('{') else { return vec![place.to_owned()] };
    let Some((words, after)) = rest.split_once('}') else { return vec![place.to_owned()] };
    words.split(',').map(|word| format!("{before}{word}{after}")).collect()
}

/// The path up to what stands for many names: `a/KIND.rs` is known as `a`.
fn known_part(place: &str) -> String {
    let stands_for_many = |part: &&str| {
        let stem = part.split('.').next().unwrap_or_default();
        stem.len() > 1 && stem != "README" && stem.chars().all(|c| c.is_ascii_uppercase())
    };
    let known: Vec<&str> = place.split('/').take_while(|part| !stands_for_many(part)).collect();
    known.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_for_people_are_read_and_what_was_is_not() {
        let pages = pages(&command::root());
        for page in [
            "ARCHITECTURE.md",
            "docs/status.md",
            "docs/differences/rollouts.md",
            "docs/adr/0012-what-we-write-ourselves.md",
        ] {
            assert!(pages.iter().any(|found| found == page), "{page}: {pages:?}");
        }
        assert!(!pages.iter().any(|found| found == "CHANGELOG.md"), "{pages:?}");
    }

    #[test]
    fn what_is_named_is_there() {
        let text = "see `xtask/src/{main,check}.rs` and `xtask/src/KIND.rs`, `cargo xtask tidy`\n\
                    `xtask/src/tidy/` but not `xtask/src/{main,nowhere}.rs`, nor `xtask/NOWHERE/x`, `xtask/nowhere/KIND.rs`\n";
        let mut wrong = Vec::new();
        judge("a.md", text, &command::root(), &mut wrong);
        assert_eq!(
            wrong,
            ["a.md:2: `xtask/src/nowhere.rs` is not there", "a.md:2: `xtask/nowhere/KIND.rs` is not there"]
        );
    }
}
