//! Serves a bound socket until it is stopped; peers that connect and say nothing never block the service.
//!
//! Every port that a process of ours opens is served by [`serve`], or by [`streams`] where no HTTP is spoken. A connection has one of four stages, each with its
//! own limit: the TLS handshake, the first byte, the first request, and the idle time after that. In the last stage it
//! is always one side's turn ([`peer`]): ours while a service computes or an answer that never ends (a watch) has
//! nothing to say, the peer's while we wait for a request, for the rest of a body, or for an answer to be taken. Only a
//! connection where it is the peer's turn is idle. When all places are taken, the connection that has been idle longest
//! goes, so that silence never costs other peers the service.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod connection;
mod first_byte;
mod limits;
mod peer;
mod peer_certificate;
mod slots;
mod streams;

use std::convert::Infallible;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use connection::Connection;
pub use limits::Limits;
pub use peer::RequestBody;
pub use peer_certificate::PeerCertificate;
use slots::Slots;
pub use streams::streams;

/// A pause after a connection could not be accepted, because file descriptors ran out, say.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// The counter of every connection that comes (1) and goes (-1).
pub type Count = Arc<dyn Fn(i64) + Send + Sync>;

/// The settings of a listener.
#[derive(Clone)]
pub struct Config {
    /// Its name in logs: "webhooks", say.
    pub name: &'static str,
    /// How TLS is spoken; without it, plain text is.
    pub tls: Option<TlsAcceptor>,
    /// How much at once, and how long for what.
    pub limits: Limits,
    /// The counter of its connections.
    pub count: Option<Count>,
}

impl Config {
    /// Plain text, with the usual limits, without metrics.
    pub fn new(name: &'static str) -> Self {
        Self { name, tls: None, limits: Limits::default(), count: None }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("name", &self.name)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Every address of this machine means IPv4's where IPv6 is switched off.
///
/// # Errors
/// The error of the system, for instance that the address is taken.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    match TcpListener::bind(address).await {
        Err(error)
            if address.ip() == Ipv6Addr::UNSPECIFIED && error.kind() != std::io::ErrorKind::AddrInUse =>
        {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    }
}

/// Serve until stopped; ends when all connections have, within the grace of the limits.
pub async fn serve<S, B>(listener: TcpListener, config: Config, service: S, stop: CancellationToken)
where
    S: tower::Service<Request<RequestBody>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let Config { name, tls, limits, count } = config;
    let slots = Arc::new(Slots::new(limits.connections));
    let (tasks, cut) = (TaskTracker::new(), CancellationToken::new());
    let mut troubled = false;
    loop {
        let stream = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, or a client that left: the next one may fare better.
                    if !std::mem::replace(&mut troubled, true) {
                        tracing::warn!(%error, listener = name, "a connection was not accepted; idle ones go");
                    }
                    slots.close_idlest();
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        troubled = false;
        let slot = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            slot = tokio::time::timeout(limits.handshake, slots.take()) => slot,
        };
        let Ok(slot) = slot else {
            tracing::warn!(
                listener = name,
                connections = limits.connections,
                "all connections are at work; one was refused"
            );
            continue;
        };
        let connection = Connection { name, slot, limits, stop: stop.clone() };
        let (service, tls, cut, count) = (service.clone(), tls.clone(), cut.clone(), count.clone());
        tasks.spawn(async move {
            let _counted = count.map(Counted::new);
            tokio::select! {
                biased;
                () = cut.cancelled() => {}
                () = connection.run(stream, tls, service) => {}
            }
        });
    }
    drop(listener);
    tasks.close();
    if tokio::time::timeout(limits.grace, tasks.wait()).await.is_err() {
        if !limits.grace.is_zero() {
            tracing::warn!(listener = name, grace = ?limits.grace, "requests did not end in time; they are cut off");
        }
        cut.cancel();
        tasks.wait().await;
    }
}

/// One connection, counted until it is dropped.
struct Counted(Count);

impl Counted {
    fn new(count: Count) -> Self {
        count(1);
        Self(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.0)(-1);
    }
}
