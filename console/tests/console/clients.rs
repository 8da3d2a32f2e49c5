//! Programs: a client in another language that is made of the OpenAPI document, and many clients that watch.

use std::process::Command;
use std::time::{Duration, Instant};

use futures::future::join_all;
use http_body_util::BodyExt as _;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use vela_console::{Console, Options, Server};

use crate::cluster::{Cluster, access_of, application};

/// Where the client of another language is.
const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client.py");
/// Clients that watch at once.
const WATCHING: usize = 200;
/// What each of them may cost this process, which is the console, the cluster and the clients.
const BYTES_OF_ONE: u64 = 256 * 1024;
const DEADLINE: Duration = Duration::from_secs(60);

async fn serve(cluster: &Cluster) -> (Server, String) {
    let options = Options { changes_as: Some("vela-cli".to_owned()), ..Options::default() };
    let client = cluster.client();
    let made = |address| Console::new(client, options, access_of(address));
    let server = Server::start(0, made).await.unwrap();
    let cookie = format!("vela-console-{}=session", server.address().port());
    (server, cookie)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_another_language_reads_the_description() {
    let is_there = Command::new("python3").arg("--version").output().is_ok_and(|said| said.status.success());
    if !is_there {
        eprintln!("SKIPPED: python3 is not on this machine, so no client was made of the OpenAPI document");
        return;
    }
    let cluster = Cluster::with_shop().await;
    let (server, cookie) = serve(&cluster).await;
    let address = server.address().to_string();
    let run = move || Command::new("python3").arg(CLIENT).args([address, cookie]).output();
    let said = tokio::task::spawn_blocking(run).await.unwrap().unwrap();
    let (out, err) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{out}{err}");
    for words in [
        "Applications ['shop']",
        "Explain",
        "Definitions ['page']",
        "DryRun False",
        "Plan False",
        "Steer shop",
        "Deploy site",
        "Status 404",
    ] {
        assert!(out.contains(words), "{words}: {out}{err}");
    }
    server.stop().await;
}

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// A stream of the changes of applications.
async fn watch(address: std::net::SocketAddr, cookie: String) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /api/v1/watch/applications HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\nAccept: text/event-stream\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    until(&mut stream, "event: ready").await;
    stream
}

/// Reads up to these words; the time that it took.
async fn until(stream: &mut TcpStream, words: &str) -> Duration {
    let (begin, mut text, mut buffer) = (Instant::now(), String::new(), [0_u8; 4096]);
    let read = async {
        while !text.contains(words) {
            let length = stream.read(&mut buffer).await.unwrap();
            assert!(length > 0, "the stream goes on: {text}");
            text.push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    };
    tokio::time::timeout(DEADLINE, read).await.unwrap_or_else(|_| panic!("{words} did not come"));
    begin.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "200 clients: cargo test -p vela-console --test console -- two_hundred --ignored --nocapture"]
async fn two_hundred_clients_watch_and_memory_stays_bounded() {
    let cluster = Cluster::with_shop().await;
    let (server, cookie) = serve(&cluster).await;
    // What the first client and the first change bring is no cost of the others.
    let mut first = watch(server.address(), cookie.clone()).await;
    cluster.create(application("first")).await;
    until(&mut first, "\"name\":\"first\"").await;
    let before = resident();
    let mut clients = join_all((1..WATCHING).map(|_| watch(server.address(), cookie.clone()))).await;
    clients.push(first);
    for round in 0..10 {
        let name = format!("round-{round}");
        cluster.create(application(&name)).await;
        let words = format!("\"name\":\"{name}\"");
        let times = join_all(clients.iter_mut().map(|client| until(client, &words))).await;
        println!(
            "{name}: the last of {} clients heard of it after {:?}",
            times.len(),
            times.iter().max().unwrap()
        );
    }
    let grown = resident().saturating_sub(before);
    println!("{WATCHING} clients cost {} KiB each", grown / 1024 / WATCHING as u64);
    assert!(grown < BYTES_OF_ONE * WATCHING as u64, "{grown} bytes for {WATCHING} clients");
    server.stop().await;
}

#[tokio::test]
async fn more_streams_than_are_served_are_refused() {
    let cluster = Cluster::with_shop().await;
    let path = "/api/v1/watch/applications";
    let mut open = Vec::new();
    for _ in 0..256 {
        let answer = cluster.ask(http::Method::GET, path, &cluster.session()).await;
        assert_eq!(answer.status(), 200);
        open.push(answer);
    }
    let (status, said) = cluster.json(path).await;
    assert_eq!((status, &said["reason"]), (429, &json!("TooManyRequests")), "{said}");
    // A stream that ends gives its place back.
    drop(open.pop());
    let mut answer = cluster.ask(http::Method::GET, path, &cluster.session()).await;
    assert_eq!(answer.status(), 200);
    let frame = answer.body_mut().frame().await.unwrap().unwrap();
    assert!(frame.into_data().unwrap().starts_with(b"retry:"));
}
