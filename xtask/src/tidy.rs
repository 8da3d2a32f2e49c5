//! The rules of the house as a program: arrows go down, pure rooms stay pure, every file says what it is.

use std::collections::BTreeMap;
use std::path::Path;

use crate::command;

/// A room, the rooms it may depend on, and whether it must not touch the outside world.
struct Room {
    directory: &'static str,
    may_use: &'static [&'static str],
    pure: bool,
}

/// Flow order. A new arrow is added here and in ARCHITECTURE.md in the same commit.
const ROOMS: [Room; 17] = [
    Room { directory: "cue", may_use: &[], pure: true },
    Room { directory: "crds", may_use: &[], pure: true },
    Room { directory: "definitions", may_use: &[], pure: true },
    Room { directory: "kinds", may_use: &[], pure: true },
    Room { directory: "listen", may_use: &[], pure: false },
    Room { directory: "runtime", may_use: &["listen"], pure: false },
    Room { directory: "apiserver", may_use: &["kinds", "listen"], pure: false },
    Room { directory: "testkit", may_use: &[], pure: false },
    Room { directory: "engine", may_use: &["cue", "crds", "kinds"], pure: true },
    Room { directory: "webhooks", may_use: &["engine", "crds", "runtime"], pure: false },
    Room { directory: "console", may_use: &["engine", "crds", "runtime"], pure: false },
    Room { directory: "dapr", may_use: &["crds", "runtime"], pure: false },
    Room { directory: "harbor", may_use: &["crds", "runtime"], pure: false },
    Room {
        directory: "core",
        may_use: &["engine", "crds", "definitions", "runtime", "webhooks"],
        pure: false,
    },
    Room {
        directory: "vela-cli",
        may_use: &[
            "cue",
            "crds",
            "definitions",
            "runtime",
            "apiserver",
            "engine",
            "webhooks",
            "console",
            "dapr",
            "harbor",
            "core",
        ],
        pure: false,
    },
    Room { directory: "e2e", may_use: &[], pure: false },
    Room {
        directory: "xtask",
        may_use: &[
            "cue",
            "crds",
            "definitions",
            "engine",
            "apiserver",
            "core",
            "runtime",
            "testkit",
            "webhooks",
        ],
        pure: false,
    },
];

/// What a pure room may not name outside its tests and binaries.
const OUTSIDE: [&str; 13] = [
    "std::fs",
    "std::env",
    "TcpStream",
    "UdpSocket",
    "std::process",
    "std::thread::sleep",
    "SystemTime",
    "Instant::now",
    "tokio",
    "hyper",
    "reqwest",
    "async fn",
    "kube::Client",
];

/// Names that say nothing about what goes in and what comes out.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "common", "helper", "helpers", "misc"];

/// One source file of the workspace.
pub(crate) struct Source {
    /// Path inside the repository, with `/`.
    pub(crate) name: String,
    /// Its text.
    pub(crate) text: String,
}

/// All rules; every violation is listed.
pub(crate) fn run() -> Result<(), String> {
    let mut wrong = Vec::new();
    for room in &ROOMS {
        arrows(room, &mut wrong);
    }
    let sources = sources();
    if sources.is_empty() {
        return Err("tidy found no source file: is this the repository?".to_owned());
    }
    for source in &sources {
        first_line(source, &mut wrong);
        names(source, &mut wrong);
        purity(source, &mut wrong);
        paths(source, &mut wrong);
        ports(source, &mut wrong);
    }
    architecture(&mut wrong);
    if wrong.is_empty() {
        println!("tidy: {} files in {} rooms, nothing to report", sources.len(), ROOMS.len());
        return Ok(());
    }
    for line in &wrong {
        eprintln!("tidy: {line}");
    }
    Err(format!("tidy: {} violations", wrong.len()))
}

#[derive(serde::Deserialize)]
struct Manifest {
    #[serde(default)]
    dependencies: BTreeMap<String, toml::Value>,
    lints: Option<toml::Value>,
}

fn arrows(room: &Room, wrong: &mut Vec<String>) {
    let path = command::root().join(room.directory).join("Cargo.toml");
    let manifest: Manifest = match std::fs::read_to_string(&path).map(|text| toml::from_str(&text)) {
        Ok(Ok(manifest)) => manifest,
        Ok(Err(e)) => return wrong.push(format!("{}/Cargo.toml: {e}", room.directory)),
        Err(e) => return wrong.push(format!("{}/Cargo.toml: {e}", room.directory)),
    };
    for dependency in manifest.dependencies.keys() {
        if let Some(used) = dependency.strip_prefix("vela-")
            && !room.may_use.contains(&used)
        {
            wrong.push(format!("{}/Cargo.toml: an arrow to `{used}`, which is not below it", room.directory));
        }
    }
    if manifest.lints.is_none() {
        wrong.push(format!("{}/Cargo.toml: does not take the workspace's lints", room.directory));
    }
}

fn first_line(source: &Source, wrong: &mut Vec<String>) {
    if !source.text.starts_with("//! ") {
        wrong.push(format!(
            "{}:1: the first line must be `//!` and one sentence: what goes in, what comes out",
            source.name
        ));
    }
}

