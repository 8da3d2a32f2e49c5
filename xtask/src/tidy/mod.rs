//! The rules of the house as a program: arrows go down, no files and no modules go in circles, pure rooms stay pure, every file says what
//! it is, and what is built of other people's code may be.

mod binaries;
mod circles;
mod code;
mod dependencies;
mod exceptions;
mod ignored;
mod layout;
mod manifests;
mod module_files;
mod modules;
mod pages;
mod places;
mod pronouns;
mod reach;
mod readiness;
mod rooms;
mod sizes;
mod test_names;
mod tokens;
mod words;

use self::code::{Code, is_ours, shipped};
pub(crate) use self::code::{Source, sources};
use self::exceptions::Exceptions;
use self::rooms::ROOMS;

/// The names that a pure room may not use outside its tests and binaries.
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

/// All rules; every violation is listed.
pub(crate) fn run() -> Result<(), String> {
    let mut wrong = Vec::new();
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
        snapshots(source, &mut wrong);
        readiness::readiness(source, &mut wrong);
        words::words(source, &mut wrong);
        ignored::unexplained(source, &mut wrong);
    }
    let known = Exceptions::read()?;
    sizes::check(&sources, &known, &mut wrong);
    pronouns::check(&sources, &known, &mut wrong);
    layout::check(&sources, &known.beside, &mut wrong);
    let code: Vec<Code> =
        sources.iter().map(|source| Code::read(&source.name, &source.text)).collect::<Result<_, _>>()?;
    code.iter().for_each(|file| words::private(file, &mut wrong));
    test_names::check(&code, &mut wrong);
    circles::check(&code, &known, &mut wrong);
    reach::check(&code, &known.unreached, &mut wrong);
    let arrows = manifests::check(&code, &mut wrong);
    binaries::check(&code, &arrows, &known.unshipped, &mut wrong);
    dependencies::check(&mut wrong);
    places::check(&mut wrong);
    pages::check(&mut wrong);
    if wrong.is_empty() {
        println!("tidy: {} files in {} rooms, nothing to report", sources.len(), ROOMS.len());
        return Ok(());
    }
    for line in &wrong {
        eprintln!("tidy: {line}");
    }
    Err(format!("tidy: {} violations", wrong.len()))
}

fn first_line(source: &Source, wrong: &mut Vec<String>) {
    if !source.text.starts_with("//! ") {
        wrong.push(format!(
            "{}:1: the first line must be `//!` and a sentence: what it is, what it is for",
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
        "snapshot/src/registered.rs",
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

/// Ports are served in one place, where a silent peer never blocks the service.
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

/// One room reads what rendering knows of a cluster, so that every caller sees the same cluster as the reconcilers do.
fn snapshots(source: &Source, wrong: &mut Vec<String>) {
    let fills_them = ["snapshot/", "engine/"].iter().any(|room| source.name.starts_with(room));
    if fills_them || !is_ours(source) {
        return;
    }
    for (number, line) in shipped(source) {
        if ["Snapshot::new(", "Snapshot::default("].iter().any(|makes| line.contains(makes)) {
            wrong.push(format!("{}:{number}: makes a Snapshot; ask a vela_snapshot::Reader", source.name));
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
    fn snapshots_have_one_maker() {
        let mut wrong = Vec::new();
        for name in ["core/src/a.rs", "snapshot/src/reader.rs", "webhooks/tests/a.rs"] {
            let text = "//! a\nlet snapshot = Snapshot::default();\n#[cfg(test)]\nSnapshot::new(version);\n";
            snapshots(&source(name, text), &mut wrong);
        }
        assert_eq!(wrong, ["core/src/a.rs:2: makes a Snapshot; ask a vela_snapshot::Reader"]);
    }

    #[test]
    fn a_file_says_what_it_is_and_has_a_telling_name() {
        let mut wrong = Vec::new();
        first_line(&source("cue/src/a.rs", "use x;\n"), &mut wrong);
        names(&source("cue/src/util.rs", "//! u\n"), &mut wrong);
        names(&source("cue/src/helpers/mod.rs", "//! u\n"), &mut wrong);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
}
