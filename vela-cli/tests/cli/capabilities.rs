//! `vela cap` and the lists of types: definitions that lie in centres are read, judged, installed and taken away.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use crate::verbs::answer;
use crate::{PAGE, Person, site};

/// A trait in the short form.
const MARKED: &str = "marked: {\n\ttype: \"trait\"\n\tdescription: \"Marks a workload.\"\n\tattributes: appliesToWorkloads: [\"page\", \"jobs.batch\"]\n}\n\
    template: {\n\tpatch: metadata: labels: mark: parameter.mark\n\tparameter: mark: string\n}\n";

/// A person who knows the centre `team`, a folder with a component and a trait.
fn with_center() -> Person {
    let person = Person::new();
    person.write("types/page.yaml", PAGE);
    person.write("types/marked.cue", MARKED);
    person.write("types/notes.txt", "no definition");
    let said = person.types(&["cap", "center", "config", "team", "types"]).ok();
    assert!(said.err.contains("2 of 2 definitions of team are read."), "{said:?}");
    person
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Name → status.
fn statuses(person: &Person) -> Vec<(String, String)> {
    let rows = json(&person.types(&["cap", "ls", "-o", "json"]).ok().out);
    let part = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    rows.as_array().unwrap().iter().map(|row| (part(row, "name"), part(row, "status"))).collect()
}

#[test]
fn a_capability_is_installed_used_and_taken_away() {
    let person = with_center();
    let listed = person.types(&["cap", "ls"]).ok().out;
    assert!(listed.contains("NAME") && listed.contains("Marks a workload."), "{listed}");
    assert_eq!(person.types(&["cap", "ls", "team", "-o", "name"]).ok().out, "team/marked\nteam/page\n");
    let plan = person.types(&["cap", "install", "team/page", "--dry-run"]).ok();
    assert!(plan.out.contains("ComponentDefinition vela-system/page would be created"), "{plan:?}");
    assert_eq!(statuses(&person)[1], ("page".to_owned(), "uninstalled".to_owned()));

    let said = person.types(&["cap", "install", "team/page"]).ok();
    assert!(said.err.contains("ComponentDefinition vela-system/page created"), "{said:?}");
    assert_eq!(statuses(&person)[1], ("page".to_owned(), "installed".to_owned()));
    let app = person.write("app.yaml", site(false));
    person.types(&["up", &app, "--timeout", "60s"]).ok();

    // A new version is told field by field, with who uses the type.
    person.write("types/page.yaml", PAGE.replace("port: 80", "port: 81"));
    person.types(&["cap", "center", "sync"]).ok();
    let said = person.types(&["cap", "install", "team/page"]).ok();
    assert!(
        said.out.contains("port: 81") && said.err.contains("is used by Application default/site"),
        "{said:?}"
    );
    let again = person.types(&["cap", "install", "team/page"]).ok();
    assert!(again.out.is_empty() && again.err.contains("page unchanged"), "{again:?}");

    person
        .types(&["cap", "uninstall", "page", "-y"])
        .fails(1, &["is used by Application default/site", "--force"]);
    person.types(&["delete", "site"]).ok();
    person.types(&["cap", "uninstall", "page"]).fails(1, &["page would be deleted", "--yes (-y)"]);
    let said = person.types(&["cap", "uninstall", "team/page", "-y"]).ok();
    assert!(said.err.contains("ComponentDefinition vela-system/page deleted"), "{said:?}");
    person
        .types(&["cap", "uninstall", "page", "-y"])
        .fails(1, &["\"page\" of a capability centre is not installed"]);
    assert_eq!(statuses(&person)[1], ("page".to_owned(), "uninstalled".to_owned()));

    // In a namespace of its own, too; and what is installed outlives its centre.
    person.types(&["cap", "install", "team/marked", "-n", "default"]).ok();
    person.types(&["cap", "center", "remove", "team"]).ok();
    assert!(person.types(&["def", "get", "marked", "-n", "default"]).ok().out.contains("center: team"));
    person.types(&["cap", "center", "remove", "team"]).fails(1, &["there is no capability centre \"team\""]);
}

#[test]
fn what_another_brought_is_not_overwritten_unasked() {
    let person = with_center();
    person.write("mine/page.yaml", PAGE.replace("port: 80", "port: 8080"));
    person.types(&["def", "apply", "mine/page.yaml", "-n", "vela-system"]).ok();
    let install = ["cap", "install", "team/page"];
    person.types(&install).fails(
        1,
        &[
            "ComponentDefinition vela-system/page is there already and did not come from a centre",
            "Nothing was written.",
        ],
    );
    assert_eq!(statuses(&person)[1], ("page".to_owned(), "name taken".to_owned()));
    person.types(&["cap", "uninstall", "page", "-y"]).fails(1, &["came from elsewhere: `vela def del page`"]);
    let stored = || person.types(&["def", "get", "page", "-t", "component"]).ok().out;
    assert!(stored().contains("port: 8080"));
    let plan = person.types(&[&install[..], &["--overwrite", "--dry-run"]].concat()).ok();
    assert!(plan.out.contains("changes:") && plan.out.contains("port: 80"), "{plan:?}");
    assert!(stored().contains("port: 8080"));
    person.types(&[&install[..], &["--overwrite"]].concat()).ok();
    assert!(!stored().contains("port: 8080"));
    // That of another centre stands in the way as well.
    person.types(&["cap", "center", "config", "mine", "mine"]).ok();
    person
        .types(&["cap", "install", "mine/page"])
        .fails(1, &["is there already and came from the centre team"]);
    person.types(&["cap", "uninstall", "mine/page", "-y"]).fails(1, &["of the centre mine is not installed"]);
}

#[test]
fn a_center_that_cannot_be_read_is_not_remembered() {
    let person = Person::new();
    person.types(&["cap", "ls"]).fails(1, &["there is no capability centre", "vela cap center config"]);
    let config = |address: &str| person.types(&["cap", "center", "config", "team", address]);
    config("https://gitlab.com/a/b")
        .fails(1, &["is no address of a capability centre", "https://github.com/"]);
    config("oci://registry.example.org")
        .fails(1, &["names no repository of the registry", "oci://HOST/REPOSITORY"]);
    config("http://169.254.169.254/repos/a/b/contents").fails(1, &["may not be asked"]);
    config("nowhere").fails(1, &["as a folder it cannot be read"]);
    person.write("empty/notes.txt", "");
    config("empty").fails(1, &["there is no .yaml, .yml, .json or .cue file"]);
    person.write("apps/app.yaml", site(false));
    config("apps").fails(1, &["is no definition", "has no definition that can be installed"]);
    person
        .types(&["cap", "center", "config", "../team", "apps"])
        .fails(2, &["a centre has lower-case letters"]);
    person.types(&["cap", "center", "config", "team", "apps", "-t", "x"]).fails(1, &["takes no token"]);
    assert_eq!(person.types(&["cap", "center", "ls", "-o", "name"]).ok().out, "");
    person.types(&["cap", "install", "page"]).fails(2, &["names no centre"]);
    person.types(&["cap", "install", "a/b/c"]).fails(2, &["is no capability"]);

    // One whose address fails later keeps what it had.
    let person = with_center();
    std::fs::remove_dir_all(person.path("types")).unwrap();
    person.types(&["cap", "center", "sync"]).fails(1, &["centre team: "]);
    assert_eq!(statuses(&person).len(), 2);
    person.types(&["cap", "install", "team/pag"]).fails(1, &["no such capability: \"pag\"", "page"]);
    person.write("vela/centers/team.json", "{");
    person.types(&["cap", "ls"]).fails(3, &["team.json is no capability centre"]);
}

#[test]
fn broken_definitions_of_a_center_are_left_out() {
    let person = Person::new();
    person
        .write("types/page.yaml", PAGE.replace("name: page", "name: page\n  namespace: elsewhere\n  uid: x"));
    person.write("types/again.yaml", PAGE.replace("port: 80", "port: 81"));
    person.write("types/marked.cue", MARKED.replace("parameter.mark", "parameters.mark"));
    person.write("types/odd.yaml", PAGE.replace("name: page", "name: ../odd"));
    person.write("types/text.yaml", b"\xff");
    let said = person.types(&["cap", "center", "config", "team", "types"]).ok();
    for text in [
        "1 of 5 definitions of team are read; 4 are left out",
        "described twice",
        "bad_definition",
        "UTF-8",
        "../odd",
    ] {
        assert!(said.err.contains(text), "{text}: {said:?}");
    }
    // It is installed where the command says, and not where it was copied from.
    let said = person.types(&["cap", "install", "team/page"]).ok();
    assert!(said.err.contains("vela-system/page created"), "{said:?}");
}

/// Answers as the API of GitHub does; gives what each request asked for, with its token.
fn api(person_files: Vec<(String, String)>) -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    let (sender, asked) = std::sync::mpsc::channel();
    let entry = |(name, text): &(String, String)| json!({"type": "file", "name": name, "size": text.len(), "download_url": format!("{place}/raw/{name}")});
    let mut list: Vec<Value> = person_files.iter().map(entry).collect();
    list.push(json!({"type": "dir", "name": "more.yaml", "size": 0, "download_url": null}));
    list.push(
        json!({"type": "file", "name": "notes.md", "size": 1, "download_url": "http://169.254.169.254/"}),
    );
    let list = Value::Array(list).to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4096];
            let length = stream.read(&mut bytes).unwrap();
            let request = String::from_utf8_lossy(&bytes[..length]).to_lowercase();
            let path = request.split_whitespace().nth(1).unwrap_or_default().to_owned();
            let token = request.lines().find_map(|line| line.strip_prefix("authorization: bearer "));
            sender.send(format!("{path} {}", token.unwrap_or("-"))).unwrap();
            let file = person_files.iter().find(|(name, _)| path == format!("/raw/{name}"));
            let said = match (path.as_str(), file) {
                ("/api/v1/repos/a/b/contents/types", _) => answer("200 OK", &list),
                (_, Some((_, text))) => answer("200 OK", text),
                _ => answer("404 Not Found", ""),
            };
            let _ = stream.write_all(said.as_bytes());
        }
    });
    (place, asked)
}

