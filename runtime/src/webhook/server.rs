//! An address, a certificate and a handler → an HTTPS server until it is stopped; reviews under way then end first.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::answer::{Desk, Limits};
use super::bundle::Bundles;
use super::certificate::Unusable;
use super::directory::Missing;
use super::figures::Figures;
use super::handler::Handler;
use super::keep::{Certificates, Keeper};
use super::kept::Unkept;
use super::presented::Presented;
use crate::metrics::Metrics;

/// An API server speaks HTTP/1.1 to webhooks, one connection for each review under way; there may be several of them.
pub(super) const CONNECTIONS_AT_MOST: usize = 512;
/// An API server sends its request as soon as it is connected; who does not is no API server.
pub(super) const FIRST_REQUEST: Duration = Duration::from_secs(10);
/// How long reviews may take to end after a stop: no API server waits longer for one.
pub(super) const GRACE: Duration = Duration::from_secs(30);
/// API servers close a connection that was idle for 90 s. Ours outlives that, so that none is closed just as a request
/// is sent on it.
const IDLE: Duration = Duration::from_secs(100);
/// A header longer than this is no API server's.
const HEADER_AT_MOST: u32 = 64 * 1024;
/// Streams of one HTTP/2 connection.
const STREAMS_AT_MOST: u32 = 64;
/// A peer of an HTTP/2 connection that vanished is noticed after this and [`FIRST_REQUEST`].
const PING_EVERY: Duration = Duration::from_secs(30);
/// A pause after a connection could not be accepted, because file descriptors ran out, say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address could not be bound.
    #[error("cannot listen on {address} for webhooks: {source}; choose another port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no certificate to serve with.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The Secret with the certificate cannot be had.
    #[error(transparent)]
    Unkept(#[from] Unkept),
    /// The certificate cannot be served with.
    #[error(transparent)]
    Unusable(#[from] Unusable),
}

/// What a server listens on and with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where.
    pub address: SocketAddr,
    /// With what.
    pub certificates: Certificates,
    /// Where API servers are told whom to trust, if that is ours to tell.
    pub bundles: Option<Bundles>,
    /// How much at once.
    pub limits: Limits,
}

/// A server that has not started.
pub struct Server {
    config: Config,
    handler: Arc<dyn Handler>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Server {
    /// A server for what this handler answers.
    pub fn new(config: Config, handler: Arc<dyn Handler>) -> Self {
        Self { config, handler }
    }

    /// Wait for a certificate, listen, and serve in the background.
    pub async fn start(self, metrics: &Metrics) -> Result<Running, Error> {
        self.counted(Figures::new(metrics)).await
    }

    /// The same with several servers, which count together: the names of figures are there once.
    pub async fn start_all(servers: Vec<Self>, metrics: &Metrics) -> Result<Vec<Running>, Error> {
        if servers.is_empty() {
            return Ok(Vec::new());
        }
        let figures = Figures::new(metrics);
        futures::future::try_join_all(servers.into_iter().map(|server| server.counted(figures.clone()))).await
    }

    async fn counted(self, figures: Figures) -> Result<Running, Error> {
        let Self { config: Config { address, certificates, bundles, limits }, handler } = self;
        let found = certificates.first().await?;
        let presented = Presented::new(found.pair.clone());
        let tls = TlsAcceptor::from(Arc::new(presented.tls()?));
        let unheard = |source| Error::Listen { address, source };
        let listener = crate::server::bind(address).await.map_err(unheard)?;
        let address = listener.local_addr().map_err(unheard)?;
        let stop = CancellationToken::new();
        let desk = Arc::new(Desk::new(handler, figures.clone(), limits));
        let accepting = Accepting { tls, desk, figures: figures.clone(), limits, stop: stop.clone() };
        let serving = tokio::spawn(accepting.run(listener));
        let keeping = tokio::spawn(Keeper::new(certificates, bundles, presented, figures, found).run());
        tracing::info!(%address, "webhooks are served");
        Ok(Running { address, stop, serving: Some(serving), keeping })
    }
}

/// A server that serves; it stops when this is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stop: CancellationToken,
    serving: Option<JoinHandle<()>>,
    keeping: JoinHandle<()>,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accept no more, let the reviews under way end, within the grace of the limits.
    pub async fn stop(mut self) {
        self.stop.cancel();
        if let Some(serving) = self.serving.take() {
            // Its end is all that matters.
            let _ = serving.await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
        self.keeping.abort();
    }
}

struct Accepting {
    tls: TlsAcceptor,
    desk: Arc<Desk>,
    figures: Figures,
    limits: Limits,
    stop: CancellationToken,
}

impl Accepting {
    async fn run(self, listener: TcpListener) {
        let graceful = GracefulShutdown::new();
        let places = Arc::new(Semaphore::new(self.limits.connections));
        let this = Arc::new(self);
        loop {
            let place = tokio::select! {
                () = this.stop.cancelled() => break,
                place = places.clone().acquire_owned() => match place { Ok(place) => place, Err(_) => break },
            };
            let stream = tokio::select! {
                () = this.stop.cancelled() => break,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::warn!(%error, "a connection to the webhook server was not accepted");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                },
            };
            let (this, watcher) = (this.clone(), graceful.watcher());
            tokio::spawn(async move {
                let _place = place;
                this.figures.connected(1);
                this.connection(stream, watcher).await;
                this.figures.connected(-1);
            });
        }
        drop(listener);
        if tokio::time::timeout(this.limits.grace, graceful.shutdown()).await.is_err() {
            tracing::warn!(grace = ?this.limits.grace, "reviews did not end in time; they are cut off");
        }
    }

    async fn connection(&self, stream: TcpStream, watcher: Watcher) {
        // Answers are short and somebody waits for each.
        let _ = stream.set_nodelay(true);
        let handshake = tokio::select! {
            () = self.stop.cancelled() => return,
            handshake = tokio::time::timeout(self.limits.first_request, self.tls.accept(stream)) => handshake,
        };
        let stream = match handshake {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "a handshake with the webhook server failed"),
            Err(_) => return tracing::debug!("a handshake with the webhook server took too long"),
        };
        let spoke = Arc::new(AtomicBool::new(false));
        let (desk, speaks) = (self.desk.clone(), spoke.clone());
        let service = service_fn(move |request| {
            speaks.store(true, Ordering::Relaxed);
            let desk = desk.clone();
            async move { Ok::<_, Infallible>(desk.respond(request).await) }
        });
        let builder = builder();
        let connection = watcher.watch(builder.serve_connection(TokioIo::new(stream), service).into_owned());
        let silent = async {
            tokio::time::sleep(self.limits.first_request).await;
            if spoke.load(Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            ended = connection => if let Err(error) = ended {
                tracing::debug!(%error, "a connection to the webhook server ended");
            },
            () = silent => tracing::debug!("a connection to the webhook server sent no request"),
        }
    }
}

fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(HEADER_AT_MOST as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_AT_MOST)
        .max_header_list_size(HEADER_AT_MOST)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(FIRST_REQUEST);
    builder
}
