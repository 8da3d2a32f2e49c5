//! Serves the API on a port: who may connect, and how many.

use std::net::SocketAddr;
use std::sync::Arc;

use http::Request;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::Service as _;
use vela_listen::{Limits, RequestBody};
use vela_runtime::Cache;
use vela_runtime::events::EventRecorder;

use super::caller::Callers;
use super::credentials::{Credentials, CredentialsError};
use super::objects::Objects;
use super::service::Service;
use crate::protocol::operator_server::OperatorServer;

/// Sidecars that are connected at once.
const CONNECTIONS_AT_MOST: usize = 20_000;
/// A request is a namespace and a name.
const REQUEST_AT_MOST: usize = 16 * 1024;

/// Where and to whom the API is served.
#[derive(Clone, Debug)]
pub struct Api {
    /// Where.
    pub address: SocketAddr,
    /// How sidecars are known.
    pub security: Security,
}

/// Why the API is not served.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The address cannot be bound.
    #[error("cannot listen on {address} for sidecars: {source}; choose another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The operator is to have a certificate of a sentry that this process does not have.
    #[error("sidecars are to be answered with a certificate of this process's sentry, which has no address")]
    NoSentry,
    /// There is no usable certificate.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// How sidecars are known.
#[derive(Clone, Debug)]
pub enum Security {
    /// By certificates: each is given the objects of its own namespace.
    MutualTls(Credentials),
    /// By certificates of the sentry of this process, which has one for the operator too.
    Issued,
    /// Not at all: every client gets the objects, with the values of Secrets, of the namespace that it names, or of all.
    /// For sidecars before 1.4.
    Plaintext,
}

impl Api {
    /// Listens from now on, and answers when what comes back is run.
    pub(crate) async fn bind(
        self,
        client: kube::Client,
        events: EventRecorder,
    ) -> Result<impl FnOnce(CancellationToken) -> futures::future::BoxFuture<'static, ()> + Send, ApiError>
    {
        let Self { address, security } = self;
        let (callers, tls) = match security {
            Security::Plaintext => (Callers::Anonymous, None),
            Security::Issued => return Err(ApiError::NoSentry),
            Security::MutualTls(credentials) => {
                (Callers::Certified, Some(TlsAcceptor::from(Arc::new(credentials.tls()?))))
            }
        };
        let listener =
            vela_listen::bind(address).await.map_err(|source| ApiError::Listen { address, source })?;
        if callers == Callers::Anonymous {
            tracing::warn!(%address, "sidecars are answered in plain text and without certificates");
        }
        Ok(move |stop: CancellationToken| -> futures::future::BoxFuture<'static, ()> {
            Box::pin(async move {
                // A cache of its own: a kind of dapr.io that is not installed does not hold up the controllers.
                let cache = Cache::new(client.clone());
                let objects = Objects::new(client, &cache, events);
                let service = Service { callers, objects, stop: stop.clone() };
                let server = OperatorServer::new(service).max_decoding_message_size(REQUEST_AT_MOST);
                let answer =
                    tower::service_fn(move |request: Request<RequestBody>| server.clone().call(request));
                let limits = Limits { connections: CONNECTIONS_AT_MOST, ..Limits::default() };
                let config = vela_listen::Config { tls, limits, ..vela_listen::Config::new("sidecars") };
                tracing::info!(%address, "sidecars are answered");
                vela_listen::serve(listener, config, answer, stop).await;
                cache.stop().await;
            })
        })
    }
}
