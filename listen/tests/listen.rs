//! A listener among peers that say nothing, that ask and wait, and that do not take what they asked for.

// A failed unwrap in a test is the failure we want to see, in helpers too.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::channel::mpsc;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::{CancellationToken, DropGuard};
use vela_listen::{Config, Limits, RequestBody};
use vela_testkit::silent::{self, DEADLINE, MANY, Trust};

/// Longer than any test lasts.
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(100);

type Line = Result<Frame<Bytes>, Infallible>;

/// Answers at once, or with a stream that the test writes to, or with one that has much to say, or after the body.
#[derive(Clone, Default)]
struct Desk {
    streams: Arc<Mutex<Vec<mpsc::UnboundedSender<Line>>>>,
}

impl Desk {
    async fn answer(
        self,
        request: Request<RequestBody>,
    ) -> Result<Response<UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
        let text = |text: &str| Full::new(Bytes::from(text.to_owned())).boxed_unsync();
        Ok(Response::new(match request.uri().path() {
            "/stream" => {
                let (sender, lines) = mpsc::unbounded();
                self.streams.lock().unwrap().push(sender);
                StreamBody::new(lines).boxed_unsync()
            }
            "/flood" => {
                let piece = Bytes::from(vec![b'x'; 64 * 1024]);
                let pieces = futures::stream::repeat_with(move || Line::Ok(Frame::data(piece.clone())));
                StreamBody::new(pieces).boxed_unsync()
            }
            "/body" => match request.into_body().collect().await {
                Ok(body) => Full::new(body.to_bytes()).boxed_unsync(),
                Err(_) => text("broken off"),
            },
            _ => text("here"),
        }))
    }

    fn say(&self, line: &'static str) {
        for stream in self.streams.lock().unwrap().iter() {
            let _ = stream.unbounded_send(Ok(Frame::data(Bytes::from_static(line.as_bytes()))));
        }
    }
}

struct Bench {
    address: SocketAddr,
    desk: Desk,
    standing: Arc<AtomicI64>,
    trust: Trust,
    task: JoinHandle<()>,
    stop: DropGuard,
}

/// Limits that only what a test shortens can reach.
fn patient() -> Limits {
    Limits { handshake: LONG, first_byte: LONG, headers: LONG, idle: LONG, ..Limits::default() }
}

