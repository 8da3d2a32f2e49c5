//! Compares manifests, the figure of ARCHITECTURE.md and the code: arrows that only one of them has, and unused
//! dependencies.

use std::collections::{BTreeMap, BTreeSet};

use super::code::Code;
use super::module_files;
use super::rooms::ROOMS;
use super::tokens::Token;
use crate::command;

/// Usable by tests and by the doors only.
const FOR_TESTS: &str = "testkit";

/// Packages whose library has another name than its package.
const LIBRARIES: [(&str, &str); 1] = [("md-5", "md5")];

/// What a build script makes of a protocol names these packages, in files that are not in the repository.
const GENERATOR: &str = "tonic-prost-build";
const OF_GENERATED_CODE: [&str; 2] = ["prost", "tonic-prost"];

/// The part of a manifest that the rules read.
#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Manifest {
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
    #[serde(default)]
    dev_dependencies: BTreeMap<String, toml::Value>,
    #[serde(default)]
    build_dependencies: BTreeMap<String, toml::Value>,
    lints: Option<toml::Value>,
    workspace: Option<Workspace>,
}

#[derive(serde::Deserialize)]
struct Workspace {
    dependencies: BTreeMap<String, toml::Value>,
}

/// The figure: the floor of each room, and its arrows.
#[derive(Default)]
struct Figure {
    floors: BTreeMap<String, usize>,
    arrows: BTreeSet<(String, String)>,
}

/// The rules for all rooms. The arrows that the manifests draw, from room to room, without those of tests.
pub(super) fn check(code: &[Code], wrong: &mut Vec<String>) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(command::root().join("ARCHITECTURE.md")).unwrap_or_default();
    let figure = Figure::read(&text);
    let mut named = BTreeSet::new();
    let mut drawn = BTreeSet::new();
    for room in &ROOMS {
        let Some(manifest) = read(&format!("{}/Cargo.toml", room.directory), wrong) else { continue };
        if manifest.lints.is_none() {
            wrong.push(format!("{}/Cargo.toml: does not take the workspace's lints", room.directory));
        }
        for to in manifest.dependencies.keys().filter_map(|name| name.strip_prefix("vela-")) {
            drawn.insert((room.directory.to_owned(), to.to_owned()));
        }
        unused(room.directory, &manifest, code, wrong);
        let others = manifest.dev_dependencies.into_keys().chain(manifest.build_dependencies.into_keys());
        named.extend(manifest.dependencies.into_keys().chain(others));
    }
    arrows(&figure, &drawn, wrong);
    let workspace = read("Cargo.toml", wrong).and_then(|manifest| manifest.workspace);
    for name in workspace.into_iter().flat_map(|workspace| workspace.dependencies.into_keys()) {
        let is_a_room =
            name.strip_prefix("vela-").is_some_and(|name| ROOMS.iter().any(|r| r.directory == name));
        if !is_a_room && !named.contains(&name) {
            wrong.push(format!("Cargo.toml: no room depends on `{name}`"));
        }
    }
    drawn
}

fn read(path: &str, wrong: &mut Vec<String>) -> Option<Manifest> {
    let text = std::fs::read_to_string(command::root().join(path)).map_err(|e| e.to_string());
    match text.and_then(|text| toml::from_str(&text).map_err(|e| e.to_string())) {
        Ok(manifest) => Some(manifest),
        Err(e) => {
            wrong.push(format!("{path}: {e}"));
            None
        }
    }
}

/// Figure and manifests say the same, and every arrow goes down.
fn arrows(figure: &Figure, drawn: &BTreeSet<(String, String)>, wrong: &mut Vec<String>) {
    for room in &ROOMS {
        if !figure.floors.contains_key(room.directory) {
            wrong.push(format!("ARCHITECTURE.md: the figure has no room `{}`", room.directory));
        }
    }
    let floor = |room: &str| figure.floors.get(room).copied().unwrap_or_default();
    for (from, to) in drawn {
        // No room may depend on the highest floor, and it may use what it needs.
        let is_a_door = Some(&floor(from)) == figure.floors.values().max();
        if to == FOR_TESTS && !is_a_door {
            wrong.push(format!("{from}/Cargo.toml: `{to}` is for tests; name it under [dev-dependencies]"));
        } else if to != FOR_TESTS && floor(to) >= floor(from) {
            wrong.push(format!("{from}/Cargo.toml: an arrow to `{to}`, which is not below it"));
        } else if !is_a_door && !figure.arrows.contains(&(from.clone(), to.clone())) {
            wrong.push(format!(
                "{from}/Cargo.toml: an arrow to `{to}` that the figure of ARCHITECTURE.md does not have"
            ));
        }
    }
    for (from, to) in figure.arrows.difference(drawn) {
        wrong.push(format!(
            "ARCHITECTURE.md: the figure has an arrow from `{from}` to `{to}`, the manifest has not"
        ));
    }
}

