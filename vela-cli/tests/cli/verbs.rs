//! Habits: files without `-f`, folders, URLs, aliases, and an answer for each verb of KubeVela's command.

// A row that is missing ends its test.
#![allow(clippy::panic)]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use crate::{CommandOutput, PAGE, Person, site};

/// Every verb of KubeVela's command, today's and those of its first releases.
const PEER: &str = "adopt addon auth cap cluster completion component components config config-template cuex debug \
    delete dry-run env exec export help init install kube live-diff logs ls policy port-forward provider ql registry \
    scopes show status svc template top trait traits uischema uninstall up version workloads";
/// Their groups of which some verbs are here.
const GROUPS: &[(&str, &str)] = &[
    ("workflow", "suspend resume terminate restart rollback logs debug list"),
    ("revision", "list get"),
    ("system", "info diagnose"),
    (
        "def",
        "init get list edit render apply del vet doc-gen gen-doc gen-api gen-cue upgrade compatibility-check \
         init-module apply-module list-module validate-module gen-module",
    ),
];

/// Verb → whether it is here, and what stands beside it.
fn table() -> BTreeMap<String, (String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/commands.md");
    let text = std::fs::read_to_string(page).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let rows = rows.map(|row| {
        let mut cells = row.splitn(3, " | ");
        let verb = cells.next().unwrap().trim_end_matches('`').to_owned();
        (verb, (cells.next().unwrap().to_owned(), cells.next().unwrap_or_default().trim().to_owned()))
    });
    rows.collect()
}

#[test]
fn every_verb_of_kubevela_is_here_or_has_an_answer() {
    let person = Person::new();
    let mut table = table();
    let alone = PEER.split_whitespace().map(|verb| vec![verb]);
    let grouped =
        GROUPS.iter().flat_map(|(group, verbs)| verbs.split_whitespace().map(move |verb| vec![*group, verb]));
    for words in alone.chain(grouped) {
        let verb = words.join(" ");
        // A group that is not here at all has one row.
        let (verb, words) = match table.contains_key(words[0]) {
            true => (words[0].to_owned(), vec![words[0]]),
            false => (verb, words),
        };
        let (state, text) = table.get(&verb).cloned().unwrap_or_else(|| panic!("{verb} has no row"));
        let said = match state.as_str() {
            "here" if verb == "help" => person.types(&["help"]).ok(),
            "here" => person.types(&[&words[..], &["--help"]].concat()).ok(),
            _ => person.types(&words).fails(5, &[&format!("error: `vela {verb}` "), &text]),
        };
        let expected = match state.as_str() {
            "here" => "",
            "another name" => "has another name here: ",
            "not yet" => "is not here yet: ",
            "not needed" => "is not needed here: ",
            other => panic!("{verb}: {other:?} is no state"),
        };
        assert!(said.err.contains(expected) && !said.err.contains("unrecognized"), "{verb}: {said:?}");
        let help = person.types(&[&["help"], &words[..]].concat());
        assert_eq!(help.code, said.code, "{verb}: {help:?}");
    }
    for (group, verbs) in GROUPS.iter().chain([&("", PEER)]) {
        for verb in verbs.split_whitespace() {
            table.remove(format!("{group} {verb}").trim());
        }
        table.remove(*group);
    }
    assert!(table.is_empty(), "these are no verbs of KubeVela: {table:?}");
    // A slip of the fingers is still one.
    person.types(&["statsu"]).fails(2, &["unrecognized subcommand", "status"]);
    person
        .types(&["--sandbox", "-n", "x", "addon", "enable", "--flag"])
        .fails(5, &["`vela addon` is not here yet"]);
}

/// Answers requests on a loopback port, each path with its answer.
pub(crate) fn serve(answers: Vec<(&'static str, String)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    let answers = Arc::new(answers);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // One client that reads slowly holds up no other.
            let (stream, answers) = (stream.unwrap(), answers.clone());
            std::thread::spawn(move || respond(stream, &answers));
        }
    });
    place
}

