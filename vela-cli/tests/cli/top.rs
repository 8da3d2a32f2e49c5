//! `vela top` on a terminal: a person looks into applications by keys, and gets the terminal back however it ends.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::{Value, json};

use crate::inside::{answers, kubeconfig, resources};
use crate::pty::Driven;
use crate::sandbox::until;
use crate::verbs::{answer, respond};
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

/// A cluster that keeps watches and followed logs open, and counts what it is asked.
struct Server {
    place: String,
    asked: Arc<AtomicUsize>,
    open: Arc<Mutex<Vec<(String, TcpStream)>>>,
    /// Is every request answered with 500?
    is_down: Arc<AtomicBool>,
}

/// What the connections of a server share: how many asked, those that are open, and whether the server is down.
type Shared = (Arc<AtomicUsize>, Arc<Mutex<Vec<(String, TcpStream)>>>, Arc<AtomicBool>);

/// Answers one request, or leaves the connection open for what is to be told.
fn serve(mut stream: TcpStream, answers: &[(&'static str, String)], (asked, open, is_down): &Shared) {
    let mut bytes = [0; 4096];
    let Some(length) = stream.peek(&mut bytes).ok().filter(|length| *length > 0) else { return };
    asked.fetch_add(1, Ordering::SeqCst);
    let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
    let path = request.split_whitespace().nth(1).unwrap_or_default().to_owned();
    if is_down.load(Ordering::SeqCst) {
        respond(stream, &[("/", answer("500 Internal Server Error", ""))]);
    } else if answers.iter().any(|(at, _)| at.contains("watch=true") && path.starts_with(at)) {
        respond(stream, answers);
    } else if path.contains("watch=true") || path.contains("follow=true") {
        assert!(stream.read(&mut bytes).unwrap() > 0);
        let found = answers.iter().find(|(at, _)| at.contains("follow=true") && path.starts_with(at));
        let body = found.map_or("", |(_, answer)| answer.split_once("\r\n\r\n").unwrap().1);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        open.lock().unwrap().push((path, stream));
    } else {
        respond(stream, answers);
    }
}

impl Server {
    fn start(answers: Vec<(&'static str, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { place, asked: Arc::default(), open: Arc::default(), is_down: Arc::default() };
        let answers = Arc::new(answers);
        let shared = (server.asked.clone(), server.open.clone(), server.is_down.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, answers, shared) = (stream.unwrap(), answers.clone(), shared.clone());
                // A client may open a connection that it does not use for a while: others do not wait for that.
                std::thread::spawn(move || serve(stream, &answers, &shared));
            }
        });
        server
    }

    /// Tells a line to those who watch or follow what has this in its path; there is one such at least.
    fn tells(&self, part: &str, line: &str) {
        until("it is watched", || self.is_watched(part));
        for (path, stream) in self.open.lock().unwrap().iter_mut().filter(|(path, _)| path.contains(part)) {
            // Those of pages that were left have gone.
            assert!(writeln!(stream, "{line}").is_ok() || !path.is_empty());
        }
    }

    fn is_watched(&self, part: &str) -> bool {
        self.open.lock().unwrap().iter().any(|(path, _)| path.contains(part))
    }

    /// Tells that an object is there or is other.
    fn modified(&self, part: &str, object: &Value) {
        let mut object = object.clone();
        object["metadata"]["resourceVersion"] = json!("6");
        self.tells(part, &json!({"type": "MODIFIED", "object": object}).to_string());
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// An application of the cluster of the tests.
fn shop(phase: &str) -> Value {
    json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "shop", "namespace": "default"}, "spec": {"components": [{"name": "front"}]},
        "status": {"status": phase, "conditions": [{"type": "Workflow", "status": "False", "message": "waits \u{1b}[2J\u{9b}2J for it"}]}})
}

/// A cluster whose pods have logs, one line of which is hostile.
fn with_logs() -> (Person, Vec<String>, Server) {
    with_refusals(Vec::new())
}

