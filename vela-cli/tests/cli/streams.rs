//! `vela exec` and `vela port-forward` against a server that speaks the WebSocket protocols of Kubernetes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::{Value, json};
use tungstenite::handshake::server::{Request, Response};
use tungstenite::{Message, WebSocket};

use crate::inside::{answers, kubeconfig};
use crate::pty::Pty;
use crate::verbs::{answer, respond};
use crate::{CommandOutput, Person};

/// Longer than any answer takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(20);
/// What a kubelet sends to say that a stream has ended (v5).
const CLOSE: u8 = 255;

/// A person whose cluster has pods that run, which speaks this version of the protocol.
fn with_cluster(protocol: &'static str) -> Person {
    let refusal = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403,
        "message": "pods \"web-1-b\" is forbidden: User \"ann\" cannot create resource \"pods/exec\" in API group \"\" in the namespace \"default\""});
    let mut answers = answers();
    let refused = "/api/v1/namespaces/default/pods/web-1-b/exec";
    answers.insert(
        0,
        (refused, answer("403 Forbidden\r\ncontent-type: application/json", &refusal.to_string())),
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let person = Person::new();
    person.write("kubeconfig", kubeconfig(&format!("http://{}", listener.local_addr().unwrap())));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let head = head(&stream);
            let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
            match head.to_lowercase().contains("upgrade: websocket") && !path.starts_with(refused) {
                true => drop(std::thread::spawn(move || serve(stream, &path, protocol))),
                false => respond(stream, &answers),
            }
        }
    });
    person
}

