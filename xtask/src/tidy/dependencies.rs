//! Checks foreign crates: `Cargo.lock` and `cargo tree` in; sources, licences, second versions and whole crates that
//! are not taken here out.
//!
//! Crates that are built in more than one version are listed in `xtask/versions.toml` with the number of their versions. The list
//! only gets shorter.

use std::collections::{BTreeMap, BTreeSet};

use crate::command;

/// Where crates come from.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Crates that are built in more than one version, and in how many.
const KNOWN: &str = "xtask/versions.toml";

/// The platform that is shipped: others build further crates, which a developer here may not have at hand.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// What a crate asks for that may be part of a program under Apache-2.0, in the names of SPDX.
const LICENCES: [&str; 7] =
    ["Apache-2.0", "Apache-2.0-WITH-LLVM-exception", "BSD-3-Clause", "ISC", "MIT", "Unicode-3.0", "Zlib"];

/// Crates that come by the default of others, and why not here.
const UNWANTED: [(&str, &str); 3] = [
    (
        "icu_provider",
        "twenty crates for hosts beyond ASCII in CEL's url(), which the real API server takes as they are; \
         `cargo update -p idna_adapter --precise 1.0.0` removes them",
    ),
    ("aws-lc-sys", "TLS has one provider, ring; name its features"),
    ("openssl-sys", "TLS has one provider, ring; name its features"),
];

/// The part of `Cargo.lock` that the rules read.
#[derive(serde::Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(serde::Deserialize)]
struct Locked {
    name: String,
    version: String,
    /// Nothing for the rooms.
    source: Option<String>,
}

/// A crate as `cargo tree` tells it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Built<'t> {
    name: &'t str,
    version: &'t str,
    licence: &'t str,
}

/// The rules for all crates.
pub(super) fn check(wrong: &mut Vec<String>) {
    if let Some(lock) = read("Cargo.lock", wrong) {
        sources(&lock, wrong);
    }
    let known: BTreeMap<String, usize> = read(KNOWN, wrong).unwrap_or_default();
    let tree = [
        "tree",
        "--locked",
        "--workspace",
        "--target",
        PLATFORM,
        "--edges",
        "normal,build,dev",
        "--prefix",
        "none",
        "--format",
        "{p}|{l}",
    ];
    match command::answer_of_cargo(&tree) {
        Ok(text) => {
            let built = built(&text);
            licences(&built, wrong);
            versions(&built, &known, wrong);
            unwanted(&built, wrong);
        }
        Err(e) => wrong.push(e),
    }
}

/// A file of the repository in TOML.
fn read<T: serde::de::DeserializeOwned>(path: &str, wrong: &mut Vec<String>) -> Option<T> {
    let text = std::fs::read_to_string(command::root().join(path)).map_err(|e| e.to_string());
    match text.and_then(|text| toml::from_str(&text).map_err(|e| e.to_string())) {
        Ok(read) => Some(read),
        Err(e) => {
            wrong.push(format!("{path}: {e}"));
            None
        }
    }
}

fn sources(lock: &Lock, wrong: &mut Vec<String>) {
    for Locked { name, version, source } in &lock.package {
        if let Some(source) = source.as_ref().filter(|source| *source != SOURCE) {
            wrong.push(format!(
                "Cargo.lock: {name} {version} comes from {source}; crates come from crates.io"
            ));
        }
    }
}

fn built(tree: &str) -> BTreeSet<Built<'_>> {
    tree.lines().filter_map(Built::read).collect()
}

impl<'t> Built<'t> {
    /// Reads `NAME vVERSION …|LICENCE`; what was told before ends in ` (*)`.
    fn read(line: &'t str) -> Option<Self> {
        let (package, licence) = line.split_once('|')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.trim_start_matches('v'));
        Some(Self { name, version, licence: licence.trim_end_matches(" (*)") })
    }
}

fn licences(built: &BTreeSet<Built<'_>>, wrong: &mut Vec<String>) {
    for Built { name, version, licence } in built.iter().filter(|one| !is_taken(one.licence)) {
        wrong.push(format!(
            "Cargo.lock: {name} {version} has the licence {licence:?}, which xtask/src/tidy/dependencies.rs does not have"
        ));
    }
}

/// Is the expression met by licences that are taken? Old manifests write `/` for `OR`.
fn is_taken(licence: &str) -> bool {
    let mut text = licence.replace(" WITH ", "-WITH-").replace('/', " OR ");
    // Each round takes one pair of parentheses away.
    while let Some(open) = text.rfind('(') {
        let Some(length) = text[open..].find(')') else { return false };
        let met = if is_met(&text[open + 1..open + length]) { LICENCES[0] } else { "none" };
        text.replace_range(open..=open + length, met);
    }
    is_met(&text)
}

