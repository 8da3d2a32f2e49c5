//! A certificate source: a Secret that all replicas share; the first replica makes it, and any replica renews and mends
//! it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::api::Api;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};

use super::authority::{IssueError, StoredCertificates};
use super::certificate::ServingCertificate;

const AUTHORITIES: &str = "ca.crt";
const AUTHORITY_KEYS: &str = "ca.key";
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
/// The type that asks an API server to see to certificate and key.
const TYPE: &str = "kubernetes.io/tls";
/// The replicas that may rewrite the Secret.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Another replica was faster this often: a sixth try is not worth it now.
const TRIES: usize = 5;

/// A Secret with a certificate that we issue ourselves.
#[derive(Clone)]
pub struct CertificateSecret {
    /// Through which it is read and written.
    pub client: kube::Client,
    /// Where the Secret is.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Our name; a Secret that is not labelled as managed by us is left alone.
    pub manager: String,
    /// DNS names and addresses of the server.
    pub names: Vec<String>,
    /// How long the API server may be away at the start.
    pub wait: Duration,
    /// How often the Secret is looked at: well within the hour for which a new authority signs nothing.
    pub look_every: Duration,
}

impl std::fmt::Debug for CertificateSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CertificateSecret")
            .field("namespace", &self.namespace)
            .field("name", &self.name)
            .field("manager", &self.manager)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The Secret could not be read or written.
    #[error(
        "cannot {verb} the Secret {namespace}/{name} with the certificate of the webhook server: {source}"
    )]
    Cluster {
        /// The attempted action.
        verb: &'static str,
        /// Where the Secret is.
        namespace: String,
        /// Its name.
        name: String,
        /// The error of the API server.
        source: Box<kube::Error>,
    },
    /// The Secret belongs to another owner.
    #[error(
        "the Secret {namespace}/{name} is not managed by {manager}: give another name for the certificate of the webhook \
         server, or delete that Secret"
    )]
    Foreign {
        /// Where the Secret is.
        namespace: String,
        /// Its name.
        name: String,
        /// Our name.
        manager: String,
    },
    /// No certificate could be made.
    #[error(transparent)]
    NotIssued(#[from] IssueError),
    /// Others wrote the Secret each time we were about to.
    #[error("the Secret {namespace}/{name} changes all the time")]
    Contended {
        /// Where the Secret is.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl CertificateSecret {
    /// Usual patience.
    pub fn new(client: kube::Client, namespace: &str, name: &str, manager: &str, names: Vec<String>) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            manager: manager.to_owned(),
            names,
            wait: Duration::from_secs(90),
            look_every: Duration::from_secs(15),
        }
    }

    /// The content of the Secret, brought up to date; `held` is the content that we knew, in case the Secret is gone or
    /// cannot be read any more: our present certificate is trusted, and anything new would not be for a while.
    pub(super) async fn refresh(
        &self,
        held: &StoredCertificates,
    ) -> Result<(ServingCertificate, StoredCertificates), SecretError> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
        for _ in 0..TRIES {
            let live = api.get_opt(&self.name).await.map_err(|source| self.failed("read", source))?;
            if live.as_ref().is_some_and(|live| !self.is_ours(live)) {
                let (namespace, name) = (self.namespace.clone(), self.name.clone());
                return Err(SecretError::Foreign { namespace, name, manager: self.manager.clone() });
            }
            let now = crate::clock::now();
            let stored = live.as_ref().map(read);
            let found = stored.clone().filter(|stored| stored.has_authority(now));
            if stored.is_some() && found.is_none() {
                let (namespace, name) = (&self.namespace, &self.name);
                tracing::warn!(
                    namespace,
                    name,
                    "the Secret holds no authority that we can sign with; it is written anew"
                );
            }
            let renewed = found.unwrap_or_else(|| held.clone()).renewed(&self.names, now)?;
            let pair = renewed.pair().map_err(IssueError::from)?;
            let written = match live {
                Some(_) if stored.as_ref() == Some(&renewed) => return Ok((pair, renewed)),
                // The version that was read goes along, so that no newer write is lost.
                Some(live) => {
                    let next = Secret { data: Some(data(&renewed, live.data.clone())), ..live };
                    api.replace(&self.name, &PostParams::default(), &next).await
                }
                None => api.create(&PostParams::default(), &self.secret(&renewed)).await,
            };
            match written {
                Ok(_) => {
                    let (namespace, name) = (&self.namespace, &self.name);
                    let until = pair.validity().until;
                    tracing::info!(namespace, name, %until, "wrote the certificate of the webhook server");
                    return Ok((pair, renewed));
                }
                // Another replica was faster, or the Secret went: read again.
                Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) && !is_missing(&status) => {
                }
                Err(source) => return Err(self.failed("write", source)),
            }
        }
        Err(SecretError::Contended { namespace: self.namespace.clone(), name: self.name.clone() })
    }

    /// The first pair; an API server that is not there yet is waited for.
    pub(super) async fn first(&self) -> Result<(ServingCertificate, StoredCertificates), SecretError> {
        const PAUSE: Duration = Duration::from_secs(2);
        let end = tokio::time::Instant::now() + self.wait;
        loop {
            match self.refresh(&StoredCertificates::default()).await {
                Err(SecretError::Cluster { verb, source, .. })
                    if is_passing(&source) && tokio::time::Instant::now() + PAUSE < end =>
                {
                    tracing::warn!(%source, verb, "the certificate of the webhook server has to wait");
                    tokio::time::sleep(PAUSE).await;
                }
                looked => return looked,
            }
        }
    }

    fn is_ours(&self, secret: &Secret) -> bool {
        let labels = secret.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|manager| *manager == self.manager)
    }

    fn secret(&self, stored: &StoredCertificates) -> Secret {
        Secret {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                labels: Some(BTreeMap::from([(MANAGED_BY.to_owned(), self.manager.clone())])),
                ..ObjectMeta::default()
            },
            type_: Some(TYPE.to_owned()),
            data: Some(data(stored, None)),
            ..Secret::default()
        }
    }

    fn failed(&self, verb: &'static str, source: kube::Error) -> SecretError {
        let (namespace, name) = (self.namespace.clone(), self.name.clone());
        SecretError::Cluster { verb, namespace, name, source: Box::new(source) }
    }
}

/// Is the namespace missing, and not the Secret?
fn is_missing(status: &kube::core::Status) -> bool {
    status.code == 404 && status.details.as_ref().is_some_and(|details| details.kind == "namespaces")
}

/// May it be otherwise in a moment? A right that we lack now, we lack in a minute, too.
fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        _ => true,
    }
}

fn read(secret: &Secret) -> StoredCertificates {
    let text = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        bytes.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).unwrap_or_default()
    };
    StoredCertificates {
        authorities: text(AUTHORITIES),
        authority_keys: text(AUTHORITY_KEYS),
        certificate: text(CERTIFICATE),
        key: text(KEY),
    }
}

/// Foreign keys of the Secret stay.
fn data(
    stored: &StoredCertificates,
    others: Option<BTreeMap<String, ByteString>>,
) -> BTreeMap<String, ByteString> {
    let StoredCertificates { authorities, authority_keys, certificate, key } = stored;
    let mut data = others.unwrap_or_default();
    for (name, text) in
        [(AUTHORITIES, authorities), (AUTHORITY_KEYS, authority_keys), (CERTIFICATE, certificate), (KEY, key)]
    {
        data.insert(name.to_owned(), ByteString(text.clone().into_bytes()));
    }
    data
}
