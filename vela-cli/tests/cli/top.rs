//! `vela top` on a terminal: a person looks into applications by keys, and gets the terminal back however it ends.

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::{Value, json};

use crate::inside::{answers, kubeconfig, resources};
use crate::pty::Driven;
use crate::verbs::{answer, serve};
use crate::{PAGE, Person, site};

const DOWN: &str = "\x1b[B";

/// The line of a screen that the cursor is on.
fn cursor(screen: &str) -> &str {
    screen.lines().find(|line| line.starts_with("> ")).unwrap_or_default()
}

/// The terminal is as it was: usual screen, cursor, lines and echo.
#[track_caller]
fn ends_well(driven: Driven) {
    let terminal = driven.pty.terminal.try_clone().unwrap();
    let (status, said, picture) = driven.ends();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(!picture.is_alternate && picture.has_cursor, "{said}");
    let modes = tcgetattr(&terminal).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG), "{modes:?}");
}

#[test]
fn keys_lead_from_applications_to_events_and_back() {
    let person = Person::new();
    person.write("site/page.yaml", PAGE);
    person.write("site/app.yaml", site(false));
    person.types(&["up", "-f", "site", "--timeout", "60s"]).ok();

    let mut top = Driven::start(person.command(&["top"]), 80, 24);
    let screen = top.shows("the application", |screen| cursor(screen).contains("running"));
    assert!(screen.starts_with("vela top  namespace default of the local sandbox, pods are simulated\n"));
    assert!(cursor(&screen).starts_with("> site   running   healthy"), "{screen}");
    assert!(screen.ends_with("?: help   q: end"), "{screen}");
    top.types("?");
    top.shows("the help", |screen| screen.contains("Shift-Tab") && screen.ends_with("any key: back"));
    top.types("x\r");
    let screen = top.shows("the objects", |screen| screen.contains("Deployment front"));
    assert!(cursor(&screen).starts_with("> Application site"), "{screen}");
    assert!(screen.contains("component front") && screen.contains("Service front"), "{screen}");
    // Only the row that is searched for stays, and its pods are those of its component.
    top.types("/deploy\r");
    let screen = top.shows("the one object", |screen| cursor(screen).contains("Deployment front"));
    assert!(!screen.contains("Service front"), "{screen}");
    top.types("\r");
    let screen = top.shows("the pods", |screen| screen.contains("> front-"));
    assert_eq!(screen.matches("1/1").count(), 2, "{screen}");
    assert!(screen.contains("Applications > site > pods of front"), "{screen}");
    let first = cursor(&screen).to_owned();
    top.types(DOWN);
    top.shows("the second pod", |screen| !cursor(screen).is_empty() && cursor(screen) != first);
    top.types("\r");
    top.shows("its events", |screen| screen.contains("Scheduled") && screen.contains("events of front-"));
    top.types("\t");
    top.shows("that there is no log", |screen| screen.contains("The pods of the sandbox are simulated"));
    // Others change the sandbox meanwhile, and the change is shown by itself.
    top.types("qqq");
    top.shows("the applications", |screen| screen.contains("> site"));
    person.write("two.yaml", site(false).replace("name: site", "name: two").replace("front", "back"));
    person.types(&["up", "two.yaml", "--timeout", "60s"]).ok();
    top.shows("the second application", |screen| screen.contains("\n  two    running"));
    top.types("q");
    ends_well(top);
}

