//! Serves one accepted socket: its handshake, its requests and its end.

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

use crate::first_byte::FirstByte;
use crate::peer::{RequestInProgress, Stage};
use crate::peer_certificate::PeerCertificate;
use crate::slots::Slot;
use crate::{Limits, RequestBody};

/// The server refuses longer headers: their peers do not mean well.
const HEADER_AT_MOST: u32 = 64 * 1024;
/// A peer of an HTTP/2 connection that vanished is noticed after this and the limit of a first byte.
const PING_EVERY: Duration = Duration::from_secs(30);

/// The parts of one connection, beside the service that answers its requests.
pub(crate) struct Connection {
    pub(crate) name: &'static str,
    pub(crate) slot: Slot,
    pub(crate) limits: Limits,
    pub(crate) stop: CancellationToken,
}

/// The service that answers the requests of a connection.
pub(crate) trait AnswerRequests:
    tower::Service<
        Request<RequestBody>,
        Response = Response<<Self as AnswerRequests>::Body>,
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

impl<S, B> AnswerRequests for S
where
    S: tower::Service<Request<RequestBody>, Response = Response<B>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin + 'static,
{
    type Body = B;
}

/// Why a connection is closed from our side.
enum CloseReason {
    Full,
    Overdue,
    Stop,
}

impl Connection {
    pub(crate) async fn run(self, stream: TcpStream, tls: Option<TlsAcceptor>, service: impl AnswerRequests) {
        // Answers are short and a peer waits for each.
        let _ = stream.set_nodelay(true);
        let Some(tls) = tls else { return self.serve(stream, None, service).await };
        let handshake = tokio::select! {
            handshake = tls.accept(stream) => handshake,
            why = self.close_reason() => return self.log_close(&why, "in its handshake"),
        };
        match handshake {
            Ok(stream) => {
                let shown = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
                let shown = shown.map(|certificate| PeerCertificate(certificate.clone().into_owned()));
                self.serve(stream, shown, service).await;
            }
            Err(error) => tracing::debug!(%error, listener = self.name, "a handshake failed"),
        }
    }

    /// Ends when the connection is to end, whatever the peer wants.
    async fn close_reason(&self) -> CloseReason {
        let peer = &self.slot.peer;
        tokio::select! {
            biased;
            () = peer.evicted.cancelled() => CloseReason::Full,
            () = self.stop.cancelled() => CloseReason::Stop,
            () = peer.overdue(&self.limits) => CloseReason::Overdue,
        }
    }

    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        certificate: Option<PeerCertificate>,
        service: impl AnswerRequests,
    ) {
        let peer = self.slot.peer.clone();
        peer.reached(Stage::FirstByte);
        let of = peer.clone();
        let service = hyper::service::service_fn(move |mut request: Request<Incoming>| {
            if let Some(certificate) = &certificate {
                request.extensions_mut().insert(certificate.clone());
            }
            let in_progress = RequestInProgress::from(&of);
            let answer = service.clone().oneshot(request.map(|body| in_progress.body(body)));
            async move { Ok::<_, Infallible>(answer.await?.map(|body| in_progress.response(body))) }
        });
        let builder = self.builder();
        let stream = TokioIo::new(FirstByte::new(stream, peer.clone()));
        let mut connection = std::pin::pin!(builder.serve_connection(stream, service));
        let why = tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, listener = self.name, "a connection ended");
                }
                return;
            }
            why = self.close_reason() => why,
        };
        self.log_close(
            &why,
            if peer.has_requested() { "after a request" } else { "before its first request" },
        );
        connection.as_mut().graceful_shutdown();
        match why {
            // The connection says what it can say without waiting; another one has its place already.
            CloseReason::Full => drop(futures::poll!(connection)),
            CloseReason::Overdue if !peer.has_requested() => {}
            CloseReason::Overdue => {
                let _ = tokio::time::timeout(self.limits.headers, connection).await;
            }
            // The grace of the listener ends this too.
            CloseReason::Stop => tokio::select! {
                _ = connection => {}
                () = peer.evicted.cancelled() => {}
                () = peer.overdue(&self.limits) => {}
            },
        }
    }

    fn log_close(&self, why: &CloseReason, when: &str) {
        match why {
            CloseReason::Full => {
                tracing::debug!(listener = self.name, when, "a connection makes room for another")
            }
            CloseReason::Overdue => {
                tracing::debug!(listener = self.name, when, "a connection was silent for too long")
            }
            CloseReason::Stop => {}
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
