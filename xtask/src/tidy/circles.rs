//! No circles of files inside a crate, by what each file uses of the others; and none of its top-level modules.
//!
//! Circles from before the rule are listed in `xtask/tidy.toml` by one of their files or modules and their size. The lists only get
//! shorter: a circle that grew fails, and so does an entry whose circle is smaller or gone.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::code::Code;
use super::exceptions::Exceptions;
use super::modules::{Crate, Uses};
use super::rooms::ROOMS;

/// One member of each listed circle, and how many are in it.
type Known = BTreeMap<String, usize>;

/// A circle, and one way around it.
type Circle = (String, BTreeSet<String>);

/// What goes in circles, and what is to be done about it.
struct Members {
    noun: &'static str,
    advice: &'static str,
}

const FILES: Members = Members { noun: "files", advice: "let what they share have a file of its own" };
const MODULES: Members = Members {
    noun: "modules",
    advice: "move what they share into a module that uses neither, or hand it over as an argument",
};

/// The rules for all rooms.
pub(super) fn check(code: &[Code], known: &Exceptions, wrong: &mut Vec<String>) {
    let files = code.iter().map(|c| (c.name.as_str(), &c.shipped[..])).collect();
    let (mut of_files, mut of_modules) = (Vec::new(), Vec::new());
    for root in roots(code) {
        let mut read = Crate::read(&files, root);
        wrong.append(&mut read.unread);
        of_files.extend(circles(&read.uses()));
        of_modules.extend(circles(&read.uses_of_modules()));
    }
    FILES.judge(&of_files, &known.circles, wrong);
    MODULES.judge(&of_modules, &known.module_circles, wrong);
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

impl Members {
    /// What is not listed, and what of the list is not needed.
    fn judge(&self, found: &[Circle], known: &Known, wrong: &mut Vec<String>) {
        let Self { noun, advice } = self;
        let mut seen = BTreeSet::new();
        for (example, circle) in found {
            let mut entries = known.iter().filter(|(member, _)| circle.contains(*member));
            let first = circle.first().map_or("", String::as_str);
            let size = circle.len();
            match entries.next() {
                None => wrong.push(format!("{first}: a circle of {size} {noun}: {example}; {advice}")),
                Some((member, listed)) => {
                    seen.insert(member);
                    if size > *listed {
                        wrong.push(format!(
                            "{member}: its circle grew from {listed} to {size} {noun}: {example}"
                        ));
                    } else if size < *listed {
                        wrong.push(format!(
                            "xtask/tidy.toml: write {size} for the circle of {member}, not {listed}"
                        ));
                    }
                }
            }
            for (member, _) in entries {
                seen.insert(member);
                wrong.push(format!(
                    "xtask/tidy.toml: {member} is in the circle of another entry; keep one of them"
                ));
            }
        }
        for member in known.keys().filter(|member| !seen.contains(member)) {
            wrong.push(format!("xtask/tidy.toml: the circle of {member} is gone; take it off the list"));
        }
    }
}

/// Sets of members each of which leads to all others of its set.
fn circles(uses: &Uses) -> Vec<Circle> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|member| (member, reach(member, uses))).collect();
    let mut circles: BTreeSet<BTreeSet<String>> = BTreeSet::new();
    for (member, from_here) in &reached {
        let back = |other: &&&String| reached.get(**other).is_some_and(|there| there.contains(member));
        let circle: BTreeSet<String> = from_here.iter().filter(back).map(|other| (*other).clone()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().map(|circle| (example(&circle, uses), circle)).collect()
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

/// The shortest way from the first member of a circle back to it.
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
    let steps = way.windows(2).filter_map(|step| {
        let found = uses.get(step[0]).and_then(|to| to.get(step[1]))?;
        Some(format!("{} uses `{}` of {}", found.file, found.path, step[1]))
    });
    steps.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str, text: &str) -> Code {
        Code::read(name, text).unwrap()
    }

    fn all(files: &[(&str, &str)], known: &Exceptions) -> Vec<String> {
        let code: Vec<Code> = files.iter().map(|(name, text)| code(name, text)).collect();
        let mut wrong = Vec::new();
        check(&code, known, &mut wrong);
        wrong
    }

    fn listed(known: &[(&str, usize)]) -> Known {
        known.iter().map(|(member, size)| ((*member).to_owned(), *size)).collect()
    }

    /// What is said of files.
    fn found(files: &[(&str, &str)], known: &[(&str, usize)]) -> Vec<String> {
        let known = Exceptions { circles: listed(known), ..Exceptions::default() };
        let mut wrong = all(files, &known);
        wrong.retain(|line| !line.contains(" modules: "));
        wrong
    }

    /// What is said of modules.
    fn of_modules(files: &[(&str, &str)], known: &[(&str, usize)]) -> Vec<String> {
        let known = Exceptions { module_circles: listed(known), ..Exceptions::default() };
        let mut wrong = all(files, &known);
        wrong.retain(|line| !line.contains(" files: "));
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
            found(&[("cue/src/lib.rs", "")], &[("cue/src/a.rs", 2)]),
            ["xtask/tidy.toml: the circle of cue/src/a.rs is gone; take it off the list"]
        );
    }

    #[test]
    fn files_behind_a_path_attribute_are_read() {
        let files = [
            (
                "cue/src/bin/cue-eval.rs",
                "#[path = \"cue-eval/a.rs\"]\nmod a;\n#[path = \"cue-eval/b.rs\"]\nmod b;\n",
            ),
            ("cue/src/bin/cue-eval/a.rs", "use crate::b::B;\npub(crate) struct A;\n"),
            ("cue/src/bin/cue-eval/b.rs", "use crate::a::A;\npub(crate) struct B;\n"),
        ];
        let wrong = found(&files, &[]);
        assert!(wrong[0].starts_with("cue/src/bin/cue-eval/a.rs: a circle of 2 files"), "{wrong:?}");
        assert_eq!(found(&files, &[("cue/src/bin/cue-eval/b.rs", 2)]).len(), 0);
    }

    #[test]
    fn a_path_attribute_leads_into_another_room() {
        let files = [
            ("xtask/src/main.rs", "mod a;\n"),
            (
                "xtask/src/a.rs",
                "#[path = \"../../cue/fuzz/t.rs\"]\npub(crate) mod t;\npub(crate) struct A;\nfn f() { t::g() }\n",
            ),
            ("cue/fuzz/t.rs", "pub(crate) fn g() { super::A; }\n"),
        ];
        let wrong = found(&files, &[]);
        assert!(wrong[0].starts_with("cue/fuzz/t.rs: a circle of 2 files"), "{wrong:?}");
    }

    #[test]
    fn a_module_without_a_file_is_told() {
        let expected = "cue/src/lib.rs: the file of module `a` is not in a room; tidy looked for cue/src/a.rs and cue/src/a/mod.rs";
        assert_eq!(found(&[("cue/src/lib.rs", "mod a;\n")], &[]), [expected]);
        let itself = found(&[("cue/src/lib.rs", "#[path = \"lib.rs\"]\nmod a;\n")], &[]);
        assert!(itself[0].ends_with("tidy looked for cue/src/lib.rs"), "{itself:?}");
    }

    #[test]
    fn folders_that_use_each_other_are_a_circle_of_modules() {
        let files = [
            ("cue/src/lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("cue/src/a/mod.rs", "mod x;\nmod y;\n"),
            ("cue/src/a/x.rs", "pub(crate) struct X;\n"),
            ("cue/src/a/y.rs", "fn f() { crate::b::B }\n"),
            ("cue/src/b.rs", "use crate::c::C;\npub(crate) struct B;\n"),
            ("cue/src/c.rs", "pub(crate) struct C(crate::a::x::X);\n"),
        ];
        assert_eq!(found(&files, &[]).len(), 0);
        let expected = "cue/src/a: a circle of 3 modules: cue/src/a/y.rs uses `crate::b::B` of cue/src/b, \
                        cue/src/b.rs uses `crate::c::C` of cue/src/c, cue/src/c.rs uses `crate::a::x::X` of cue/src/a; \
                        move what they share into a module that uses neither, or hand it over as an argument";
        assert_eq!(of_modules(&files, &[]), [expected]);
    }

    #[test]
    fn passing_on_makes_circles_of_modules_too() {
        let files = |b| {
            [
                ("cue/src/lib.rs", "mod a;\nmod b;\npub use b::B;\n"),
                ("cue/src/a.rs", "pub(crate) struct A;\nfn f() { let _: crate::B; }\n"),
                ("cue/src/b.rs", b),
            ]
        };
        assert_eq!(of_modules(&files("pub struct B;\n"), &[]).len(), 0);
        let wrong = of_modules(&files("pub(crate) use crate::a::A;\npub struct B;\n"), &[]);
        assert!(wrong[0].contains("cue/src/b.rs uses `crate::a::A` of cue/src/a"), "{wrong:?}");
        let foreign = "pub use serde_json::Value as B;\npub(crate) use crate::a::A;\n";
        assert_eq!(of_modules(&files(foreign), &[]).len(), 1);
    }

    #[test]
    fn a_table_of_contents_and_tests_make_no_circle_of_modules() {
        let files = [
            ("cue/src/lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;\npub struct Root;\n"),
            ("cue/src/a/mod.rs", "mod x;\npub use x::A;\npub(crate) struct P;\n"),
            ("cue/src/a/x.rs", "use super::P;\nuse crate::{B, Root};\npub struct A;\n"),
            ("cue/src/b.rs", "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }\n"),
        ];
        assert_eq!(of_modules(&files, &[]).len(), 0);
    }

    #[test]
    fn modules_inside_the_root_have_names_too() {
        let text =
            "mod a { pub(crate) fn f() { super::b::g() } }\nmod b { pub(crate) fn g() { super::a::f() } }\n";
        let wrong = of_modules(&[("cue/src/lib.rs", text)], &[]);
        assert!(wrong[0].starts_with("cue/src/lib.rs::a: a circle of 2 modules"), "{wrong:?}");
    }

    #[test]
    fn known_circles_of_modules_only_shrink() {
        let circle = [
            ("cue/src/lib.rs", "mod a;\nmod b;\n"),
            ("cue/src/a.rs", "use crate::b::B;\npub(crate) struct A;\n"),
            ("cue/src/b.rs", "use crate::a::A;\npub(crate) struct B;\n"),
        ];
        assert_eq!(of_modules(&circle, &[("cue/src/b", 2)]).len(), 0);
        let wrong = of_modules(&circle, &[("cue/src/a", 1)]);
        assert!(wrong[0].contains("grew from 1 to 2 modules"), "{wrong:?}");
        assert_eq!(
            of_modules(&circle, &[("cue/src/a", 3)]),
            ["xtask/tidy.toml: write 2 for the circle of cue/src/a, not 3"]
        );
        assert_eq!(
            of_modules(&[("cue/src/lib.rs", "")], &[("cue/src/a", 2)]),
            ["xtask/tidy.toml: the circle of cue/src/a is gone; take it off the list"]
        );
    }
}