fn names(source: &Source, wrong: &mut Vec<String>) {
    let stem = source.name.trim_end_matches(".rs").trim_end_matches("/mod");
    let last = stem.rsplit('/').next().unwrap_or_default();
    if EMPTY_NAMES.contains(&last) {
        wrong.push(format!("{}: `{last}` names nothing; say what goes in and what comes out", source.name));
    }
}

fn purity(source: &Source, wrong: &mut Vec<String>) {
    let pure =
        ROOMS.iter().any(|room| room.pure && source.name.starts_with(&format!("{}/src/", room.directory)));
    if !pure || source.name.contains("/bin/") || source.name.ends_with("/tests.rs") {
        return;
    }
    for (number, line) in source.text.lines().enumerate() {
        if line.trim() == "#[cfg(test)]" {
            break;
        }
        if line.trim_start().starts_with("//") {
            continue;
        }
        for outside in OUTSIDE {
            if line.contains(outside) {
                wrong.push(format!("{}:{}: a pure room names `{outside}`", source.name, number + 1));
            }
        }
    }
}

/// Paths of requests are made in one place, which takes only names that stand for themselves.
fn paths(source: &Source, wrong: &mut Vec<String>) {
    const MAKES_PATHS: [&str; 5] = [
        "kube::Api",
        "kube::api::Api",
        "list_api_group_resources",
        "list_core_api_resources",
        "pinned_kind(&",
    ];
    // Those of discovery look first whether what they ask for is a group and a version; watches take what passed.
    const PLACES: [&str; 5] = [
        "runtime/src/api.rs",
        "runtime/src/watch.rs",
        "runtime/src/discovery.rs",
        "webhooks/src/registered.rs",
        "vela-cli/src/cluster.rs",
    ];
    if PLACES.contains(&source.name.as_str()) || !is_ours(source) {
        return;
    }
    for (number, line) in shipped(source) {
        let item = |word: &str| line.contains(word) && !line.contains(&format!("{word}R"));
        let imported =
            line.starts_with("use kube::") && line.split([' ', ',', '{', '}', ':', ';']).any(|w| w == "Api");
        if imported || MAKES_PATHS.iter().any(|word| item(word)) {
            wrong.push(format!("{}:{number}: makes a path of a request; use vela_runtime::Api", source.name));
        }
    }
}

/// Ports are served in one place, where silence costs nobody the service.
fn ports(source: &Source, wrong: &mut Vec<String>) {
    if source.name.starts_with("listen/") || !is_ours(source) {
        return;
    }
    for (number, line) in shipped(source) {
        if line.contains("TcpListener") || line.contains("serve_connection") {
            wrong.push(format!("{}:{number}: serves a port; use vela_listen::serve", source.name));
        }
    }
}

/// Code that runs at people's: no test, no chore.
fn is_ours(source: &Source) -> bool {
    let chores = ["e2e/", "xtask/", "testkit/"].iter().any(|room| source.name.starts_with(room));
    !chores
        && source.name.contains("/src/")
        && !source.name.contains("/tests")
        && !source.name.ends_with("tests.rs")
}

/// Lines before the tests of a file, with their numbers.
fn shipped(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let lines = source.text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    lines.map(|(number, line)| (number + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn architecture(wrong: &mut Vec<String>) {
    let text = std::fs::read_to_string(command::root().join("ARCHITECTURE.md")).unwrap_or_default();
    for room in &ROOMS {
        if !text.contains(&format!("`{}`", room.directory)) {
            wrong.push(format!("ARCHITECTURE.md does not describe the room `{}`", room.directory));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> Source {
        Source { name: name.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn a_pure_room_may_not_read_a_file_but_its_tests_may() {
        let mut wrong = Vec::new();
        purity(&source("cue/src/a.rs", "//! a\nuse std::fs;\n"), &mut wrong);
        purity(&source("cue/src/b.rs", "//! b\n#[cfg(test)]\nuse std::fs;\n"), &mut wrong);
        purity(&source("core/src/c.rs", "//! c\nuse std::fs;\n"), &mut wrong);
        assert_eq!(wrong, ["cue/src/a.rs:2: a pure room names `std::fs`"]);
    }

    #[test]
    fn paths_and_ports_have_one_place_each() {
        let mut wrong = Vec::new();
        for name in ["core/src/a.rs", "runtime/src/api.rs", "core/tests/a.rs", "core/src/a/tests.rs"] {
            paths(
                &source(name, "//! a\nuse kube::api::{Api, ListParams};\nuse kube::ApiResource;\n"),
                &mut wrong,
            );
        }
        for name in ["core/src/b.rs", "listen/src/lib.rs", "e2e/src/proxy.rs"] {
            ports(
                &source(name, "//! b\nlet l = TcpListener::bind(a);\n#[cfg(test)]\nuse TcpListener;\n"),
                &mut wrong,
            );
        }
        let expected = [
            "core/src/a.rs:2: makes a path of a request; use vela_runtime::Api",
            "core/src/b.rs:2: serves a port; use vela_listen::serve",
        ];
        assert_eq!(wrong, expected);
    }

    #[test]
    fn a_file_must_say_what_it_is_and_have_a_name_that_says_something() {
        let mut wrong = Vec::new();
        first_line(&source("cue/src/a.rs", "use x;\n"), &mut wrong);
        names(&source("cue/src/util.rs", "//! u\n"), &mut wrong);
        names(&source("cue/src/helpers/mod.rs", "//! u\n"), &mut wrong);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
}