impl Bench {
    async fn with(limits: Limits, over_tls: bool) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .unwrap();
        let listener = vela_listen::bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (desk, standing) = (Desk::default(), Arc::<AtomicI64>::default());
        let counted = standing.clone();
        let config = Config {
            tls: over_tls.then(|| TlsAcceptor::from(Arc::new(tls))),
            limits,
            count: Some(Arc::new(move |change| {
                counted.fetch_add(change, Ordering::SeqCst);
            })),
            ..Config::new("test")
        };
        let (stop, answering) = (CancellationToken::new(), desk.clone());
        let service = tower::service_fn(move |request| answering.clone().answer(request));
        let task = tokio::spawn(vela_listen::serve(listener, config, service, stop.clone()));
        let trust = Trust::new(&certificate.pem(), "localhost").unwrap();
        Self { address, desk, standing, trust, task, stop: stop.drop_guard() }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection on which this was sent.
    async fn sent(&self, text: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// A connection with an answer that goes on.
    async fn streaming(&self) -> TcpStream {
        let mut stream = self.sent("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n").await;
        read_until(&mut stream, "\r\n\r\n").await;
        stream
    }

    /// A connection that is kept open after its request.
    async fn asked(&self, trust: Option<&Trust>) -> Box<dyn silent::Held> {
        silent::asked(self.connect().await, trust).await.unwrap()
    }

    async fn until_standing(&self, expected: i64) {
        let reached = async {
            while self.standing.load(Ordering::SeqCst) != expected {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(DEADLINE, reached).await.is_err() {
            panic!("{} connections stand, not {expected}", self.standing.load(Ordering::SeqCst));
        }
    }
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(end) {
        let mut part = [0; 1024];
        let read = tokio::time::timeout(DEADLINE, stream.read(&mut part)).await.unwrap().unwrap();
        assert!(read > 0, "the connection ended after {:?}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&part[..read]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn two_thousand_silent_peers_delay_no_answer() {
    silent::many_files().unwrap();
    for over_tls in [false, true] {
        let bench = Bench::with(Limits { connections: 64, ..patient() }, over_tls).await;
        let trust = over_tls.then_some(&bench.trust);
        let peers = silent::peers(bench.address, MANY, trust).await.unwrap();
        bench.asked(trust).await;
        assert!(bench.standing.load(Ordering::SeqCst) <= 64 + 1, "no more than allowed stand");
        drop(peers);
    }
}

#[tokio::test]
async fn each_kind_of_silence_has_its_limit() {
    let bench = Bench::with(Limits { handshake: SHORT, ..patient() }, true).await;
    assert!(silent::closed(&mut bench.connect().await).await, "no handshake");
    assert!(silent::closed(&mut bench.sent("\x16\x03\x01").await).await, "half a handshake");

    let bench = Bench::with(Limits { first_byte: SHORT, ..patient() }, false).await;
    assert!(silent::closed(&mut bench.connect().await).await, "no byte");

    let bench = Bench::with(Limits { headers: SHORT, ..patient() }, false).await;
    for part in ["G", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n"] {
        assert!(silent::closed(&mut bench.sent(part).await).await, "{part:?} is no request");
    }

    for over_tls in [false, true] {
        let bench = Bench::with(Limits { idle: SHORT, ..patient() }, over_tls).await;
        let mut idle = bench.asked(over_tls.then_some(&bench.trust)).await;
        assert!(silent::closed(&mut *idle).await, "nothing after a request");
    }

    // What has begun may still end, as long as headers may take.
    let bench = Bench::with(Limits { idle: SHORT, headers: SHORT, ..patient() }, false).await;
    let body = "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{";
    assert!(silent::closed(&mut bench.sent(body).await).await, "a body that does not come");
    let half = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n";
    assert!(silent::closed(&mut bench.sent(half).await).await, "a second request that does not end");
}

#[tokio::test]
async fn an_answer_that_goes_on_is_not_idle_however_quiet() {
    let limits = Limits { idle: SHORT, headers: SHORT, connections: 4, ..patient() };
    let bench = Bench::with(limits, false).await;
    let mut watching = bench.streaming().await;
    for _ in 0..3 {
        // Others that came later are idle for too long, one after the other.
        assert!(silent::closed(&mut *bench.asked(None).await).await);
    }
    let crowd = silent::peers(bench.address, 40, None).await.unwrap();
    bench.desk.say("news\n");
    read_until(&mut watching, "news").await;
    drop(crowd);
}

#[tokio::test]
async fn a_peer_that_does_not_take_an_answer_is_idle() {
    let bench = Bench::with(Limits { idle: SHORT, headers: SHORT, ..patient() }, false).await;
    let mut deaf = bench.sent("GET /flood HTTP/1.1\r\nHost: a\r\n\r\n").await;
    bench.until_standing(1).await;
    bench.until_standing(0).await;
    assert!(silent::closed(&mut deaf).await);
}

#[tokio::test]
async fn the_one_that_was_idle_longest_makes_room() {
    let bench = Bench::with(Limits { connections: 3, ..patient() }, false).await;
    let mut oldest = bench.connect().await;
    bench.until_standing(1).await;
    let mut watching = bench.streaming().await;
    let mut younger = bench.asked(None).await;
    let mut youngest = bench.asked(None).await;
    assert!(silent::closed(&mut oldest).await, "the silent one was there first");
    younger.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    assert!(younger.read(&mut [0; 1024]).await.unwrap() > 0, "younger ones stay");
    // Now the other one is idle longer.
    bench.asked(None).await;
    assert!(silent::closed(&mut *youngest).await);
    bench.desk.say("still\n");
    read_until(&mut watching, "still").await;
}

#[tokio::test]
async fn a_newcomer_waits_for_the_first_place_when_all_are_busy() {
    let bench = Bench::with(Limits { connections: 2, ..patient() }, false).await;
    let (first, mut second) = (bench.streaming().await, bench.streaming().await);
    let waiting = tokio::spawn(silent::asked(bench.connect().await, None));
    bench.desk.say("both\n");
    read_until(&mut second, "both").await;
    assert!(!waiting.is_finished());
    drop(first);
    tokio::time::timeout(DEADLINE, waiting).await.unwrap().unwrap().unwrap();
    bench.desk.say("second\n");
    read_until(&mut second, "second").await;
}

#[tokio::test]
async fn a_stop_closes_what_is_idle_and_cuts_off_what_does_not_end() {
    let bench = Bench::with(Limits { grace: SHORT, ..patient() }, false).await;
    let mut silent_one = bench.connect().await;
    let mut half = bench.sent("GET / HT").await;
    let mut idle = bench.asked(None).await;
    let mut watching = bench.streaming().await;
    bench.until_standing(4).await;
    drop(bench.stop);
    tokio::time::timeout(DEADLINE, bench.task).await.unwrap().unwrap();
    assert_eq!(bench.standing.load(Ordering::SeqCst), 0, "nothing is left behind");
    for stream in [&mut silent_one, &mut half, &mut watching] {
        assert!(silent::closed(stream).await);
    }
    assert!(silent::closed(&mut *idle).await);
}
