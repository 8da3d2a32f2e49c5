//! A collector of this machine that takes what is sent, and one that is away.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tracing_subscriber::layer::SubscriberExt as _;
use vela_runtime::{Action, Cache, Controller, Failure, Key, Manager, Reconciler};

use super::send::PATH;
use super::{Exporter, WAITING_AT_MOST};

/// A wait that ends in failure, far beyond what a busy machine needs.
const DEADLINE: Duration = Duration::from_secs(30);

/// Address, and every body that came.
async fn collector() -> (String, mpsc::UnboundedReceiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, bodies) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let sender = sender.clone();
            tokio::spawn(async move {
                let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
                loop {
                    let text = String::from_utf8_lossy(&bytes);
                    if let Some((head, body)) = text.split_once("\r\n\r\n") {
                        let head = head.to_ascii_lowercase();
                        let length =
                            head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
                        if body.len() >= length.unwrap_or(0_usize) {
                            assert!(head.starts_with(&format!("post {PATH} ")), "{head}");
                            assert!(head.contains("content-type: application/json"), "{head}");
                            sender.send(serde_json::from_str(body).unwrap()).unwrap();
                            stream
                                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                                .await
                                .unwrap();
                            bytes.clear();
                            continue;
                        }
                    }
                    match stream.read(&mut part).await {
                        Ok(0) | Err(_) => return,
                        Ok(read) => bytes.extend_from_slice(&part[..read]),
                    }
                }
            });
        }
    });
    (address, bodies)
}

struct Fails;

impl Reconciler for Fails {
    async fn reconcile(&self, _: Key) -> Result<Action, Failure> {
        Err(Failure::Terminal("no such thing".into()))
    }
}

fn attribute<'a>(object: &'a Value, name: &str) -> &'a Value {
    let attributes = object["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == name);
    found.map_or(&Value::Null, |found| &found["value"])
}

#[tokio::test]
async fn a_reconcile_becomes_a_span_of_the_collector() {
    let (address, mut bodies) = collector().await;
    let (exporter, spans) = Exporter::start(&address).unwrap();
    // The manager's tasks stay on this thread.
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans));
    let server = vela_apiserver::ApiServer::builder().build().unwrap();
    let client = kube::Client::new(server.service(), "default");
    let controller = Controller::new("things", Fails);
    controller.queue().add(Key::new("shop", "cart"));
    let stop = vela_core::Stop::new();
    let running =
        tokio::spawn(Manager::new(client.clone(), Cache::new(client)).with(controller).run(stop.clone()));
    let body = tokio::time::timeout(DEADLINE, bodies.recv()).await.unwrap().unwrap();
    stop.cancel();
    running.await.unwrap().unwrap();
    exporter.end().await;
    let resource = &body["resourceSpans"][0];
    assert_eq!(attribute(&resource["resource"], "service.name")["stringValue"], "vela-core");
    let spans = resource["scopeSpans"][0]["spans"].as_array().unwrap();
    let span = spans.iter().find(|span| span["name"] == "reconcile").unwrap();
    for (name, text) in
        [("controller", "things"), ("namespace", "shop"), ("name", "cart"), ("result", "error")]
    {
        assert_eq!(attribute(span, name)["stringValue"], text, "{span}");
    }
    assert_eq!(span["traceId"].as_str().map(str::len), Some(32));
    assert_eq!(span["spanId"].as_str().map(str::len), Some(16));
    assert_eq!(span["status"]["code"], 2);
    assert!(span["status"]["message"].as_str().unwrap().contains("no such thing"), "{span}");
    let time = |name: &str| span[name].as_str().unwrap().parse::<u128>().unwrap();
    assert!(
        time("startTimeUnixNano") <= time("endTimeUnixNano")
            && time("startTimeUnixNano") > 1_700_000_000_000_000_000
    );
}

#[tokio::test]
async fn nested_spans_name_their_parent_and_the_rest_goes_at_the_end() {
    let (address, mut bodies) = collector().await;
    let (exporter, spans) = Exporter::start(&address).unwrap();
    {
        let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans));
        let outer = tracing::info_span!("outer", number = 7, real = 0.5, flag = true).entered();
        tracing::info_span!("inner").in_scope(|| tracing::info!(step = "one", "went on"));
        drop(outer);
    }
    exporter.end().await;
    let body = bodies.try_recv().unwrap();
    let spans = body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let [inner, outer] = spans.as_slice() else { panic!("{spans:?}") };
    assert_eq!(
        (inner["traceId"].clone(), inner["parentSpanId"].clone()),
        (outer["traceId"].clone(), outer["spanId"].clone())
    );
    assert_eq!(outer["parentSpanId"], Value::Null);
    assert_eq!(attribute(outer, "number")["intValue"], "7");
    assert_eq!(attribute(outer, "real")["doubleValue"], 0.5);
    assert_eq!(attribute(outer, "flag")["boolValue"], true);
    assert_eq!((inner["events"][0]["name"].as_str(), inner["status"].is_null()), (Some("went on"), true));
    assert_eq!(attribute(&inner["events"][0], "step")["stringValue"], "one");
}

#[tokio::test]
async fn a_collector_that_is_away_costs_spans_and_nothing_else() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (exporter, spans) = Exporter::start(&format!("http://{unused}")).unwrap();
    let lost = Arc::clone(&spans.lost);
    let began = Instant::now();
    {
        let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans));
        for _ in 0..WAITING_AT_MOST * 3 {
            tracing::info_span!("busy").in_scope(|| {});
        }
    }
    assert!(lost.load(Ordering::Relaxed) >= (WAITING_AT_MOST * 2) as u64, "what does not fit is counted");
    exporter.end().await;
    assert!(began.elapsed() < DEADLINE, "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_address_that_is_none_is_refused() {
    for wrong in
        ["collector:4318", "ftp://collector", "http://", "not an address", "http://me:secret@collector"]
    {
        let said = Exporter::start(wrong).err().unwrap_or_default();
        assert!(
            said.contains("--otlp-endpoint") && said.contains("http://127.0.0.1:4318"),
            "{wrong}: {said}"
        );
    }
}
