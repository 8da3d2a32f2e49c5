//! `vela ls --watch` and `vela status --watch`: what changes is printed again, until Ctrl-C or the end of the time.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::inside::{answers, kubeconfig};
use crate::verbs::{answer, respond, serve};
use crate::{PAGE, Person, site};

/// Longer than any change takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command that goes on, and the lines that it prints.
struct Watching {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Watching {
    fn start(person: &Person, words: &[&str]) -> Self {
        let mut command = person.command(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines, seen: Vec::new() }
    }

    /// The next line that is as the test wants it.
    #[track_caller]
    fn says(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            assert!(line.is_ok(), "{what} is not said:\n{}", self.seen.join("\n"));
            let line = line.unwrap();
            self.seen.push(line.clone());
            if is_it(&line) {
                return line;
            }
        }
    }

    /// Its exit code and what it said about the run.
    fn ends(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }

    fn interrupt(self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        self.ends()
    }
}

/// The words of a line.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn a_watched_list_prints_what_changes() {
    let person = Person::new();
    person.write("page.yaml", PAGE);
    person.write("site.yaml", site(false));
    person.types(&["up", "page.yaml", "site.yaml", "--timeout", "60s"]).ok();

    let mut list = Watching::start(&person, &["ls", "-w"]);
    let heading = list.says("the heading", |line| line.starts_with("APP "));
    assert_eq!(words(&heading)[..5], ["APP", "COMPONENT", "TYPE", "TRAITS", "PHASE"]);
    let first = list.says("what is there", |line| line.starts_with("site "));
    assert!(words(&first).starts_with(&["site", "front", "page", "running", "healthy"]), "{first}");
    // Another command works in the same sandbox meanwhile.
    person.write("two.yaml", site(false).replace("name: site", "name: two").replace("front", "back"));
    person.types(&["up", "two.yaml", "--timeout", "60s"]).ok();
    let running = list.says("the new one", |line| line.starts_with("two ") && line.contains("healthy"));
    assert_eq!(running.find("back"), heading.find("COMPONENT"), "it stands in the columns of the table");
    person.types(&["delete", "two"]).ok();
    list.says("that it is gone", |line| words(line) == ["two", "deleted"]);
    // Each line is other than the one before it of the same component, and what does not change is not printed again.
    assert_eq!(list.seen.iter().filter(|line| line.starts_with("site ")).count(), 1, "{:?}", list.seen);
    let (code, said) = list.interrupt();
    assert_eq!((code, said.contains("error")), (Some(0), false), "{said}");
    // The sandbox was closed in order.
    person.types(&["ls", "site"]).ok();
}

#[test]
fn a_watched_list_is_for_programs_too() {
    let person = Person::new();
    person.write("page.yaml", PAGE);
    person.write("site.yaml", site(false));
    person.types(&["up", "page.yaml", "site.yaml", "--timeout", "60s"]).ok();
    let mut list = Watching::start(&person, &["ls", "site", "--watch", "-o", "json"]);
    let phase = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        (value["metadata"]["name"].clone(), value["status"]["status"].clone())
    };
    let first = list.says("the application", |_| true);
    assert_eq!(phase(&first), (json!("site"), json!("running")));
    person.types(&["delete", "site"]).ok();
    list.says("that it is gone", |line| phase(line) == (json!("site"), json!("deleted")));
    assert_eq!(list.interrupt().0, Some(0));
    person.types(&["ls", "site", "-w"]).fails(1, &["no application \"site\" in namespace default"]);
}

#[test]
fn a_watched_status_prints_what_changes() {
    let person = Person::new();
    person.write("page.yaml", PAGE);
    person.write("site.yaml", site(false));
    person.types(&["up", "page.yaml", "site.yaml", "--timeout", "60s"]).ok();

    let mut status = Watching::start(&person, &["status", "site", "-w", "--timeout", "10m"]);
    status.says("the whole status", |line| line.contains("Service front"));
    let mut pods = Watching::start(&person, &["status", "site", "--pod", "-w"]);
    pods.says("the heading", |line| line.starts_with("COMPONENT "));
    let former: Vec<String> =
        (0..2).map(|_| words(&pods.says("a pod", |line| line.starts_with("front ")))[1].to_owned()).collect();
    person.write("site.yaml", site(false).replace("replicas: 2", "replicas: 3"));
    person.types(&["up", "site.yaml", "--timeout", "60s"]).ok();
    status.says("the new revision", |line| words(line) == ["Revision", "site-v2"]);
    let is_new = |line: &str| words(line).get(1).is_some_and(|name| !former.contains(&(*name).to_owned()));
    let pod = pods.says("the third pod", |line| is_new(line) && line.contains("Running"));
    assert!(pod.starts_with("front ") && pod.contains("1/1"), "{pod}");
    person.types(&["delete", "site"]).ok();
    let (code, said) = status.ends();
    assert_eq!((code, said.contains("Application site was deleted.")), (Some(0), true), "{said}");
    assert_eq!(pods.ends().0, Some(0));
}

