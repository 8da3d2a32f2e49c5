//! The webhook server against API servers, and against other clients.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use vela_runtime::metrics::Metrics;
use vela_runtime::webhook::{
    BODY_AT_MOST, CertificateSource, Config, Handler, Limits, Reply, Running, Server,
};
use vela_testkit::silent::{self, Trust};

use super::cluster::until;
use super::tls::{Authority, NAME, connect, exchange, review};

/// Answers with the number of bytes, or misbehaves where the path says so.
#[derive(Default)]
struct Judge {
    waiting: AtomicUsize,
    go: tokio::sync::Notify,
}

impl Handler for Judge {
    fn answer<'a>(&'a self, path: &'a str, body: &'a [u8]) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            match path {
                "/panic" => panic!("on purpose"),
                "/never" => std::future::pending().await,
                "/busy" => {
                    // Computes without ever waiting.
                    let end = Instant::now() + Duration::from_millis(700);
                    while Instant::now() < end {
                        std::hint::black_box(());
                    }
                }
                "/wait" => {
                    let go = self.go.notified();
                    self.waiting.fetch_add(1, Ordering::SeqCst);
                    go.await;
                }
                "/count" => {}
                _ => return Reply::failure(404, format!("no webhook at {path}")),
            }
            Reply { status: 200, body: json!({"bytes": body.len()}) }
        })
    }
}

struct Bench {
    judge: Arc<Judge>,
    metrics: Metrics,
    authority: Authority,
    running: Running,
}

impl Bench {
    async fn with(limits: Limits) -> Self {
        let (judge, metrics, authority) = (Arc::<Judge>::default(), Metrics::default(), Authority::new());
        let config = Config {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            certificates: CertificateSource::Fixed(authority.sign().pair()),
            bundles: None,
            limits,
        };
        let running = Server::new(config, judge.clone()).start(&metrics).await.unwrap();
        Self { judge, metrics, authority, running }
    }

    async fn review(&self, path: &str, body: &[u8]) -> (u16, String) {
        review(&mut self.connect().await, path, body).await
    }

    async fn connect(&self) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
        connect(self.running.address(), &self.authority.pem(), "http/1.1").await.unwrap()
    }
}