#[test]
fn a_center_behind_an_api_is_read_with_its_token() {
    let person = Person::new();
    let files = vec![("page.yaml".to_owned(), PAGE.to_owned()), ("marked.cue".to_owned(), MARKED.to_owned())];
    let (place, asked) = api(files);
    let address = format!("{place}/api/v1/repos/a/b/contents/types");
    person.types(&["cap", "center", "config", "team", &address, "--token", "confidential"]).ok();
    let asked: Vec<String> = asked.try_iter().collect();
    let expected = ["/api/v1/repos/a/b/contents/types", "/raw/page.yaml", "/raw/marked.cue"];
    assert_eq!(asked, expected.map(|path| format!("{path} confidential")));
    let listed = person.types(&["cap", "center", "ls"]).ok();
    assert!(listed.out.contains(&address) && !listed.out.contains("confidential"), "{listed:?}");
    let listed = person.types(&["cap", "center", "ls", "-o", "json"]).ok();
    assert_eq!(json(&listed.out)[0]["capabilities"], 2);
    assert!(!listed.out.contains("confidential"), "{listed:?}");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(person.path("vela/centers/team.json")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    person.types(&["cap", "install", "team/marked"]).ok();
    let gone = format!("{place}/api/v1/repos/a/b/contents/none");
    person.types(&["cap", "center", "config", "team", &gone]).fails(1, &["the server answers 404"]);
    assert_eq!(statuses(&person).len(), 2);
}

#[test]
fn a_token_does_not_follow_a_redirect_elsewhere() {
    let (elsewhere, asked_there) = api(vec![("page.yaml".to_owned(), PAGE.to_owned())]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/repos/a/b/contents/types", listener.local_addr().unwrap());
    let place = format!("{elsewhere}/api/v1/repos/a/b/contents/types");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head = format!("302 Found\r\nlocation: {place}");
            let _ = stream.write_all(answer(&head, "").as_bytes());
        }
    });
    let person = Person::new();
    person.types(&["cap", "center", "config", "team", &address, "--token", "confidential"]).ok();
    let asked: Vec<String> = asked_there.try_iter().collect();
    assert_eq!(asked, ["/api/v1/repos/a/b/contents/types -", "/raw/page.yaml -"]);
}