impl Figure {
    /// Reads the lines `FLOOR   rooms → rooms   rooms → rooms` between fences; other words are for people.
    fn read(text: &str) -> Self {
        let mut figure = Self::default();
        let mut is_fenced = false;
        for line in text.lines() {
            if line.starts_with("```") {
                is_fenced = !is_fenced;
                continue;
            }
            let Some((floor, rest)) = line.split_once("  ").filter(|_| is_fenced) else { continue };
            let Ok(floor) = floor.parse() else { continue };
            let mut last = Vec::new();
            for part in rest.split("  ").map(str::trim).filter(|part| !part.is_empty()) {
                figure.take(floor, part, &mut last);
            }
        }
        figure
    }

    /// Takes rooms with or without arrows; `bin NAME → …` speaks of the rooms before it.
    fn take(&mut self, floor: usize, part: &str, last: &mut Vec<String>) {
        let (from, to) = part.split_once('→').map_or((part, None), |(from, to)| (from, Some(to)));
        let rooms = |words: &str| {
            let words: Vec<String> =
                words.replace(['(', ')', ','], " ").split_whitespace().map(str::to_owned).collect();
            let all = words.iter().all(|word| ROOMS.iter().any(|room| room.directory == word));
            all.then_some(words)
        };
        let opened = from.trim_start_matches('(').split(':').next().unwrap_or_default();
        match rooms(opened) {
            Some(found) if !found.is_empty() => {
                self.floors.extend(found.iter().map(|room| (room.clone(), floor)));
                *last = found;
            }
            None if !from.starts_with("bin ") => return,
            _ => {}
        }
        for room in to.and_then(rooms).unwrap_or_default() {
            self.arrows.extend(last.iter().map(|from| (from.clone(), room.clone())));
        }
    }
}

/// Every dependency is named by what ships, every further one by tests.
fn unused(room: &str, manifest: &Manifest, code: &[Code], wrong: &mut Vec<String>) {
    let here = || code.iter().filter(|c| c.name.strip_prefix(room).is_some_and(|rest| rest.starts_with('/')));
    let in_sources = || here().filter(|c| c.name[room.len()..].starts_with("/src/"));
    let from_elsewhere: Vec<String> = in_sources().flat_map(taken_in).collect();
    let taken = code.iter().filter(|c| from_elsewhere.contains(&c.name));
    let shipped = words(in_sources().chain(taken).map(|c| &c.shipped[..]));
    let all = words(here().map(|c| &c.all[..]));
    let library = |name: &str| {
        let other = LIBRARIES.iter().find(|(package, _)| *package == name);
        other.map_or_else(|| name.replace('-', "_"), |(_, library)| (*library).to_owned())
    };
    let is_generated =
        |name: &str| manifest.build_dependencies.contains_key(GENERATOR) && OF_GENERATED_CODE.contains(&name);
    let named = manifest.dependencies.keys().filter(|name| !is_generated(name));
    for name in named.filter(|name| !shipped.contains(library(name).as_str())) {
        wrong.push(if all.contains(library(name).as_str()) {
            format!("{room}/Cargo.toml: only tests use `{name}`; name it under [dev-dependencies]")
        } else {
            format!("{room}/Cargo.toml: nothing uses `{name}`")
        });
    }
    for (name, wanted) in &manifest.dev_dependencies {
        let twice = manifest.dependencies.contains_key(name) && wanted.get("features").is_none();
        if twice || !all.contains(library(name).as_str()) {
            let why = if twice { "is a dependency already" } else { "is used by no test" };
            wrong.push(format!("{room}/Cargo.toml: `{name}` under [dev-dependencies] {why}"));
        }
    }
}

