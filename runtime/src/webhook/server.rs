//! The HTTPS server of webhooks; reviews under way end before it stops.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::answer::{Limits, ReviewEndpoint};
use super::ca_bundle::CaBundles;
use super::current::CurrentCertificate;
use super::error::Error;
use super::handler::Handler;
use super::metrics::ServerMetrics;
use super::rotation::{CertificateRotation, CertificateSource};
use crate::metrics::Metrics;

/// The address and certificates of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where.
    pub address: SocketAddr,
    /// With what.
    pub certificates: CertificateSource,
    /// Where API servers are told whom to trust, if that is ours to tell.
    pub bundles: Option<CaBundles>,
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
    ///
    /// # Errors
    /// There is no certificate, or the address cannot be bound.
    pub async fn start(self, metrics: &Metrics) -> Result<Running, Error> {
        self.counted(ServerMetrics::new(metrics)).await
    }

    /// The same with several servers, which count together: the names of figures are there once.
    ///
    /// # Errors
    /// The first server that could not start, as [`Server::start`] says; the others are stopped.
    pub async fn start_all(servers: Vec<Self>, metrics: &Metrics) -> Result<Vec<Running>, Error> {
        if servers.is_empty() {
            return Ok(Vec::new());
        }
        let metrics = ServerMetrics::new(metrics);
        futures::future::try_join_all(servers.into_iter().map(|server| server.counted(metrics.clone()))).await
    }

    async fn counted(self, metrics: ServerMetrics) -> Result<Running, Error> {
        let Self { config: Config { address, certificates, bundles, limits }, handler } = self;
        let sourced = certificates.first().await?;
        let current = CurrentCertificate::new(sourced.pair.clone());
        let tls = TlsAcceptor::from(Arc::new(current.tls()?));
        let unheard = |source| Error::Listen { address, source };
        let listener = vela_listen::bind(address).await.map_err(unheard)?;
        let address = listener.local_addr().map_err(unheard)?;
        let stop = CancellationToken::new();
        let endpoint = Arc::new(ReviewEndpoint::new(handler, metrics.clone(), limits));
        let service = tower::service_fn(move |request| {
            let endpoint = endpoint.clone();
            async move { Ok::<_, Infallible>(endpoint.respond(request).await) }
        });
        let counted = metrics.clone();
        let config = vela_listen::Config {
            tls: Some(tls),
            limits: limits.of_connections(),
            count: Some(Arc::new(move |change| counted.connected(change))),
            ..vela_listen::Config::new("webhooks")
        };
        let serving = tokio::spawn(vela_listen::serve(listener, config, service, stop.clone()));
        let rotation =
            tokio::spawn(CertificateRotation::new(certificates, bundles, current, metrics, sourced).run());
        tracing::info!(%address, "webhooks are served");
        Ok(Running { address, stop, serving: Some(serving), rotation })
    }
}

/// A server that serves; it stops when this is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stop: CancellationToken,
    serving: Option<JoinHandle<()>>,
    rotation: JoinHandle<()>,
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
        self.rotation.abort();
    }
}
