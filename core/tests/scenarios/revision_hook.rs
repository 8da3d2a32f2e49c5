//! The custom revision hook: an answer is kept, a bad one is told, and none holds up another component.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use vela_core::{Options, Process};

use super::configuration::{component, configuration, synced};
use super::test_cluster::{TestCluster, until, until_or};

const OAM: &str = "core.oam.dev/v1alpha2";

/// What the server does with a component, by its name and the number of the request.
type Behaviour = Arc<dyn Fn(&str, usize) -> Reply + Send + Sync>;

enum Reply {
    Json(Value),
    Status(&'static str),
    Redirect(String),
    Huge,
    Never,
}

/// A hook server; the number of requests it got.
async fn server(behaviour: Behaviour) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/revision?x=1", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let requests = count.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, behaviour.clone(), requests.clone()));
        }
    });
    (address, count)
}

async fn serve(mut stream: TcpStream, behaviour: Behaviour, requests: Arc<AtomicUsize>) {
    let mut text = Vec::new();
    let body = loop {
        let mut part = [0; 4096];
        match stream.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(read) => text.extend_from_slice(&part[..read]),
        }
        let whole = String::from_utf8_lossy(&text).into_owned();
        let Some((head, body)) = whole.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length:")
                .map(|n| n.trim().parse::<usize>().unwrap())
        });
        if body.len() >= length.unwrap_or(0) {
            assert!(head.starts_with("POST /revision?x=1 "), "{head}");
            assert!(head.to_ascii_lowercase().contains("content-type: application/json"), "{head}");
            break serde_json::from_str::<Value>(body).unwrap();
        }
    };
    let number = requests.fetch_add(1, Ordering::SeqCst);
    let answer = |status: &str, head: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 {status}\r\n{head}content-length: {length}\r\nconnection: close\r\n\r\n{body}")
    };
    let text = match behaviour(body["component"]["metadata"]["name"].as_str().unwrap(), number) {
        Reply::Json(value) => answer("200 OK", "", &value.to_string()),
        Reply::Status(status) => answer(status, "", "{}"),
        Reply::Redirect(to) => answer("307 Temporary Redirect", &format!("location: {to}\r\n"), ""),
        Reply::Huge => answer("200 OK", "", &"x".repeat(3 << 20)),
        Reply::Never => std::future::pending().await,
    };
    let _ = stream.write_all(text.as_bytes()).await;
}

async fn cluster(address: &str) -> TestCluster {
    let mut cluster = TestCluster::without_controllers().await;
    let custom_revision_hook = Some(address.parse().unwrap());
    let options = Options { custom_revision_hook, concurrent_reconciles: 1, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    cluster
}

async fn refused(cluster: &TestCluster, name: &str, words: &str) {
    until_or(
        words,
        || cluster.get(OAM, "Component", name),
        |found| {
            let condition = &found.as_ref().unwrap()["status"]["conditions"][0];
            condition["status"] == "False" && condition["message"].as_str().unwrap().contains(words)
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn its_answer_is_what_the_revision_keeps() {
    let answer = json!({"metadata": {"labels": {"checked": "yes"}},
        "spec": {"workload": {"metadata": {"annotations": {"hook": "was here"}}}}});
    let (address, requests) = server(Arc::new(move |_, _| Reply::Json(answer.clone()))).await;
    let cluster = cluster(&address).await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(configuration("shop", json!([{"revisionName": "front-v1"}]))).await;
    synced(&cluster, "shop").await;
    let revision = cluster.get("apps/v1", "ControllerRevision", "front-v1").await.unwrap();
    assert_eq!(revision["data"]["metadata"]["labels"]["checked"], "yes");
    let live = cluster.deployment("front").await.unwrap();
    assert_eq!(live["metadata"]["annotations"]["hook"], "was here", "the pinned content is the hook's");
    cluster.quiet().await;
    assert_eq!(requests.load(Ordering::SeqCst), 1, "asked once for one content");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_answers_are_reported_retried_and_block_no_other() {
    let (elsewhere, stolen) = server(Arc::new(|_, _| Reply::Json(json!({})))).await;
    let behaviour = move |name: &str, _: usize| match name {
        "slow" => Reply::Never,
        "huge" => Reply::Huge,
        "moved" => Reply::Redirect(elsewhere.clone()),
        "broken" => Reply::Status("500 Internal Server Error"),
        "list" => Reply::Json(json!([])),
        _ => Reply::Json(json!({})),
    };
    let (address, _) = server(Arc::new(behaviour)).await;
    let cluster = cluster(&address).await;
    for name in ["slow", "huge", "moved", "broken", "list", "good"] {
        cluster.create(component(name, "nginx:1")).await;
    }
    until("the good one is not held up, with one worker", || async {
        cluster.get("apps/v1", "ControllerRevision", "good-v1").await.is_some()
    })
    .await;
    refused(&cluster, "huge", "its answer is larger than").await;
    refused(&cluster, "moved", "it answered 307; only 200 counts").await;
    refused(&cluster, "broken", "it answered 500; only 200 counts").await;
    refused(&cluster, "list", "the answer must be a Component as a JSON object, not an array").await;
    refused(&cluster, "slow", "no answer within").await;
    assert_eq!(stolen.load(Ordering::SeqCst), 0, "nothing is sent to another address");
    cluster.create(configuration("shop", json!([{"componentName": "broken"}]))).await;
    until_or(
        "the configuration says why it waits",
        || cluster.get(OAM, "ApplicationConfiguration", "shop"),
        |found| {
            let status = &found.as_ref().unwrap()["status"]["conditions"][0];
            status["message"].as_str().is_some_and(|message| message.contains("only 200 counts"))
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_comes_back_is_asked_again() {
    let behaviour = |_: &str, number: usize| match number {
        0..3 => Reply::Status("500 Internal Server Error"),
        _ => Reply::Json(json!({})),
    };
    let (address, requests) = server(Arc::new(behaviour)).await;
    let cluster = cluster(&address).await;
    cluster.create(component("front", "nginx:1")).await;
    cluster.create(configuration("shop", json!([{"componentName": "front"}]))).await;
    synced(&cluster, "shop").await;
    assert_eq!(requests.load(Ordering::SeqCst), 4);
    let component = cluster.get(OAM, "Component", "front").await.unwrap();
    assert_eq!(component["status"]["conditions"][0]["status"], "True");
    assert_eq!(component["status"]["latestRevision"]["name"], "front-v1");
}