/// The head of the request, which stays to be read.
fn head(stream: &TcpStream) -> String {
    let mut bytes = [0; 4096];
    let mut length = 0;
    for _ in 0..1_000_000 {
        let seen = stream.peek(&mut bytes).unwrap_or(0);
        if seen == 0 || bytes[..seen].windows(4).any(|end| end == b"\r\n\r\n") {
            return String::from_utf8_lossy(&bytes[..seen]).into_owned();
        }
        // The rest is under way.
        if seen == length {
            std::thread::yield_now();
        }
        length = seen;
    }
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

fn serve(stream: TcpStream, path: &str, protocol: &'static str) {
    // The result type is that of the library.
    #[allow(clippy::result_large_err)]
    let choose = |request: &Request, mut response: Response| {
        let offered = request.headers()["sec-websocket-protocol"].to_str().unwrap();
        assert!(offered.contains("v5.channel.k8s.io") && offered.contains("v4.channel.k8s.io"), "{offered}");
        response.headers_mut().insert("sec-websocket-protocol", protocol.parse().unwrap());
        Ok(response)
    };
    let mut socket = tungstenite::accept_hdr(stream, choose).unwrap();
    match path.contains("/portforward?") {
        true => port(&mut socket, path),
        false => command(&mut socket, path),
    }
}

fn send(socket: &mut WebSocket<TcpStream>, channel: u8, bytes: &[u8]) {
    // A client that has gone is no failure of the server.
    let _ = socket.send(Message::binary([&[channel][..], bytes].concat()));
}

/// What comes next on any channel; nothing where the client has gone.
fn next(socket: &mut WebSocket<TcpStream>) -> Option<Vec<u8>> {
    loop {
        match socket.read() {
            Ok(Message::Binary(bytes)) => return Some(bytes.to_vec()),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

fn end(socket: &mut WebSocket<TcpStream>, status: &Value) {
    send(socket, 3, status.to_string().as_bytes());
    let _ = socket.close(None);
    while socket.read().is_ok() {}
}

/// The container web has these programs.
fn command(socket: &mut WebSocket<TcpStream>, path: &str) {
    let words: Vec<&str> = path.split('&').filter_map(|part| part.strip_prefix("command=")).collect();
    // A kubelet begins with an empty message on each channel.
    [1, 2, 3].into_iter().for_each(|channel| send(socket, channel, b""));
    let success = json!({"metadata": {}, "status": "Success"});
    match words[..] {
        ["hello"] => {
            send(socket, 1, b"to out\n");
            send(socket, 2, b"to err\n");
            // More than fits into a pipe at once.
            send(socket, 1, &[b'x'; 300_000]);
            send(socket, 1, b"\n");
            end(socket, &success);
        }
        ["exit", code] => {
            send(socket, 1, path.contains("container=helper").to_string().as_bytes());
            let details = json!({"causes": [{"reason": "ExitCode", "message": code}]});
            end(
                socket,
                &json!({"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode", "details": details,
                "message": format!("command terminated with non-zero exit code: exit status {code}")}),
            );
        }
        ["cat"] => {
            while let Some(message) = next(socket) {
                match message[..] {
                    [0, ref bytes @ ..] => send(socket, 1, bytes),
                    [CLOSE, 0] => return end(socket, &success),
                    _ => {}
                }
            }
        }
        ["drop"] => send(socket, 1, b"half"),
        ["size"] => {
            while let Some(message) = next(socket) {
                match message[..] {
                    [4, ref size @ ..] => send(socket, 1, &[size, &b"\n"[..]].concat()),
                    [0, key] => {
                        send(socket, 1, format!("key {key}\n").as_bytes());
                        return end(socket, &success);
                    }
                    _ => {}
                }
            }
        }
        _ => end(
            socket,
            &json!({"metadata": {}, "status": "Failure", "reason": "InternalError", "code": 500,
            "message": "exec: \"nothing\": executable file not found in $PATH"}),
        ),
    }
}

/// Port 8080 of each pod answers in capitals, no other one is listened on.
fn port(socket: &mut WebSocket<TcpStream>, path: &str) {
    let port: u16 = path.rsplit_once('=').unwrap().1.parse().unwrap();
    [0, 1].into_iter().for_each(|channel| send(socket, channel, &port.to_le_bytes()));
    if port != 8080 {
        send(socket, 1, b"dial tcp4 127.0.0.1: connect: connection refused");
        let _ = socket.close(None);
    }
    while let Some(message) = next(socket) {
        send(socket, 0, &message[1..].to_ascii_uppercase());
    }
}

fn exec(person: &Person, words: &[&str]) -> Command {
    person.command(&[&["--kubeconfig", "kubeconfig", "exec", "shop"], words].concat())
}

fn runs(person: &Person, words: &[&str]) -> CommandOutput {
    CommandOutput::of(&exec(person, words).output().unwrap())
}

#[test]
fn a_command_has_its_streams_and_its_exit_code() {
    for protocol in ["v5.channel.k8s.io", "v4.channel.k8s.io"] {
        let person = with_cluster(protocol);
        let said = runs(&person, &["--", "hello"]).ok();
        assert!(said.out.starts_with("to out\nxxx") && said.out.len() == 300_008, "{}", said.out.len());
        assert_eq!(said.err, "Pod web-1-a is one of 2 that run; --pod chooses another.\nto err\n");
        let said = runs(&person, &["-p", "web-1-a", "-c", "helper", "--", "exit", "3"]);
        assert_eq!(said.out, "true", "the container is named");
        said.fails(3, &["error: the command ended with exit code 3"]);
        let said = runs(&person, &["-p", "web-1-a", "--component", "front", "--", "exit", "137"]);
        assert_eq!(said.out, "false", "the first container is meant");
        said.fails(137, &["exit code 137"]);
    }
}

#[test]
fn standard_input_is_passed_on_to_its_end() {
    let person = with_cluster("v5.channel.k8s.io");
    let mut command = exec(&person, &["-p", "web-1-a", "-i", "--", "cat"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let input = "0123456789".repeat(20_000);
    let (mut stdin, bytes) = (child.stdin.take().unwrap(), input.clone());
    let writer = std::thread::spawn(move || stdin.write_all(bytes.as_bytes()).unwrap());
    let said = CommandOutput::of(&child.wait_with_output().unwrap()).ok();
    writer.join().unwrap();
    assert_eq!((said.out.len(), said.out == input), (input.len(), true));
    assert_eq!(said.err, "");
}

#[test]
fn what_keeps_a_command_from_running_is_told() {
    let person = with_cluster("v5.channel.k8s.io");
    let said = runs(&person, &["-p", "web-1-a", "--", "drop"]);
    assert_eq!(said.out, "half", "what came before is shown");
    said.fails(
        4,
        &["container web of pod web-1-a ended before the command said how it ended", "may still run"],
    );
    let said = runs(&person, &["-p", "web-1-a", "--", "nothing"]);
    said.fails(4, &["did not run in container web of pod web-1-a: exec: \"nothing\"", "/bin/sh"]);
    let said = runs(&person, &["-p", "web-1-b", "--", "hello"]);
    said.fails(4, &["ann", "ask an administrator for the right to create pods/exec"]);
    let said = runs(&person, &["-p", "web-1-b", "-c", "helper", "--", "hello"]);
    said.fails(1, &["container helper of pod web-1-b does not run: waiting (ContainerCreating)"]);
    runs(&person, &["-p", "web-1-a", "-c", "db", "--", "hello"])
        .fails(1, &["pod web-1-a has no container \"db\"", "there are web, helper"]);
    runs(&person, &["--component", "back", "--", "hello"])
        .fails(1, &["component \"back\" of shop has no pod", "web-1-a (component front)"]);
    runs(&person, &["-p", "stranger", "--", "hello"]).fails(1, &["shop has no pod \"stranger\""]);
    runs(&person, &["-t", "--", "hello"]).fails(1, &["--tty (-t) needs a terminal", "leave out -t"]);
    runs(&person, &["hello"]).fails(2, &["-- <COMMAND>"]);
    runs(&person, &[]).fails(2, &["<COMMAND>"]);
}

#[test]
fn a_command_gets_the_terminal_with_its_size() {
    let person = with_cluster("v5.channel.k8s.io");
    let mut pty = Pty::open();
    pty.resize(77, 33);
    let mut command = exec(&person, &["-i", "-t", "-p", "web-1-a", "--", "size"]);
    command.stdin(pty.terminal.try_clone().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(out.next().unwrap().unwrap(), r#"{"Width":77,"Height":33}"#);
    pty.resize(100, 40);
    kill_process(Pid::from_child(&child), Signal::WINCH).unwrap();
    assert_eq!(out.next().unwrap().unwrap(), r#"{"Width":100,"Height":40}"#);
    // Ctrl-C is a key of the command, not the end of this program. The keyboard lives on: without it the terminal is gone.
    pty.keyboard.write_all(b"\x03").unwrap();
    assert_eq!(out.next().unwrap().unwrap(), "key 3");
    assert!(child.wait().unwrap().success());
    let modes = tcgetattr(&pty.terminal).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "the terminal is as it was: {modes:?}");
}

/// Forwarded ports, until this is dropped.
struct Forwarded {
    child: Child,
    lines: Vec<String>,
}

impl Forwarded {
    fn new(person: &Person, words: &[&str], lines: usize) -> Self {
        let mut command =
            person.command(&[&["--kubeconfig", "kubeconfig", "port-forward", "shop"], words].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.as_mut().unwrap());
        let lines = out.lines().take(lines).map(Result::unwrap).collect();
        Self { child, lines }
    }

    fn connect(&self, line: usize) -> TcpStream {
        let address = self.lines[line].split_whitespace().nth(1).unwrap();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Ends it as Ctrl-C does; what it said comes back.
    fn stop(self) -> CommandOutput {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        CommandOutput::of(&self.child.wait_with_output().unwrap())
    }
}

#[test]
fn ports_are_forwarded_until_they_are_stopped() {
    let person = with_cluster("v4.channel.k8s.io");
    let forwarded = Forwarded::new(&person, &[":http", ":9999", "--component", "front"], 2);
    assert!(
        forwarded.lines[0].ends_with(" to port 8080 of pod web-1-a (component front)"),
        "{:?}",
        forwarded.lines
    );
    // Several connections at once, and a client that has said all still gets its answer.
    let mut all: Vec<TcpStream> = (0..3).map(|_| forwarded.connect(0)).collect();
    for (index, stream) in all.iter_mut().enumerate() {
        stream.write_all(format!("hello {index}").as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
    for (index, stream) in all.iter_mut().enumerate() {
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), format!("HELLO {index}"));
    }
    let mut refused = forwarded.connect(1);
    assert_eq!(refused.read(&mut [0; 8]).unwrap_or(0), 0, "the pod does not listen there");
    let said = forwarded.stop().ok();
    assert!(said.err.contains("Ctrl-C stops it.") && said.err.contains("connection refused"), "{said:?}");
    assert!(said.err.contains("A connection to 127.0.0.1:") && said.err.contains("pod web-1-a"), "{said:?}");
}

#[test]
fn a_service_is_forwarded_by_its_ports() {
    let person = with_cluster("v5.channel.k8s.io");
    let forwarded = Forwarded::new(&person, &["--service", "web", ":80", ":front"], 2);
    for line in 0..2 {
        assert!(forwarded.lines[line].ends_with(" to port 8080 of pod web-1-a (Service web)"));
        let mut stream = forwarded.connect(line);
        stream.write_all(b"ping").unwrap();
        let mut answer = [0; 4];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"PING");
    }
    forwarded.stop().ok();
}

#[test]
fn ports_that_cannot_be_forwarded_are_told() {
    let person = with_cluster("v5.channel.k8s.io");
    let said = |words: &[&str]| {
        person.types(&[&["--kubeconfig", "kubeconfig", "port-forward", "shop"], words].concat())
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    said(&[&format!("{port}:http")]).fails(
        3,
        &[&format!("127.0.0.1:{port} of this machine cannot be listened on"), ":8080 for a free port"],
    );
    said(&["8080:grpc"]).fails(1, &["pod web-1-a has no TCP port grpc", "there are 8080"]);
    said(&["--service", "web", "9:8080"]).fails(1, &["Service web has no TCP port 8080", "there are 80"]);
    said(&["--service", "db"])
        .fails(1, &["shop has no Service \"db\" in namespace default", "vela status shop"]);
    said(&["0:80"]).fails(2, &["expected LOCAL:REMOTE, PORT or :REMOTE"]);
    said(&["--address", "home", "80"]).fails(2, &["invalid IP address"]);
    let many: Vec<String> = (1..=33).map(|port| format!(":{port}")).collect();
    said(&many.iter().map(String::as_str).collect::<Vec<_>>())
        .fails(1, &["33 ports are too many: at most 32"]);
}