/// The same, where some requests are answered otherwise.
fn with_refusals(refusals: Vec<(&'static str, String)>) -> (Person, Vec<String>, Server) {
    let list = |kind: &str, version: &str, items: Value| {
        let list = json!({"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "5"}, "items": items});
        answer("200 OK\r\ncontent-type: application/json", &list.to_string())
    };
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
        format!("{core}/pods/web-1-a/log?&container=web&follow=true&tailLines=500&timestamps=true"),
        answer("200 OK", log),
    );
    path(
        format!("{core}/events?&fieldSelector=involvedObject.kind%3DPod%2CinvolvedObject.name%3Dweb-1-a"),
        list("EventList", "v1", json!([event])),
    );
    let deployment = json!({"metadata": {"name": "web", "namespace": "default", "uid": "d"}});
    path(
        "/apis/apps/v1/namespaces/default/deployments?".to_owned(),
        list("DeploymentList", "apps/v1", json!([deployment])),
    );
    path(
        format!("{oam}/v1beta1/namespaces/default/applications?"),
        list("ApplicationList", "core.oam.dev/v1beta1", json!([shop("running")])),
    );
    path(
        format!("{oam}/v1alpha2/namespaces/default/applicationconfigurations?"),
        list("ApplicationConfigurationList", "core.oam.dev/v1alpha2", json!([])),
    );
    let kinds = [("pods", "Pod"), ("services", "Service"), ("events", "Event")];
    all.push(("/api/v1", answer("200 OK\r\ncontent-type: application/json", &resources("v1", &kinds))));
    let person = Person::new();
    let server = Server::start(refusals.into_iter().chain(all).collect());
    person.write("kubeconfig", kubeconfig(&server.place));
    (person, ["--kubeconfig", "kubeconfig", "top"].map(str::to_owned).to_vec(), server)
}

#[test]
fn events_and_logs_of_a_cluster_are_harmless() {
    let (person, words, server) = with_logs();
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
    server.tells("/log?", "2026-01-01T00:00:02Z three");
    top.shows("what is written from now on", |screen| {
        cursor(screen).is_empty() && screen.contains("three\n")
    });
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
    let (person, words, _server) = with_logs();
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

/// Longer than anything was ever read again after; what asks meanwhile is counted.
const IDLE: Duration = Duration::from_millis(2_500);

#[test]
fn pages_are_shown_anew_without_a_request() {
    let (person, words, server) = with_logs();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut top = Driven::start(person.command(&words), 120, 30);
    let watched = |part: &str| until("the page is watched", || server.is_watched(part));
    let idle = |asked: usize| {
        let end = Instant::now() + IDLE;
        until("time passes", || Instant::now() >= end);
        assert_eq!(server.asked(), asked, "an idle page asks nothing");
    };
    watched("/applications?");
    watched("/applicationconfigurations?");
    top.shows("the application", |screen| cursor(screen).contains("running"));
    let asked = server.asked();
    idle(asked);
    server.modified("/applications?", &shop("workflowSuspending"));
    top.shows("the change", |screen| cursor(screen).contains("workflowSuspending"));
    assert_eq!(server.asked(), asked, "the watch has told it all");

    // The objects are read when one of them is other.
    top.types("\r");
    watched("/deployments?");
    top.shows("the objects", |screen| screen.contains("Deployment web"));
    until("everything is read", || {
        let before = server.asked();
        let end = Instant::now() + Duration::from_millis(500);
        until("time passes", || Instant::now() >= end);
        server.asked() == before
    });
    let asked = server.asked();
    let web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}});
    server.modified("/deployments?", &web);
    until("the objects are read", || server.asked() > asked);

    top.types("\r");
    for part in ["/pods?", "/replicasets?", "/jobs?"] {
        watched(part);
    }
    top.shows("the pods", |screen| cursor(screen).contains("web-1-a") && cursor(screen).contains("Running"));
    let asked = server.asked();
    idle(asked);
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "rs"}]);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1-a", "namespace": "default", "uid": "web-1-a", "ownerReferences": owner},
        "spec": {"containers": [{"name": "web"}]}, "status": {"phase": "Failed"}});
    server.modified("/pods?", &pod);
    top.shows("the change", |screen| cursor(screen).contains("Failed"));
    assert_eq!(server.asked(), asked, "the watch has told it all");

    // The age of an event grows, and that of a new one is asked from no server.
    top.types("e");
    watched("/events?");
    top.shows("the events", |screen| screen.contains("BackOff"));
    let asked = server.asked();
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "new", "namespace": "default"}, "type": "Normal",
        "reason": "Pulled", "message": "a new one", "lastTimestamp": "2026-02-01T00:00:00Z"});
    server.modified("/events?", &event);
    let screen = top.shows("the new event", |screen| screen.contains("a new one"));
    assert!(screen.contains("BackOff"), "{screen}");
    assert_eq!(server.asked(), asked, "the watch has told it all");
    top.types("\x03");
    ends_well(top);
}

#[test]
fn a_lost_watch_is_told_until_it_is_back() {
    let (person, words, server) = with_logs();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut top = Driven::start(person.command(&words), 120, 30);
    until("the page is watched", || server.is_watched("/applications?"));
    top.shows("the application", |screen| cursor(screen).contains("shop"));
    server.is_down.store(true, Ordering::SeqCst);
    server.open.lock().unwrap().clear();
    let lost = "The watch is lost and begins again";
    let screen = top.shows("that it is lost", |screen| screen.contains(lost));
    assert!(cursor(&screen).contains("shop"), "what was read stays: {screen}");
    server.is_down.store(false, Ordering::SeqCst);
    let screen = top.shows("that it is back", |screen| !screen.contains(lost));
    assert!(cursor(&screen).contains("shop"), "{screen}");
    server.modified("/applications?", &shop("workflowSuspending"));
    top.shows("the change", |screen| cursor(screen).contains("workflowSuspending"));
    top.types("q");
    ends_well(top);
}

#[test]
fn what_may_not_be_watched_is_read_and_says_so() {
    let text = "events is forbidden: User \"ann\" cannot watch resource \"events\" in API group \"\" in the namespace \"default\"";
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403, "message": text});
    let refused = answer("403 Forbidden\r\ncontent-type: application/json", &status.to_string());
    let (person, words, _server) = with_refusals(vec![(
        "/apis/core.oam.dev/v1beta1/namespaces/default/applications?&watch=true",
        refused,
    )]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut top = Driven::start(person.command(&words), 120, 30);
    let screen = top.shows("why", |screen| screen.contains("Read every 10 s, because it cannot be watched"));
    assert!(cursor(&screen).contains("shop"), "{screen}");
    top.types("q");
    ends_well(top);
}
