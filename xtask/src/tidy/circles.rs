//! No circles of files inside a crate, by what each file uses of the others.
//!
//! Circles from before the rule are listed in `xtask/tidy.toml` by one of their files and their size. The list only gets
//! shorter: a circle that grew fails, and so does an entry whose circle is smaller or gone.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::code::Code;
use super::modules::{Crate, Uses};
use super::rooms::ROOMS;

/// One file of each listed circle, and how many files are in it.
type Known = BTreeMap<String, usize>;

/// The rule for all rooms.
pub(super) fn check(code: &[Code], known: &Known, wrong: &mut Vec<String>) {
    let mut found = Vec::new();
    for root in roots(code) {
        let room = &root[..root.find("/src/").map_or(0, |at| at + "/src/".len())];
        let files =
            code.iter().filter(|c| c.name.starts_with(room)).map(|c| (c.name.as_str(), &c.shipped[..]));
        let uses = Crate::read(&files.collect(), root).uses();
        for circle in circles(&uses) {
            found.push((example(&circle, &uses), circle));
        }
    }
    judge(&found, known, wrong);
}

/// The files with which crates begin.
fn roots(code: &[Code]) -> Vec<&str> {
    let is_root = |name: &str| {
        ROOMS.iter().any(|room| {
            name.strip_prefix(room.directory).and_then(|rest| rest.strip_prefix("/src/")).is_some_and(
                |rest| {
                    let binary = rest
                        .strip_prefix("bin/")
                        .is_some_and(|bin| !bin.contains('/') || bin.ends_with("/main.rs"));
                    rest == "lib.rs" || rest == "main.rs" || binary
                },
            )
        })
    };
    code.iter().map(|c| c.name.as_str()).filter(|name| is_root(name)).collect()
}

fn judge(found: &[(String, BTreeSet<String>)], known: &Known, wrong: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (example, circle) in found {
        let mut entries = known.iter().filter(|(file, _)| circle.contains(*file));
        let first = circle.first().map_or("", String::as_str);
        let size = circle.len();
        match entries.next() {
            None => wrong.push(format!(
                "{first}: a circle of {size} files: {example}; let what they share have a file of its own"
            )),
            Some((file, listed)) => {
                seen.insert(file);
                if size > *listed {
                    wrong.push(format!("{file}: its circle grew from {listed} to {size} files: {example}"));
                } else if size < *listed {
                    wrong.push(format!(
                        "xtask/tidy.toml: write {size} for the circle of {file}, not {listed}"
                    ));
                }
            }
        }
        for (file, _) in entries {
            seen.insert(file);
            wrong
                .push(format!("xtask/tidy.toml: {file} is in the circle of another entry; keep one of them"));
        }
    }
    for file in known.keys().filter(|file| !seen.contains(file)) {
        wrong.push(format!("xtask/tidy.toml: the circle of {file} is gone; take it off the list"));
    }
}

/// Sets of files each of which leads to all others of its set.
fn circles(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|file| (file, reach(file, uses))).collect();
    let mut circles: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (file, from_here) in &reached {
        let back = |other: &&&String| reached.get(**other).is_some_and(|there| there.contains(file));
        let circle: BTreeSet<String> = from_here.iter().filter(back).map(|other| (*other).clone()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reach<'a>(from: &str, uses: &'a Uses) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&String> = uses.get(from).into_iter().flat_map(BTreeMap::keys).collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(uses.get(file).into_iter().flat_map(BTreeMap::keys));
        }
    }
    reached
}

