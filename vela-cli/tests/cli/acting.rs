//! `--as`, `--as-group` and `--request-timeout`: in whose name a cluster is asked, and how long it may take to answer.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::json;

use crate::Person;
use crate::verbs::answer;

/// A cluster that refuses everything but its version, and says what it was asked; a silent one never answers.
fn serve(is_silent: bool) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sender = sender.clone();
            std::thread::spawn(move || respond(stream.unwrap(), &sender, is_silent));
        }
    });
    (place, asked)
}

fn respond(stream: TcpStream, asked: &Sender<String>, is_silent: bool) {
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    asked.send(head.join("\n").to_lowercase()).unwrap();
    if is_silent {
        // Until the client gives up.
        lines.for_each(drop);
        return;
    }
    let version = json!({"major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "",
        "buildDate": "", "goVersion": "", "compiler": "", "platform": ""});
    let refused = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
        "message": "User \"ada\" cannot list resource \"applications\" in API group \"core.oam.dev\" in the namespace \"shop\""});
    let said = match head[0].contains(" /version") {
        true => answer("200 OK\r\ncontent-type: application/json", &version.to_string()),
        false => answer("403 Forbidden\r\ncontent-type: application/json", &refused.to_string()),
    };
    // A client that has what it wants may be gone.
    let _ = (&stream).write_all(said.as_bytes());
}

fn kubeconfig(person: &Person, server: &str, user: &serde_json::Value) -> String {
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": server}}], "users": [{"name": "a", "user": user}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]});
    person.write("config", config.to_string())
}

#[test]
fn a_cluster_is_asked_in_the_name_of_another_user() {
    let person = Person::new();
    let (server, asked) = serve(false);
    let other = json!({"token": "t", "as": "root", "as-groups": ["system:masters"], "as-uid": "7"});
    let file = kubeconfig(&person, &server, &other);
    let words =
        ["ls", "-n", "shop", "--kubeconfig", &file, "--as", "ada", "--as-group", "dev", "--as-group", "ops"];
    person.types(&words).fails(4, &["User \"ada\" cannot list", "in the namespace shop"]);
    let all: Vec<String> = asked.try_iter().collect();
    assert!(all.len() > 1);
    for head in &all {
        for line in ["impersonate-user: ada", "impersonate-group: dev", "impersonate-group: ops"] {
            assert!(head.lines().any(|one| one == line), "{head}");
        }
        assert!(!head.contains("masters") && !head.contains("impersonate-uid"), "{head}");
    }
    // Without the flags the kubeconfig counts.
    person.types(&words[..5]).fails(4, &[]);
    let head = asked.try_iter().last().unwrap();
    assert!(head.contains("impersonate-user: root") && head.contains("impersonate-uid: 7"), "{head}");

    person.types(&["ls", "--kubeconfig", &file, "--as-group", "dev"]).fails(1, &["name the user with --as"]);
    person.types(&["ls", "--as", "ada"]).fails(3, &["--as needs a cluster"]);
    person.types(&["ls", "--sandbox", "--as", "ada"]).fails(2, &["cannot be used with"]);
}

#[test]
fn a_request_that_takes_too_long_is_given_up() {
    let person = Person::new();
    let (server, asked) = serve(true);
    let file = kubeconfig(&person, &server, &json!({}));
    person
        .types(&["ls", "--kubeconfig", &file, "--request-timeout", "1s", "--as", "ada"])
        .fails(4, &[&format!("cluster a at {server}/ as ada"), "did not answer within --request-timeout"]);
    assert_eq!(asked.try_iter().count(), 1);
    person.types(&["ls", "--request-timeout", "soon"]).fails(2, &["soon", "90s"]);
}