/// A cluster whose pods have logs, one line of which is hostile.
fn with_logs() -> (Person, Vec<String>) {
    let list = |kind: &str, version: &str, items: Value| {
        let list = json!({"kind": kind, "apiVersion": version, "metadata": {}, "items": items});
        answer("200 OK\r\ncontent-type: application/json", &list.to_string())
    };
    let application = json!({"metadata": {"name": "shop", "namespace": "default"}, "spec": {"components": [{"name": "front"}]},
        "status": {"status": "running", "conditions": [{"type": "Workflow", "status": "False", "message": "waits \u{1b}[2J\u{9b}2J for it"}]}});
    let event = json!({"metadata": {"name": "e", "namespace": "default"}, "type": "Warning", "reason": "BackOff",
        "message": "again and \u{1b}]0;title\u{7}again", "count": 7, "lastTimestamp": "2026-01-01T00:00:00Z"});
    let mut all = answers();
    let pods: Vec<&str> = all
        .iter()
        .filter(|(path, _)| *path == "/api/v1/namespaces/default/pods")
        .map(|(_, text)| text.as_str())
        .collect();
    let body = pods[0].split_once("\r\n\r\n").unwrap().1;
    let pod = serde_json::from_str::<Value>(body).unwrap()["items"][0].clone();
    all.retain(|(path, _)| !path.contains("/log?") && *path != "/api/v1");
    let oam = "/apis/core.oam.dev";
    let core = "/api/v1/namespaces/default";
    let mut path = |text: String, answer: String| all.insert(0, (text.leak(), answer));
    path(
        format!("{core}/pods/web-1-a"),
        answer("200 OK\r\ncontent-type: application/json", &pod.to_string()),
    );
    let log =
        "2026-01-01T00:00:00Z one\n2026-01-01T00:00:01Z \u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}two\n";
    path(
        format!("{core}/pods/web-1-a/log?&container=web&tailLines=500&timestamps=true"),
        answer("200 OK", log),
    );
    path(
        format!("{core}/events?&fieldSelector=involvedObject.kind%3DPod%2CinvolvedObject.name%3Dweb-1-a"),
        list("EventList", "v1", json!([event])),
    );
    path(
        format!("{oam}/v1beta1/namespaces/default/applications?"),
        list("ApplicationList", "core.oam.dev/v1beta1", json!([application])),
    );
    path(
        format!("{oam}/v1alpha2/namespaces/default/applicationconfigurations?"),
        list("ApplicationConfigurationList", "core.oam.dev/v1alpha2", json!([])),
    );
    let kinds = [("pods", "Pod"), ("services", "Service"), ("events", "Event")];
    all.push(("/api/v1", answer("200 OK\r\ncontent-type: application/json", &resources("v1", &kinds))));
    let person = Person::new();
    person.write("kubeconfig", kubeconfig(&serve(all)));
    (person, ["--kubeconfig", "kubeconfig", "top"].map(str::to_owned).to_vec())
}

#[test]
fn events_and_logs_of_a_cluster_are_harmless() {
    let (person, words) = with_logs();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut top = Driven::start(person.command(&words), 120, 30);
    let screen = top.shows("the application", |screen| cursor(screen).contains("shop"));
    assert!(screen.contains("Workflow: waits"), "{screen}");
    top.types("\r");
    top.shows("the object", |screen| screen.contains("Deployment web"));
    top.types("\r");
    top.shows("the pods", |screen| cursor(screen).contains("web-1-a"));
    top.types("l");
    let screen = top.shows("the log", |screen| screen.contains("one\n"));
    assert!(screen.contains("Applications > shop > pods > log of web-1-a web"), "{screen}");
    assert!(screen.lines().any(|line| line.starts_with("red ") && line.ends_with("two")), "{screen}");
    top.types("q");
    top.shows("the pods", |screen| cursor(screen).contains("web-1-a"));
    top.types("e");
    let screen = top.shows("the events", |screen| screen.contains("BackOff"));
    assert!(cursor(&screen).contains("Warning   BackOff   (7 times) again and"), "{screen}");
    // A smaller terminal gets a smaller screen.
    top.pty.resize(40, 10);
    kill_process(Pid::from_child(&top.child), Signal::WINCH).unwrap();
    top.shows("the keys in the tenth line", |screen| {
        screen.lines().nth(9).is_some_and(|line| line.starts_with("Tab: next log"))
    });
    top.types("\x03");
    ends_well(top);
}

#[test]
fn signals_end_it_with_the_terminal_as_it_was() {
    let (person, words) = with_logs();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    for signal in [Signal::TERM, Signal::INT] {
        let mut top = Driven::start(person.command(&words), 80, 24);
        top.shows("the application", |screen| cursor(screen).contains("shop"));
        kill_process(Pid::from_child(&top.child), signal).unwrap();
        ends_well(top);
    }
}

#[test]
fn it_is_refused_where_it_has_no_terminal_or_cluster() {
    let person = Person::new();
    let said = person
        .types(&["top"])
        .fails(1, &["`vela top` needs a terminal", "`vela ls -A`", "`vela ls --watch`"]);
    assert!(said.out.is_empty() && !person.path("vela").exists(), "nothing was opened: {said:?}");
    person.types(&["top", "shop"]).fails(2, &["unexpected argument"]);
    // Before the terminal is taken, a failure is told as by every command.
    person.write("kubeconfig", kubeconfig("http://127.0.0.1:1"));
    let top = Driven::start(person.command(&["--kubeconfig", "kubeconfig", "top"]), 80, 24);
    let (status, said, picture) = top.ends();
    assert_eq!(status.code(), Some(4), "{said}");
    assert!(said.contains("error: ") && !picture.is_alternate, "{said}");
}