/// The shortest way from the first file of a circle back to it.
fn example(circle: &BTreeSet<String>, uses: &Uses) -> String {
    let Some(first) = circle.first() else { return String::new() };
    let mut came_from: BTreeMap<&String, &String> = BTreeMap::new();
    let mut open = VecDeque::from([first]);
    while let Some(file) = open.pop_front() {
        for next in uses.get(file).into_iter().flat_map(BTreeMap::keys).filter(|next| circle.contains(*next))
        {
            if let Entry::Vacant(place) = came_from.entry(next) {
                place.insert(file);
                open.push_back(next);
            }
        }
        if came_from.contains_key(first) {
            break;
        }
    }
    let mut way = vec![first];
    while let Some(before) = way.last().and_then(|file| came_from.get(file)).copied() {
        way.push(before);
        if before == first {
            break;
        }
    }
    way.reverse();
    let steps = way.windows(2).map(|step| {
        let path = uses.get(step[0]).and_then(|to| to.get(step[1])).map_or("", String::as_str);
        format!("{} uses `{path}` of {}", step[0], step[1])
    });
    steps.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str, text: &str) -> Code {
        Code::read(name, text).unwrap()
    }

    fn found(files: &[(&str, &str)], known: &[(&str, usize)]) -> Vec<String> {
        let code: Vec<Code> = files.iter().map(|(name, text)| code(name, text)).collect();
        let known = known.iter().map(|(file, size)| ((*file).to_owned(), *size)).collect();
        let mut wrong = Vec::new();
        check(&code, &known, &mut wrong);
        wrong
    }

    #[test]
    fn files_that_use_each_other_are_a_circle() {
        let files = [
            ("cue/src/lib.rs", "mod a;\nmod b;\n"),
            ("cue/src/a.rs", "use crate::b::B;\npub(crate) struct A;\n"),
            ("cue/src/b.rs", "pub(crate) struct B(super::a::A);\n"),
        ];
        let expected = "cue/src/a.rs: a circle of 2 files: cue/src/a.rs uses `crate::b::B` of cue/src/b.rs, \
                        cue/src/b.rs uses `super::a::A` of cue/src/a.rs; let what they share have a file of its own";
        assert_eq!(found(&files, &[]), [expected]);
    }

    #[test]
    fn a_module_and_its_child_are_one_when_both_use_the_other() {
        let parent = "mod child;\npub(crate) struct P;\nfn f() { child::g() }\n";
        let files = |child| {
            [("cue/src/lib.rs", "mod p;\n"), ("cue/src/p/mod.rs", parent), ("cue/src/p/child.rs", child)]
        };
        assert_eq!(found(&files("pub(super) fn g() {}\n"), &[]).len(), 0);
        assert_eq!(found(&files("pub(super) fn g() { let _ = super::P; }\n"), &[]).len(), 1);
    }

    #[test]
    fn names_that_are_passed_on_lead_to_the_file_that_declares_them() {
        let files = |child| {
            [
                ("cue/src/lib.rs", "mod p;\npub use p::A;\n"),
                ("cue/src/p.rs", "mod a;\nmod b;\npub use a::A;\npub(crate) use b::*;\nfn f() { g() }\n"),
                ("cue/src/p/a.rs", "pub struct A;\n"),
                ("cue/src/p/b.rs", child),
            ]
        };
        assert_eq!(found(&files("use crate::A;\nfn g() { super::a::A; }\n"), &[]).len(), 0);
        let wrong = found(&files("fn g() { super::f() }\n"), &[]);
        assert!(wrong[0].contains("cue/src/p.rs uses `g` of cue/src/p/b.rs"), "{wrong:?}");
    }

    #[test]
    fn an_import_of_a_module_uses_the_items_named_by_it() {
        let files = |text| {
            [
                ("cue/src/lib.rs", "mod p;\nmod q;\n"),
                ("cue/src/p/mod.rs", "mod a;\npub(crate) use a::A;\nfn f() { crate::q::g() }\nfn h() {}\n"),
                ("cue/src/p/a.rs", "pub(crate) struct A;\n"),
                ("cue/src/q.rs", text),
            ]
        };
        assert_eq!(found(&files("use crate::p;\nfn g() { p::A; }\n"), &[]).len(), 0);
        assert_eq!(found(&files("use crate::p;\nfn g() { p::h() }\n"), &[]).len(), 1);
        assert_eq!(found(&files("use crate::p::*;\nfn g() {}\n"), &[]).len(), 1);
    }

    #[test]
    fn tests_and_other_crates_make_no_circle() {
        let files = [
            ("cue/src/lib.rs", "mod a;\nmod b;\n"),
            ("cue/src/a.rs", "use crate::b::B;\nuse std::fmt;\n#[cfg(test)]\nmod tests { use crate::b; }\n"),
            ("cue/src/b.rs", "pub(in crate::a) struct B;\n#[cfg(test)]\nmod tests { use crate::a::x; }\n"),
        ];
        assert_eq!(found(&files, &[]).len(), 0);
    }

    #[test]
    fn known_circles_only_shrink() {
        let circle = [
            ("cue/src/lib.rs", "mod a;\nmod b;\n"),
            ("cue/src/a.rs", "use crate::b::B;\npub(crate) struct A;\n"),
            ("cue/src/b.rs", "use crate::a::A;\npub(crate) struct B;\n"),
        ];
        assert_eq!(found(&circle, &[("cue/src/b.rs", 2)]).len(), 0);
        let wrong = found(&circle, &[("cue/src/a.rs", 1)]);
        assert!(wrong[0].contains("grew from 1 to 2 files"), "{wrong:?}");
        assert_eq!(
            found(&circle, &[("cue/src/a.rs", 3)]),
            ["xtask/tidy.toml: write 2 for the circle of cue/src/a.rs, not 3"]
        );
        assert_eq!(
            found(&circle[..1], &[("cue/src/a.rs", 2)]),
            ["xtask/tidy.toml: the circle of cue/src/a.rs is gone; take it off the list"]
        );
    }
}
