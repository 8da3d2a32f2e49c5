//! The sentry of a process: takes the bundle of the cluster, keeps it and the certificates of the control plane current, and serves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::Request;
use rcgen::KeyPair;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tower::Service as _;
use vela_listen::{Limits, RequestBody};
use vela_runtime::clock;

use super::authority::{Authority, Lifetime, Subject};
use super::bundle::Names;
use super::discovery::Discovery;
use super::error::AuthorityError;
use super::jwt::Jwts;
use super::requester::{Requesters, is_trust_domain, subject};
use super::service::Service;
use super::store::{Store, StoreError};
use super::texts::Validity;
use crate::api::{Credentials, CredentialsError, Pem};
use crate::metrics::SentryMetrics;
use crate::protocol::sentry::ca_server::CaServer;

/// Between two tries at the start.
const PAUSE: Duration = Duration::from_secs(2);
/// Sidecars that come for a certificate at once.
const CONNECTIONS_AT_MOST: usize = 4096;
/// A request is a token, a CSR and some names.
const REQUEST_AT_MOST: usize = 64 * 1024;
/// The name by which sidecars before 1.12 call the control plane.
const OLD_NAME: &str = "cluster.local";

/// Where and with what certificates are issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentry {
    /// Where.
    pub address: SocketAddr,
    /// Namespace of the control plane, and of the bundle.
    pub namespace: String,
    /// Trust domain of the control plane.
    pub trust_domain: String,
    /// How long certificates are valid.
    pub life: Duration,
    /// How far clocks of the cluster may differ: so long before now a certificate is valid already.
    pub skew: Duration,
    /// How often the bundle is looked at.
    pub look_every: Duration,
    /// Tokens, if they are signed.
    pub jwts: Option<Jwts>,
}

/// Why no certificates are issued.
#[derive(Debug, thiserror::Error)]
pub enum SentryError {
    /// The address cannot be bound.
    #[error("cannot listen on {address} for requests about certificates: {source}; choose another address")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// No identity can have it.
    #[error("{0:?} is no trust domain; expected small letters, digits, '.', '-' and '_'")]
    TrustDomain(String),
    /// There is no usable bundle.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The control plane's own certificates cannot be made.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// They cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The process was asked to stop before there was a bundle.
    #[error("stopped before there was a trust bundle")]
    Stopped,
}

/// A certificate of the control plane that is made anew in time.
struct Own {
    subject: Subject,
    credentials: Credentials,
    validity: Validity,
}

/// A running sentry.
pub(crate) struct Issuance {
    sentry: Sentry,
    store: Store,
    authority: watch::Sender<Arc<Authority>>,
    anchors: watch::Sender<String>,
    own: [Own; 2],
    counts: SentryMetrics,
}

impl Sentry {
    /// Has a bundle, and the certificates of the control plane; an API server that is away is waited for.
    pub(crate) async fn begin(
        self,
        client: kube::Client,
        counts: SentryMetrics,
        stop: &CancellationToken,
    ) -> Result<Issuance, SentryError> {
        if !is_trust_domain(&self.trust_domain) {
            return Err(SentryError::TrustDomain(self.trust_domain));
        }
        let names = Names { trust_domain: self.trust_domain.clone(), sentry: self.identity("dapr-sentry") };
        let signs_tokens = self.jwts.is_some();
        let store = Store { client, namespace: self.namespace.clone(), names, skew: self.skew, signs_tokens };
        let authority = loop {
            match store.refresh(None).await {
                Ok(authority) => break authority,
                Err(error) if error.is_passing() => {
                    tracing::warn!(%error, "certificates cannot be issued yet");
                }
                Err(error) => return Err(error.into()),
            }
            tokio::select! {
                () = stop.cancelled() => return Err(SentryError::Stopped),
                () = tokio::time::sleep(PAUSE) => {}
            }
        };
        let own = [
            self.own("dapr-sentry", &[], &authority)?,
            self.own("dapr-operator", &[&format!("dapr-webhook.{}.svc", self.namespace)], &authority)?,
        ];
        counts.expires(authority.validity().until.as_second());
        let anchors = watch::Sender::new(authority.texts().anchors.clone());
        let authority = watch::Sender::new(Arc::new(authority));
        Ok(Issuance { sentry: self, store, authority, anchors, own, counts })
    }

    fn identity(&self, app_id: &str) -> String {
        subject(&self.trust_domain, &self.namespace, app_id, Vec::new()).uri
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime { life: self.life, skew: self.skew }
    }

    fn own(&self, app_id: &str, names: &[&str], authority: &Authority) -> Result<Own, SentryError> {
        let dns = names.iter().chain(&[OLD_NAME]).map(|name| (*name).to_owned()).collect();
        let subject = Subject { uri: self.identity(app_id), dns };
        let (pem, validity) = issued(&subject, authority, self.lifetime())?;
        Ok(Own { subject, credentials: Credentials::new(&pem)?, validity })
    }
}

/// A certificate of the control plane, with a new key.
fn issued(
    subject: &Subject,
    authority: &Authority,
    lifetime: Lifetime,
) -> Result<(Pem, Validity), SentryError> {
    let key = KeyPair::generate_for(&rcgen::PKCS_ED25519).map_err(AuthorityError::from)?;
    let signed = authority.sign(&key, subject, lifetime, clock::now())?;
    let pem = Pem {
        certificate: signed.pem.into_bytes(),
        key: key.serialize_pem().into_bytes(),
        trust_anchors: authority.texts().anchors.clone().into_bytes(),
    };
    Ok((pem, signed.validity))
}