#[tokio::test]
async fn reviews_are_answered_and_counted() {
    let bench = Bench::with(Limits::default()).await;
    let mut stream = bench.connect().await;
    assert_eq!(review(&mut stream, "/count?timeout=10s", b"{}").await, (200, r#"{"bytes":2}"#.to_owned()));
    let large = vec![b' '; 3 * 1024 * 1024];
    assert_eq!(
        review(&mut stream, "/count", &large).await.1,
        r#"{"bytes":3145728}"#,
        "on the same connection"
    );
    let (status, text) = review(&mut stream, "/elsewhere", b"{}").await;
    assert_eq!((status, text.contains("no webhook at /elsewhere")), (404, true), "{text}");
    let figures = bench.metrics.text();
    assert!(
        figures.contains(r#"controller_runtime_webhook_requests_total{code="200",webhook="/count"} 2"#),
        "{figures}"
    );
    assert!(!figures.contains("elsewhere"), "clients invent no labels: {figures}");
    assert!(figures.contains("controller_runtime_webhook_requests_in_flight 0"), "{figures}");
}

#[tokio::test]
async fn http_2_is_spoken_too() {
    let bench = Bench::with(Limits::default()).await;
    let stream = connect(bench.running.address(), &bench.authority.pem(), "h2").await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = |body: &'static str| {
        let to = format!("https://{NAME}/count");
        let request = http::Request::post(to).header("content-type", "application/json");
        request.body(Full::new(bytes::Bytes::from(body))).unwrap()
    };
    let (one, two) =
        tokio::join!(sender.clone().send_request(request("{}")), sender.send_request(request("{ }")));
    let body = async |response: http::Response<hyper::body::Incoming>| {
        String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
    };
    assert_eq!(body(one.unwrap()).await, r#"{"bytes":2}"#);
    assert_eq!(body(two.unwrap()).await, r#"{"bytes":3}"#);
}

#[tokio::test]
async fn wrong_methods_types_and_sizes_are_refused() {
    let bench = Bench::with(Limits::default()).await;
    let head = format!("GET /count HTTP/1.1\r\nHost: {NAME}\r\n\r\n");
    let (status, text) = exchange(&mut bench.connect().await, head.as_bytes()).await;
    assert_eq!((status, text.contains("by POST")), (405, true), "{text}");
    let head = format!("POST /count HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 2\r\n\r\n{{}}");
    assert_eq!(exchange(&mut bench.connect().await, head.as_bytes()).await.0, 415);
    let (status, text) = bench.review("/count", &vec![b' '; BODY_AT_MOST + 1]).await;
    assert_eq!((status, text.contains("7340032 bytes at most")), (413, true), "{text}");
    assert_eq!(bench.review("/count", &vec![b' '; BODY_AT_MOST]).await.0, 200);
    // Without a length, a body is counted as it comes.
    let head = format!(
        "POST /count HTTP/1.1\r\nHost: {NAME}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let chunk = [b"800000\r\n".to_vec(), vec![b' '; 0x0080_0000], b"\r\n0\r\n\r\n".to_vec()].concat();
    assert_eq!(exchange(&mut bench.connect().await, &[head.as_bytes(), &chunk].concat()).await.0, 413);
}

#[tokio::test]
async fn bodies_share_the_memory_that_there_is() {
    let bench = Bench::with(Limits { bodies_kib: 100, ..Limits::default() }).await;
    assert_eq!(bench.review("/count", &[b' '; 150 * 1024]).await.0, 503);
    for _ in 0..3 {
        assert_eq!(bench.review("/count", &[b' '; 90 * 1024]).await.0, 200, "what was held is given back");
    }
}

#[tokio::test]
async fn a_panic_ends_its_review_and_nothing_else() {
    let bench = Bench::with(Limits { reviews: 1, ..Limits::default() }).await;
    for _ in 0..3 {
        let (status, text) = bench.review("/panic", b"{}").await;
        assert_eq!((status, text.contains("fault of ours")), (500, true), "{text}");
    }
    assert_eq!(bench.review("/count", b"{}").await.0, 200, "its place is free again");
    assert!(bench.metrics.text().contains("controller_runtime_webhook_panics_total 3"));
}

#[tokio::test]
async fn a_review_ends_before_its_client_gives_up() {
    let bench = Bench::with(Limits { reviews: 1, ..Limits::default() }).await;
    for path in ["/never", "/busy"] {
        let began = Instant::now();
        let (status, text) = bench.review(&format!("{path}?timeout=500ms"), b"{}").await;
        assert_eq!(status, 504, "{path}: {text}");
        assert!(began.elapsed() >= Duration::from_millis(400), "{path}: {:?}", began.elapsed());
    }
    assert_eq!(bench.review("/count", b"{}").await.0, 200, "both places are free again");
}

#[tokio::test]
async fn who_finds_no_place_in_time_is_told() {
    let bench = Bench::with(Limits { reviews: 1, ..Limits::default() }).await;
    let mut first = bench.connect().await;
    let waiting = review(&mut first, "/wait", b"{}");
    let second = async {
        until("the first review waits", || bench.judge.waiting.load(Ordering::SeqCst) == 1).await;
        let refused = bench.review("/count?timeout=100ms", b"{}").await;
        bench.judge.go.notify_waiters();
        refused
    };
    let ((first, _), (second, text)) = tokio::join!(waiting, second);
    assert_eq!((first, second, text.contains("under way")), (200, 503, true), "{text}");
}

#[tokio::test]
async fn a_stop_lets_the_review_under_way_end() {
    let bench = Bench::with(Limits::default()).await;
    let mut stream = bench.connect().await;
    let mut idle = bench.connect().await;
    assert_eq!(review(&mut idle, "/count", b"{}").await.0, 200);
    let Bench { judge, running, .. } = bench;
    let address = running.address();
    let stopped = async {
        until("the review waits", || judge.waiting.load(Ordering::SeqCst) == 1).await;
        let stopping = tokio::spawn(running.stop());
        until("the port is closed", || std::net::TcpStream::connect(address).is_err()).await;
        assert!(!stopping.is_finished(), "a review is under way");
        judge.go.notify_waiters();
        stopping.await.unwrap();
    };
    let ((status, _), ()) = tokio::join!(review(&mut stream, "/wait", b"{}"), stopped);
    assert_eq!(status, 200);
    assert_eq!(idle.read(&mut [0; 16]).await.unwrap_or(0), 0, "idle connections are closed");
}

#[tokio::test]
async fn garbage_and_silence_take_no_place_for_long() {
    let limits = Limits { connections: 4, first_request: Duration::from_millis(200), ..Limits::default() };
    let bench = Bench::with(limits).await;
    let mut strangers = Vec::new();
    for number in 0..4 {
        // Silent, or speaking anything but TLS.
        let mut stream = tokio::net::TcpStream::connect(bench.running.address()).await.unwrap();
        if number % 2 == 1 {
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n\x00\xff").await.unwrap();
        }
        strangers.push(stream);
    }
    assert_eq!(bench.review("/count", b"{}").await.0, 200);
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = bench.connect().await;
        stream.write_all(b"POST /count HTTP/1.1\r\nHost: a\r\n").await.unwrap();
        slow.push(stream);
    }
    assert_eq!(bench.review("/count", b"{}").await.0, 200, "headers that never end are cut off");
    let (status, _) = exchange(&mut bench.connect().await, b"\x16\x03 nonsense\r\n\r\n").await;
    assert!(status == 400 || status == 0, "{status}");
    let head = "POST /count?timeout=200ms HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    assert_eq!(exchange(&mut bench.connect().await, head.as_bytes()).await.0, 408, "a body that never ends");
    let head = format!("POST /count HTTP/1.1\r\nHost: a\r\nX-Long: {}\r\n\r\n", "x".repeat(200_000));
    let (status, _) = exchange(&mut bench.connect().await, head.as_bytes()).await;
    assert!(status == 431 || status == 0, "{status}");
    assert_eq!(bench.review("/count", b"{}").await.0, 200);
}

#[tokio::test]
async fn silent_peers_keep_no_review_from_its_answer() {
    silent::many_files().unwrap();
    let bench = Bench::with(Limits::default()).await;
    let trust = Trust::new(&bench.authority.pem(), NAME).unwrap();
    let peers = silent::peers(bench.running.address(), silent::MANY, Some(&trust)).await.unwrap();
    let (status, _) = tokio::time::timeout(silent::DEADLINE, bench.review("/count", b"{}")).await.unwrap();
    assert_eq!(status, 200);
    drop(peers);
}