/// Answers one request.
pub(crate) fn respond(mut stream: TcpStream, answers: &[(&'static str, String)]) {
    let mut bytes = [0; 4096];
    let length = stream.read(&mut bytes).unwrap();
    let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
    let path = request.split_whitespace().nth(1).unwrap_or_default();
    let answer = answers.iter().find(|(at, _)| path.starts_with(at)).map(|(_, answer)| answer.as_str());
    let none = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    // Who has read enough has gone.
    let _ = stream.write_all(answer.unwrap_or(none).as_bytes());
}

pub(crate) fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

#[test]
fn files_are_taken_without_a_flag() {
    let person = Person::new();
    let page = person.write("a/page.yaml", PAGE);
    let app = person.write("a/b/site.yaml", site(false));
    person.write("a/b/notes.txt", "no manifest");
    let whole = person.types(&["dry-run", "--offline", "-f", &page, "-f", &app]).ok().out;
    assert!(whole.contains("kind: Deployment"), "{whole}");
    for words in [
        &["dry-run", "--offline", &page, &app][..],
        &["dry-run", "--offline", &page, "-f", &app],
        &["dry-run", "--offline", "-R", "a"],
    ] {
        assert_eq!(person.types(words).ok().out, whole, "{words:?}");
    }
    let both = format!("{PAGE}---\n{}", site(false));
    let mut command = person.command(&["dry-run", "--offline", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(both.as_bytes()).unwrap();
    assert!(CommandOutput::of(&child.wait_with_output().unwrap()).ok().out.contains("kind: Deployment"));

    person.types(&["dry-run", "--offline"]).fails(1, &["no file was given"]);
    person.types(&["dry-run", "--offline", "nowhere.yaml"]).fails(1, &["nowhere.yaml cannot be read"]);
    person.types(&["dry-run", "--offline", "empty"]).fails(1, &["empty cannot be read"]);
    person.write("x/y/z.yaml", "");
    person
        .types(&["dry-run", "--offline", "x"])
        .fails(1, &["there is no .yaml, .yml or .json file in x", "-R"]);
    person.types(&["up", "nowhere.yaml"]).fails(1, &["nowhere.yaml cannot be read"]);
    person
        .types(&["up", "a/page.yaml", "shop"])
        .fails(1, &["there is no file or folder \"shop\"", "stands alone"]);
    person
        .types(&["up", "x.yaml", "--revision", "shop-v1", "b"])
        .fails(1, &["--revision goes with the name of one"]);
}

#[test]
fn urls_are_read_like_files() {
    let person = Person::new();
    let both = format!("{PAGE}---\n{}", site(false));
    let wrong = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata:\n  name: [1]\n";
    let place = serve(vec![
        ("/site.yaml", answer("200 OK", &both)),
        ("/moved", answer("302 Found\r\nlocation: /site.yaml", "")),
        ("/circle", answer("302 Found\r\nlocation: /circle", "")),
        ("/machine", answer("302 Found\r\nlocation: http://169.254.169.254/latest", "")),
        ("/file", answer("302 Found\r\nlocation: file:///etc/hostname", "")),
        ("/page", answer("200 OK\r\ncontent-type: text/html", "<html>")),
        ("/wrong.yaml", answer("200 OK", wrong)),
        (
            "/large",
            "HTTP/1.1 200 OK\r\ncontent-length: 17000000\r\n\r\n".to_owned() + &" ".repeat(17_000_000),
        ),
    ]);
    let dry_run = |path: &str| person.types(&["dry-run", "--offline", "-f", &format!("{place}{path}")]);
    let whole = dry_run("/site.yaml?token=confidential").ok().out;
    assert!(whole.contains("kind: Deployment"), "{whole}");
    assert_eq!(dry_run("/moved").ok().out, whole);
    let at = |path: &str| format!("{place}{path}");
    dry_run("/circle").fails(1, &[&at("/circle"), "redirects more than 5 times"]);
    dry_run("/machine").fails(1, &[&at("/machine"), "may not be asked", "download it yourself"]);
    dry_run("/file").fails(1, &["it redirects to no URL"]);
    dry_run("/page").fails(1, &["is a web page, not a manifest", "raw"]);
    dry_run("/wrong.yaml").fails(1, &[&format!("{}:4:", at("/wrong.yaml"))]);
    dry_run("/large").fails(1, &["is larger than", "bytes"]);
    let said = dry_run("/none?token=confidential").fails(1, &[&at("/none"), "the server answers 404"]);
    assert!(!said.err.contains("confidential"), "{said:?}");
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    person
        .types(&["up", &format!("http://{gone}/x.yaml")])
        .fails(1, &["cannot be read", "check the address"]);
    person.types(&["up", "http://169.254.169.254/x.yaml"]).fails(1, &["may not be asked"]);
    person
        .types(&["up", "https://user:confidential@example.org/x"])
        .fails(1, &["a URL with a user or a password"]);
}

#[test]
fn objects_behind_urls_are_shown_and_applied() {
    let person = Person::new();
    let words = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: words}\ndata: {word: first}\n";
    let place = serve(vec![
        ("/words.yaml", answer("200 OK", words)),
        ("/page", answer("200 OK\r\ncontent-type: text/html", "<html>")),
        ("/machine", answer("302 Found\r\nlocation: http://169.254.169.254/latest", "")),
    ]);
    let app = |path: &str| {
        let component =
            format!("{{name: words, type: ref-objects, properties: {{urls: [\"{place}{path}\"]}}}}");
        let text = format!(
            "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop}}\nspec:\n  components:\n  - {component}\n"
        );
        person.write("app.yaml", text)
    };
    let file = app("/words.yaml?token=confidential");
    let said = person.types(&["dry-run", "--offline", "-f", &file]).ok();
    let both = said.out.clone() + &said.err;
    assert!(both.contains("/words.yaml was not asked") && !both.contains("confidential"), "{said:?}");
    assert!(person.types(&["dry-run", "-f", &file]).ok().out.contains("word: first"));
    let said = person.types(&["up", "-f", &file, "--timeout", "60s"]).ok();
    assert!(said.out.contains("ConfigMap words"), "{said:?}");
    for (path, words) in [
        (
            "/page?token=confidential",
            "/page: expected manifests of Kubernetes objects in YAML, found a web page",
        ),
        ("/machine", "which may not be asked"),
        ("/none", "the server answers 404"),
    ] {
        for verb in ["dry-run", "up"] {
            let said = person.types(&[verb, "-f", &app(path)]).fails(
                1,
                &["app.yaml:6:", "component \"words\"", words, "spec.components[0].properties.urls[0]"],
            );
            assert!(!said.err.contains("confidential"), "{said:?}");
        }
    }
}

/// One sandbox for all: aliases, names of a list, and everything deleted at once.
#[test]
fn aliases_and_deleting_everything() {
    let person = Person::new();
    let page = person.write("page.yaml", PAGE);
    let app = person.write("site.yaml", site(false));
    let other =
        person.write("other.yaml", site(false).replace("name: site", "name: other").replace("front", "rear"));
    person.types(&["apply", &page, &app, "--no-wait"]).ok();
    person.types(&["up", &other, "--wait"]).ok();
    for list in ["ls", "list", "get"] {
        let said = person.types(&[list, "-o", "name"]).ok();
        assert_eq!(said.out, "application.core.oam.dev/other\napplication.core.oam.dev/site\n");
    }
    let said = person.types(&["get", "site"]).ok();
    assert!(said.out.contains("site") && !said.out.contains("other"), "{said:?}");
    person
        .types(&["get", "site", "shop"])
        .fails(1, &["there is no application \"shop\" in namespace default"]);
    assert!(person.types(&["describe", "site"]).ok().out.contains("front"));
    person.types(&["up", "site"]).fails(1, &["what shall be done with site?", "no file of this name"]);
    person
        .types(&["delete", "site.yaml"])
        .fails(1, &["there is no application", "`vela delete -f site.yaml`"]);

    person
        .types(&["delete", "--all"])
        .fails(1, &["2 applications (other, site) of namespace default would be deleted", "--yes"]);
    person.types(&["delete", "--all", "site"]).fails(2, &["cannot be used with"]);
    person.types(&["delete", "-y", "other"]).ok();
    person.types(&["delete", "--all", "-y", "-w"]).ok();
    assert!(person.types(&["ls", "-o", "name"]).ok().out.is_empty());
    assert!(
        person
            .types(&["delete", "--all", "-y"])
            .ok()
            .err
            .contains("There is no application in namespace default")
    );
}
