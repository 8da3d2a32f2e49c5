//! One accepted socket → its handshake, its requests and its end.

use std::convert::Infallible;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::heard::Heard;
use crate::places::Place;
use crate::turn::{Asked, Stage};
use crate::{Limits, Received};

/// A header longer than this is nobody's who means well.
const HEADER_AT_MOST: u32 = 64 * 1024;
/// A peer of an HTTP/2 connection that vanished is noticed after this and the limit of a first byte.
const PING_EVERY: Duration = Duration::from_secs(30);

/// What one connection needs, beside what answers its requests.
pub(crate) struct Connection {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) limits: Limits,
    pub(crate) stop: CancellationToken,
}

/// What answers the requests of a connection.
pub(crate) trait Answers:
    tower::Service<
        Request<Received>,
        Response = Response<<Self as Answers>::Body>,
        Error = Infallible,
        Future: Send,
    > + Clone
    + Send
    + 'static
{
    /// Of an answer.
    type Body: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;
}

impl<S, B> Answers for S
where
    S: tower::Service<Request<Received>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin + 'static,
{
    type Body = B;
}

/// Why a connection is closed from our side.
enum Why {
    Full,
    Overdue,
    Stop,
}

impl Connection {
    pub(crate) async fn run(self, stream: TcpStream, tls: Option<TlsAcceptor>, service: impl Answers) {
        // Answers are short and somebody waits for each.
        let _ = stream.set_nodelay(true);
        let Some(tls) = tls else { return self.converse(stream, service).await };
        let handshake = tokio::select! {
            handshake = tls.accept(stream) => handshake,
            why = self.unwanted() => return self.tell(&why, "in its handshake"),
        };
        match handshake {
            Ok(stream) => self.converse(stream, service).await,
            Err(error) => tracing::debug!(%error, listener = self.name, "a handshake failed"),
        }
    }

    /// Ends when the connection is to end, whatever the peer wants.
    async fn unwanted(&self) -> Why {
        let peer = &self.place.peer;
        tokio::select! {
            biased;
            () = peer.out.cancelled() => Why::Full,
            () = self.stop.cancelled() => Why::Stop,
            () = peer.overdue(&self.limits) => Why::Overdue,
        }
    }

    async fn converse(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        service: impl Answers,
    ) {
        let peer = self.place.peer.clone();
        peer.reached(Stage::FirstByte);
        let of = peer.clone();
        let service = hyper::service::service_fn(move |request: Request<Incoming>| {
            let asked = Asked::by(&of);
            let answer = service.clone().oneshot(request.map(|body| asked.body(body)));
            async move { Ok::<_, Infallible>(answer.await?.map(|body| asked.answered(body))) }
        });
        let builder = self.builder();
        let stream = TokioIo::new(Heard::new(stream, peer.clone()));
        let mut connection = std::pin::pin!(builder.serve_connection(stream, service));
        let why = tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, listener = self.name, "a connection ended");
                }
                return;
            }
            why = self.unwanted() => why,
        };
        self.tell(&why, if peer.has_asked() { "after a request" } else { "before its first request" });
        connection.as_mut().graceful_shutdown();
        match why {
            // What can be said without waiting is said; its place is somebody else's already.
            Why::Full => drop(futures::poll!(connection)),
            Why::Overdue if !peer.has_asked() => {}
            Why::Overdue => {
                let _ = tokio::time::timeout(self.limits.headers, connection).await;
            }
            // The grace of the listener ends this too.
            Why::Stop => tokio::select! {
                _ = connection => {}
                () = peer.out.cancelled() => {}
                () = peer.overdue(&self.limits) => {}
            },
        }
    }

    fn tell(&self, why: &Why, when: &str) {
        match why {
            Why::Full => tracing::debug!(listener = self.name, when, "a connection makes room for another"),
            Why::Overdue => {
                tracing::debug!(listener = self.name, when, "a connection was silent for too long")
            }
            Why::Stop => {}
        }
    }

    /// No timer of HTTP/1 here: whose turn it is covers slow headers too.
    fn builder(&self) -> auto::Builder<TokioExecutor> {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(None)
            .max_buf_size(HEADER_AT_MOST as usize);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(self.limits.streams)
            .max_header_list_size(HEADER_AT_MOST)
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(self.limits.first_byte);
        builder
    }
}