impl Issuance {
    /// What the API of the operator shows, and whom it trusts.
    pub(crate) fn credentials_of_operator(&self) -> Credentials {
        self.own[1].credentials.clone()
    }

    /// The anchors that sidecars are given.
    pub(crate) fn anchors(&self) -> watch::Receiver<String> {
        self.anchors.subscribe()
    }

    /// Listens from now on; serves, and looks at the bundle, when what comes back is run.
    pub(crate) async fn serve(
        self,
    ) -> Result<impl FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send, SentryError> {
        let address = self.sentry.address;
        let listener = vela_listen::bind(address).await;
        let listener = listener.map_err(|source| SentryError::Listen { address, source })?;
        let tls = TlsAcceptor::from(Arc::new(self.own[0].credentials.tls_of_issuer()?));
        let discovery = self.discovery().await?;
        Ok(move |stop: CancellationToken| -> BoxFuture<'static, ()> {
            Box::pin(async move {
                let service = Service {
                    authority: self.authority.subscribe(),
                    requesters: Requesters {
                        client: self.store.client.clone(),
                        namespace: self.sentry.namespace.clone(),
                        trust_domain: self.sentry.trust_domain.clone(),
                        audience: self.sentry.identity("dapr-sentry"),
                    },
                    lifetime: self.sentry.lifetime(),
                    jwts: self.sentry.jwts.clone(),
                    counts: self.counts.clone(),
                };
                let server = CaServer::new(service).max_decoding_message_size(REQUEST_AT_MOST);
                let answer =
                    tower::service_fn(move |request: Request<RequestBody>| server.clone().call(request));
                let limits = Limits { connections: CONNECTIONS_AT_MOST, ..Limits::default() };
                let config =
                    vela_listen::Config { tls: Some(tls), limits, ..vela_listen::Config::new("sentry") };
                tracing::info!(%address, "certificates are issued");
                let Self { sentry, store, authority, anchors, own, counts } = self;
                let looking = Looking { sentry, store, authority, anchors, own, counts, warned: None };
                let documents = async {
                    if let Some(serve) = discovery {
                        serve(stop.clone()).await;
                    }
                };
                let certificates = vela_listen::serve(listener, config, answer, stop.clone());
                tokio::join!(certificates, documents, looking.run(stop.clone()));
            })
        })
    }

    /// Listens for those who verify tokens, where that is wanted.
    async fn discovery(
        &self,
    ) -> Result<Option<impl FnOnce(CancellationToken) -> BoxFuture<'static, ()> + Send + use<>>, SentryError>
    {
        let Some(Jwts { issuer: Some(issuer), address: Some(address), .. }) = self.sentry.jwts.clone() else {
            return Ok(None);
        };
        let listener = vela_listen::bind(address).await;
        let listener = listener.map_err(|source| SentryError::Listen { address, source })?;
        let mut tls = self.own[0].credentials.tls_of_issuer()?;
        tls.alpn_protocols.push(b"http/1.1".to_vec());
        let config = vela_listen::Config {
            tls: Some(TlsAcceptor::from(Arc::new(tls))),
            ..vela_listen::Config::new("keys of tokens")
        };
        let discovery = Discovery { issuer, authority: self.authority.subscribe() };
        Ok(Some(move |stop: CancellationToken| -> BoxFuture<'static, ()> {
            tracing::info!(%address, "the keys of tokens are served");
            let answer = tower::service_fn(move |request| discovery.clone().answer(request));
            Box::pin(vela_listen::serve(listener, config, answer, stop))
        }))
    }
}

/// Keeps the bundle and what follows from it current.
struct Looking {
    sentry: Sentry,
    store: Store,
    authority: watch::Sender<Arc<Authority>>,
    anchors: watch::Sender<String>,
    own: [Own; 2],
    counts: SentryMetrics,
    /// The end of an issuer that was warned of.
    warned: Option<jiff::Timestamp>,
}

impl Looking {
    async fn run(mut self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(self.sentry.look_every) => {}
            }
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "the trust bundle stays as it was");
            }
        }
    }

    async fn look(&mut self) -> Result<(), SentryError> {
        let held = self.authority.borrow().clone();
        let found = self.store.refresh(Some(held.texts())).await?;
        let is_other = found.texts() != held.texts();
        let authority = if is_other { Arc::new(found) } else { held };
        let until = authority.validity().until;
        if authority.validity().is_due(clock::now()) && self.warned.replace(until) != Some(until) {
            tracing::warn!(%until, "the issuer of the trust bundle expires; one that is not ours is not renewed");
        }
        let lifetime = self.sentry.lifetime();
        for own in &mut self.own {
            if is_other || own.validity.is_due(clock::now()) {
                let (pem, validity) = issued(&own.subject, &authority, lifetime)?;
                own.credentials.replace(&pem)?;
                own.validity = validity;
            }
        }
        if is_other {
            self.counts.expires(authority.validity().until.as_second());
            self.anchors.send_replace(authority.texts().anchors.clone());
            self.authority.send_replace(authority);
        }
        Ok(())
    }
}