/// Files of other rooms that a file takes in by `#[path = "…"]`.
fn taken_in(code: &Code) -> Vec<String> {
    let named = (0..code.shipped.len()).filter_map(|at| module_files::path_attribute(&code.shipped[at..]));
    named.map(|path| module_files::from_file(&code.name, path)).collect()
}

fn words<'a>(code: impl Iterator<Item = &'a [Token]>) -> BTreeSet<&'a str> {
    code.flatten()
        .filter_map(|token| if let Token::Word(word) = token { Some(word.as_str()) } else { None })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURE: &str = "# A\n\n```\n  people   core\n```\n\n```\n5   e2e   xtask     no room may depend on these\n3   core   bin vela-core → engine cue\n\
                          1   engine → cue     runtime → listen\n0   cue   listen   know nothing   (testkit: tests, xtask)\n```\n9   crds\n";

    fn pairs(pairs: &[(&str, &str)]) -> BTreeSet<(String, String)> {
        pairs.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect()
    }

    #[test]
    fn the_figure_has_floors_and_arrows() {
        let figure = Figure::read(FIGURE);
        let arrows = [("core", "engine"), ("core", "cue"), ("engine", "cue"), ("runtime", "listen")];
        assert_eq!(figure.arrows, pairs(&arrows));
        let floors: Vec<_> = figure.floors.iter().map(|(room, floor)| format!("{room}{floor}")).collect();
        assert_eq!(floors, ["core3", "cue0", "e2e5", "engine1", "listen0", "runtime1", "testkit0", "xtask5"]);
    }

    #[test]
    fn figure_and_manifests_have_the_same_arrows() {
        let drawn = [
            ("core", "engine"),
            ("engine", "cue"),
            ("engine", "testkit"),
            ("runtime", "cue"),
            ("cue", "engine"),
            ("e2e", "core"),
        ];
        let mut wrong = Vec::new();
        arrows(&Figure::read(FIGURE), &pairs(&drawn), &mut wrong);
        wrong.retain(|line| !line.contains("has no room"));
        let expected = [
            "cue/Cargo.toml: an arrow to `engine`, which is not below it",
            "engine/Cargo.toml: `testkit` is for tests; name it under [dev-dependencies]",
            "runtime/Cargo.toml: an arrow to `cue` that the figure of ARCHITECTURE.md does not have",
            "ARCHITECTURE.md: the figure has an arrow from `core` to `cue`, the manifest has not",
            "ARCHITECTURE.md: the figure has an arrow from `runtime` to `listen`, the manifest has not",
        ];
        assert_eq!(wrong, expected);
    }

    #[test]
    fn a_dependency_is_used_where_it_is_named() {
        let manifest = "[dependencies]\nserde-saphyr = \"1\"\nmd-5 = \"1\"\nflate2 = \"1\"\nhttp = \"1\"\nhyper = \"1\"\n\
                        [dev-dependencies]\nhttp = \"1\"\nhyper = { version = \"1\", features = [\"client\"] }\ntempfile = \"1\"\nrcgen = \"1\"\n";
        let code = [
            Code::read(
                "cue/src/lib.rs",
                "use md5::Md5;\nfn f() { http::get() }\n#[cfg(test)]\nmod tests { use hyper::X; }\n",
            ),
            Code::read("cue/src/a/b.rs", "#[path = \"../../../engine/fuzz/x.rs\"]\nmod x;\n"),
            Code::read("cue/tests/cue.rs", "use tempfile::TempDir;\n"),
            Code::read("engine/fuzz/x.rs", "use flate2::X;\n"),
            Code::read("crds/src/lib.rs", "use serde_saphyr::X;\n"),
        ];
        let mut wrong = Vec::new();
        unused("cue", &toml::from_str(manifest).unwrap(), &code.map(Result::unwrap), &mut wrong);
        let expected = [
            "cue/Cargo.toml: only tests use `hyper`; name it under [dev-dependencies]",
            "cue/Cargo.toml: nothing uses `serde-saphyr`",
            "cue/Cargo.toml: `http` under [dev-dependencies] is a dependency already",
            "cue/Cargo.toml: `rcgen` under [dev-dependencies] is used by no test",
        ];
        assert_eq!(wrong, expected);
    }
}
