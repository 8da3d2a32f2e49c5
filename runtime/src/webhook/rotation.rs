//! Rotates the certificate that is presented and the authorities that are published, as long as the server runs.

use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::authority::StoredCertificates;
use super::ca_bundle::{CaBundles, Writer};
use super::certificate::ServingCertificate;
use super::current::CurrentCertificate;
use super::directory::Directory;
use super::error::Error;
use super::metrics::ServerMetrics;
use super::secret::CertificateSecret;

/// How often bundles are looked at where the certificate itself needs no look.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// The first look after the start. Configurations are often registered while the server starts, so it looks soon, and then less and less often.
const FIRST_LOOK: Duration = Duration::from_millis(250);

/// Where the certificate comes from.
#[derive(Clone, Debug)]
pub enum CertificateSource {
    /// A folder that another process fills and renews.
    Directory(Directory),
    /// A Secret that we fill and renew ourselves, together with other replicas.
    Secret(CertificateSecret),
    /// Always this one.
    Fixed(ServingCertificate),
}

/// A certificate, and by whom it is to be trusted.
#[derive(Clone, Debug)]
pub(super) struct SourcedCertificate {
    pub(super) pair: ServingCertificate,
    /// PEM of the authorities, where we know them.
    pub(super) authorities: Option<Vec<u8>>,
    stored: StoredCertificates,
}

impl CertificateSource {
    pub(super) async fn first(&self) -> Result<SourcedCertificate, Error> {
        Ok(match self {
            Self::Directory(directory) => SourcedCertificate::in_folder(directory.first().await?),
            Self::Secret(secret) => SourcedCertificate::in_secret(secret.first().await?),
            Self::Fixed(pair) => SourcedCertificate::in_folder((pair.clone(), None)),
        })
    }

    async fn refresh(&self, sourced: &SourcedCertificate) -> Result<SourcedCertificate, Error> {
        Ok(match self {
            Self::Directory(directory) => SourcedCertificate::in_folder(directory.read().await?),
            Self::Secret(secret) => SourcedCertificate::in_secret(secret.refresh(&sourced.stored).await?),
            Self::Fixed(_) => sourced.clone(),
        })
    }

    fn every(&self) -> Duration {
        match self {
            Self::Directory(directory) => directory.reload_every,
            Self::Secret(secret) => secret.look_every,
            Self::Fixed(_) => LOOK_EVERY,
        }
    }
}

impl SourcedCertificate {
    /// Will API servers that trust these authorities take that pair?
    fn trusts(&self, pair: &ServingCertificate) -> bool {
        let mut roots = RootCertStore::empty();
        let authorities = self.authorities.as_deref().unwrap_or_default();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authorities).filter_map(Result::ok));
        pair.chains_to(&roots, crate::clock::now())
    }

    fn in_folder((pair, authorities): (ServingCertificate, Option<Vec<u8>>)) -> Self {
        Self { pair, authorities, stored: StoredCertificates::default() }
    }

    fn in_secret((pair, stored): (ServingCertificate, StoredCertificates)) -> Self {
        Self { pair, authorities: Some(stored.authorities.clone().into_bytes()), stored }
    }
}

/// Sees to the certificate of one server.
pub(super) struct CertificateRotation {
    certificates: CertificateSource,
    bundles: Option<Writer>,
    current: Arc<CurrentCertificate>,
    metrics: ServerMetrics,
    sourced: SourcedCertificate,
    /// A new certificate waits one look while API servers hear of a new authority.
    waited: bool,
    warned: String,
}

/// The result for the authorities in one round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Publication {
    /// Wherever we look, they are.
    Before,
    /// They were written just now.
    Now,
    /// They could not be looked for.
    Never,
}

impl CertificateRotation {
    pub(super) fn new(
        certificates: CertificateSource,
        bundles: Option<CaBundles>,
        current: Arc<CurrentCertificate>,
        metrics: ServerMetrics,
        sourced: SourcedCertificate,
    ) -> Self {
        let bundles = bundles.map(Writer::new);
        Self { certificates, bundles, current, metrics, sourced, waited: false, warned: String::new() }
    }

    /// Publish and present whatever is found, as soon as it changes; what cannot be used leaves the former in place.
    pub(super) async fn run(mut self) {
        report_expiry(&self.sourced.pair, &self.metrics);
        let mut pause = FIRST_LOOK;
        loop {
            let published = self.publish().await;
            self.present(published);
            let every = self.certificates.every();
            // API servers need the whole time to hear of a new authority.
            tokio::time::sleep(if self.waited { every } else { pause.min(every) }).await;
            pause = every.min(pause * 2);
            let read = self.certificates.refresh(&self.sourced).await;
            self.metrics.read(read.is_ok());
            match read {
                Ok(sourced) => match self.reason_to_keep(&sourced) {
                    Some(wrong) => {
                        self.warn_once(&format!("the webhook server keeps its former certificate: {wrong}"))
                    }
                    None => {
                        self.warned.clear();
                        self.sourced = sourced;
                    }
                },
                Err(error) => {
                    self.warn_once(&format!("the webhook server keeps its former certificate: {error}"))
                }
            }
        }
    }

    /// Why the found certificate is worse than the presented one: clients reject a certificate that is out of date.
    fn reason_to_keep(&self, sourced: &SourcedCertificate) -> Option<String> {
        let now = crate::clock::now();
        let former = self.current.pair().out_of_date(now).is_none();
        sourced.pair.out_of_date(now).filter(|_| former)
    }

    /// Have the authorities where API servers look for them.
    async fn publish(&mut self) -> Publication {
        let (Some(bundles), Some(authorities)) = (&mut self.bundles, &self.sourced.authorities) else {
            return Publication::Before;
        };
        match bundles.round(authorities).await {
            Ok(0) => Publication::Before,
            Ok(_) => Publication::Now,
            Err(error) => {
                self.warn_once(&format!("cannot look for webhook configurations: {error}"));
                Publication::Never
            }
        }
    }

    /// A certificate that is not trusted yet is worse than the former one, as long as that is valid and trusted.
    fn present(&mut self, published: Publication) {
        let former = self.current.pair();
        if former == self.sourced.pair {
            return;
        }
        let wait = match published {
            Publication::Before => false,
            // A client that does not trust it any more gains nothing by waiting.
            Publication::Now => !self.waited && self.sourced.trusts(&former),
            Publication::Never => former.out_of_date(crate::clock::now()).is_none(),
        };
        if wait {
            self.waited = published == Publication::Now;
            return;
        }
        self.waited = false;
        self.current.set(self.sourced.pair.clone());
        tracing::info!(until = %self.sourced.pair.validity().until, "the webhook server has a new certificate");
        report_expiry(&self.sourced.pair, &self.metrics);
    }

    /// Once is enough, until it is something else.
    fn warn_once(&mut self, warning: &str) {
        if self.warned != warning {
            tracing::warn!("{warning}");
            warning.clone_into(&mut self.warned);
        }
    }
}

/// Tell when the certificate in use will expire, and that it has.
fn report_expiry(pair: &ServingCertificate, metrics: &ServerMetrics) {
    metrics.expires(pair.validity().until);
    if let Some(wrong) = pair.out_of_date(crate::clock::now()) {
        tracing::warn!("{wrong}; API servers will not trust the webhook server");
    }
}