#[test]
fn a_watched_status_ends_with_its_time() {
    let person = Person::new();
    person.write("page.yaml", PAGE);
    person.write("site.yaml", site(false));
    person.types(&["up", "page.yaml", "site.yaml", "--timeout", "60s"]).ok();
    let said = person.types(&["status", "site", "-w", "--timeout", "1s", "-o", "json"]).ok();
    let first: Value = serde_json::from_str(said.out.lines().next().unwrap()).unwrap();
    assert_eq!(first["tree"]["children"][0]["name"], "front", "{said:?}");
    let said = person.types(&["status", "site", "-w", "--timeout", "1s", "-o", "yaml"]).ok();
    assert!(said.out.starts_with("---\nstatus:\n") && said.out.contains("\ntree:\n"), "{said:?}");
    person.types(&["status", "site", "--timeout", "1s"]).fails(2, &["--watch"]);
}

/// A server whose watch of applications tells one change and is lost, then forgets its version: the second list has another
/// application.
fn forgetful() -> String {
    let application = |name: &str, phase: &str, version: &str| {
        json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": version},
            "spec": {"components": [{"name": "front", "type": "page"}]}, "status": {"status": phase},
        })
    };
    let list = |kind: &str, items: Value| {
        let list = json!({"kind": format!("{kind}List"), "apiVersion": "core.oam.dev/v1beta1", "metadata": {"resourceVersion": "5"}, "items": items});
        answer("200 OK\r\ncontent-type: application/json", &list.to_string())
    };
    let others = list("ApplicationConfiguration", json!([]));
    let lists = [
        list("Application", json!([application("shop", "running", "1")])),
        list("Application", json!([application("late", "running", "7")])),
    ];
    let changed = json!({"type": "MODIFIED", "object": application("shop", "workflowSuspending", "6")});
    let gone = json!({"type": "ERROR", "object": {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": "Expired", "message": "too old", "code": 410}});
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut watches, mut open) = (0, Vec::<TcpStream>::new());
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 4096];
            let length = stream.peek(&mut bytes).unwrap();
            let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
            let path = request.split_whitespace().nth(1).unwrap_or_default();
            let is_watch = path.contains("watch=true");
            let of_applications = path.contains("/namespaces/default/applications?");
            let event = match (is_watch, of_applications, watches) {
                (true, true, 0) => Some(&changed),
                (true, true, 1) => Some(&gone),
                _ => None,
            };
            if is_watch {
                watches += u32::from(of_applications);
                assert!(stream.read(&mut bytes).unwrap() > 0);
                let body = event.map_or(String::new(), |event| format!("{event}\n"));
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
                // A watch that tells nothing stays open.
                open.extend(Some(stream).filter(|_| event.is_none()));
            } else if of_applications {
                let list = lists[usize::from(watches >= 2)].clone();
                respond(stream, &[("/apis/core.oam.dev/v1beta1/namespaces/default/applications", list)]);
            } else if path.contains("/namespaces/default/applicationconfigurations?") {
                respond(stream, &[("/apis/core.oam.dev/v1alpha2", others.clone())]);
            } else {
                respond(stream, &answers());
            }
        }
    });
    place
}

#[test]
fn a_watch_that_is_lost_begins_again() {
    let person = Person::new();
    person.write("kubeconfig", kubeconfig(&forgetful()));
    let mut list = Watching::start(&person, &["--kubeconfig", "kubeconfig", "ls", "-w"]);
    list.says("what is there", |line| words(line).starts_with(&["shop", "front", "page", "running"]));
    list.says("the change", |line| words(line) == ["shop", "front", "page", "workflowSuspending"]);
    // In which order what came and what went are told does not matter.
    let is_late = |line: &str| words(line).starts_with(&["late", "front", "page", "running"]);
    let is_gone = |line: &str| words(line) == ["shop", "deleted"];
    list.says("what came or went meanwhile", |line| is_late(line) || is_gone(line));
    list.says("the other", |line| is_late(line) || is_gone(line));
    assert_eq!(list.seen.len(), 5, "{:?}", list.seen);
    assert_eq!(list.interrupt().0, Some(0));
}

#[test]
fn a_watch_that_is_refused_names_the_missing_right() {
    let text = "applications.core.oam.dev is forbidden: User \"ann\" cannot watch resource \"applications\" in API group \
                \"core.oam.dev\" in the namespace \"default\"";
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403, "message": text});
    let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": []})
        .to_string();
    let listed = || answer("200 OK\r\ncontent-type: application/json", &list);
    let mut all = vec![
        (
            "/apis/core.oam.dev/v1beta1/namespaces/default/applications?&watch=true",
            answer("403 Forbidden\r\ncontent-type: application/json", &status.to_string()),
        ),
        ("/apis/core.oam.dev/v1beta1/namespaces/default/applications?", listed()),
        ("/apis/core.oam.dev/v1alpha2/namespaces/default/applicationconfigurations?&limit", listed()),
    ];
    all.extend(answers());
    let person = Person::new();
    person.write("kubeconfig", kubeconfig(&serve(all)));
    let said = person.types(&["--kubeconfig", "kubeconfig", "ls", "-w"]);
    said.fails(4, &["cannot watch resource", "the right to watch applications.core.oam.dev"]);
}

#[test]
fn a_reader_that_has_enough_ends_a_watch() {
    let person = Person::new();
    person.write("kubeconfig", kubeconfig(&forgetful()));
    let mut command = person.command(&["--kubeconfig", "kubeconfig", "ls", "--watch", "-o", "name"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "application.core.oam.dev/shop\n");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