/// The same without parentheses: `AND` binds before `OR`.
fn is_met(expression: &str) -> bool {
    let mut choices = expression.split(" OR ");
    choices.any(|choice| choice.split(" AND ").all(|licence| LICENCES.contains(&licence.trim())))
}

fn versions(built: &BTreeSet<Built<'_>>, known: &BTreeMap<String, usize>, wrong: &mut Vec<String>) {
    let mut all: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in built {
        all.entry(one.name).or_default().insert(one.version);
    }
    for (name, versions) in &all {
        let (count, listed) = (versions.len(), known.get(*name).copied().unwrap_or(1));
        let which = versions.iter().copied().collect::<Vec<_>>().join(", ");
        if count > listed {
            wrong.push(format!(
                "Cargo.lock: {name} is built in {count} versions ({which}); use what agrees with the others (`cargo tree -d`)"
            ));
        } else if count < listed && count > 1 {
            wrong.push(format!("{KNOWN}: write {count} for the versions of {name}, not {listed}"));
        }
    }
    for name in known.keys() {
        if all.get(name.as_str()).is_none_or(|versions| versions.len() < 2) {
            wrong.push(format!("{KNOWN}: {name} is not built in two versions; take it off the list"));
        }
    }
}

fn unwanted(built: &BTreeSet<Built<'_>>, wrong: &mut Vec<String>) {
    for (name, why) in UNWANTED {
        if built.iter().any(|one| one.name == name) {
            wrong.push(format!("Cargo.lock: no crate needs {name}: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "vela-cue v0.1.0 (/src/cue)|Apache-2.0\n\nsyn v2.0.1|MIT OR Apache-2.0\nsyn v3.0.0|MIT\n\
                        syn v2.0.1|MIT OR Apache-2.0 (*)\nserde_derive v1.0.0 (proc-macro)|MIT/Apache-2.0\n";

    #[test]
    fn lines_of_the_tree_are_read_once_each() {
        let names: Vec<_> =
            built(TREE).iter().map(|one| format!("{} {} {}", one.name, one.version, one.licence)).collect();
        let expected = [
            "serde_derive 1.0.0 MIT/Apache-2.0",
            "syn 2.0.1 MIT OR Apache-2.0",
            "syn 3.0.0 MIT",
            "vela-cue 0.1.0 Apache-2.0",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_second_version_is_known_or_wrong_and_the_list_gets_shorter() {
        let found = |known: &[(&str, usize)]| {
            let known = known.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
            let mut wrong = Vec::new();
            versions(&built(TREE), &known, &mut wrong);
            wrong
        };
        assert_eq!(found(&[("syn", 2)]), [""; 0]);
        assert!(found(&[])[0].starts_with("Cargo.lock: syn is built in 2 versions (2.0.1, 3.0.0);"));
        assert_eq!(found(&[("syn", 3)]), ["xtask/versions.toml: write 2 for the versions of syn, not 3"]);
        let gone = "is not built in two versions; take it off the list";
        let expected = ["base64", "serde_derive"].map(|name| format!("xtask/versions.toml: {name} {gone}"));
        assert_eq!(found(&[("base64", 2), ("serde_derive", 2), ("syn", 2)]), expected);
    }

    #[test]
    fn licences_are_expressions() {
        for taken in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR GPL-2.0) AND Unicode-3.0",
            "Apache-2.0 AND ISC",
        ] {
            assert!(is_taken(taken), "{taken}");
        }
        assert!(is_taken("Apache-2.0 WITH LLVM-exception"));
        for other in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "GPL-3.0 OR MIT AND MPL-2.0",
            "(MIT OR ISC) AND GPL-2.0",
            "MIT MIT",
        ] {
            assert!(!is_taken(other), "{other}");
        }
        let mut wrong = Vec::new();
        licences(&built("a v1.0.0|GPL-3.0\nb v1.0.0|\nc v1.0.0|MIT\n"), &mut wrong);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
    }

    #[test]
    fn an_unneeded_crate_is_reported_with_the_way_out() {
        let mut wrong = Vec::new();
        unwanted(&built("icu_provider v2.4.0|Unicode-3.0\nring v0.17.0|Apache-2.0 AND ISC\n"), &mut wrong);
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].contains("`cargo update -p idna_adapter --precise 1.0.0`"), "{wrong:?}");
    }

    #[test]
    fn crates_come_from_one_place() {
        let lock = "[[package]]\nname = \"vela-cue\"\nversion = \"0.1.0\"\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"git+https://example.invalid/a\"\n\
                    [[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
        let mut wrong = Vec::new();
        sources(&toml::from_str(lock).unwrap(), &mut wrong);
        let expected =
            "Cargo.lock: a 1.0.0 comes from git+https://example.invalid/a; crates come from crates.io";
        assert_eq!(wrong, [expected]);
    }
}