#[test]
fn a_repository_is_read_by_git() {
    let person = Person::new();
    person.write("work/types/page.yaml", PAGE);
    person.write("work/secret.yaml", MARKED);
    std::os::unix::fs::symlink("../secret.yaml", person.path("work/types/link.yaml")).unwrap();
    let git = |words: &[&str]| {
        let mut command = person.environment(Command::new("git"), words);
        for (name, value) in [("NAME", "a"), ("EMAIL", "a@b")] {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        let done = command.output().unwrap();
        assert!(done.status.success(), "{words:?}: {done:?}");
    };
    git(&["init", "-q", "-b", "main", "work"]);
    git(&["-C", "work", "add", "."]);
    git(&["-C", "work", "commit", "-q", "-m", "types"]);
    git(&["clone", "-q", "--bare", "work", "types.git"]);
    let said = person.types(&["cap", "center", "config", "team", "types.git//types#main"]).ok();
    assert!(said.err.contains("1 of 1 definitions of team are read."), "{said:?}");
    assert_eq!(person.types(&["cap", "ls", "-o", "name"]).ok().out, "team/page\n");
    // The copy that was read is gone again.
    let left: Vec<_> = std::fs::read_dir(person.path("vela/centers")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let config = |address: &str| person.types(&["cap", "center", "config", "team", address]);
    config("types.git//types#none").fails(1, &["git cannot read", "none", "check address, branch, folder"]);
    config("types.git//none").fails(1, &["git cannot read"]);
    config("types.git").fails(1, &["secret.yaml"]);
    let mut without = person.command(&["cap", "center", "sync"]);
    let said = crate::CommandOutput::of(&without.env("PATH", "").output().unwrap());
    said.fails(3, &["git is not installed"]);
}

#[test]
fn types_are_listed_by_what_they_are_for() {
    let person = with_center();
    person.types(&["cap", "install", "team/marked", "-n", "default"]).ok();
    let names = |words: &[&str]| {
        let said = person.types(&[words, &["-o", "name"]].concat()).ok();
        said.out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let components = names(&["components"]);
    assert!(components.contains(&"webservice".to_owned()) && !components.contains(&"page".to_owned()));
    assert_eq!(names(&["component"]), components);
    let traits = names(&["traits"]);
    assert_eq!(traits.first().map(String::as_str), Some("marked"), "the namespace's own stand first");
    assert!(traits.contains(&"scaler".to_owned()) && !traits.contains(&"webservice".to_owned()));
    // `marked` is for pages and Jobs: `task` makes these, `webservice` none.
    assert!(names(&["traits", "--apply-to", "task"]).contains(&"marked".to_owned()));
    assert!(!names(&["traits", "--apply-to", "webservice"]).contains(&"marked".to_owned()));
    assert!(names(&["trait", "--apply-to", "webservice"]).contains(&"scaler".to_owned()));
    assert!(!names(&["workloads"]).is_empty());
    let table = person.types(&["traits"]).ok().out;
    assert!(table.starts_with("NAME") && table.contains("page,jobs.batch"), "{table}");
    person.types(&["scopes", "-o", "json"]).ok();

    assert_eq!(names(&["components", "--discover"]), ["team/page"]);
    assert_eq!(names(&["traits", "--discover"]), ["team/marked"]);
    assert!(names(&["workloads", "--discover"]).is_empty());
    let rows = json(&person.types(&["traits", "--discover", "-n", "default", "-o", "json"]).ok().out);
    assert_eq!((&rows[0]["status"], &rows[0]["appliesTo"]), (&json!("installed"), &json!("page,jobs.batch")));
    person.types(&["traits", "--discover", "--apply-to", "x"]).fails(2, &["cannot be used with"]);
}
