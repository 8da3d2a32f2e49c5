//! Where certificates come from → what is presented and what authorities are published, as long as the server runs.

use std::sync::Arc;
use std::time::Duration;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::authority::Kept;
use super::bundle::{Bundles, Writer};
use super::certificate::Pair;
use super::directory::Directory;
use super::figures::Figures;
use super::kept::SelfIssued;
use super::presented::Presented;
use super::server::Error;

/// How often bundles are looked at where the certificate itself needs no look.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// Where the certificate comes from.
#[derive(Clone, Debug)]
pub enum Certificates {
    /// A folder that somebody else fills and renews.
    Directory(Directory),
    /// A Secret that we fill and renew ourselves, together with other replicas.
    SelfIssued(SelfIssued),
    /// Always this one.
    Fixed(Pair),
}

/// A certificate, and by whom it is to be trusted.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) pair: Pair,
    /// PEM of the authorities, where we know them.
    pub(super) authorities: Option<Vec<u8>>,
    kept: Kept,
}

impl Certificates {
    pub(super) async fn first(&self) -> Result<Found, Error> {
        Ok(match self {
            Self::Directory(directory) => Found::in_folder(directory.first().await?),
            Self::SelfIssued(secret) => Found::in_secret(secret.first().await?),
            Self::Fixed(pair) => Found::in_folder((pair.clone(), None)),
        })
    }

    async fn look(&self, found: &Found) -> Result<Found, Error> {
        Ok(match self {
            Self::Directory(directory) => Found::in_folder(directory.read().await?),
            Self::SelfIssued(secret) => Found::in_secret(secret.look(&found.kept).await?),
            Self::Fixed(_) => found.clone(),
        })
    }

    fn every(&self) -> Duration {
        match self {
            Self::Directory(directory) => directory.reload_every,
            Self::SelfIssued(secret) => secret.look_every,
            Self::Fixed(_) => LOOK_EVERY,
        }
    }
}

impl Found {
    /// Will API servers that trust these authorities take that pair?
    fn trusts(&self, pair: &Pair) -> bool {
        let mut roots = RootCertStore::empty();
        let authorities = self.authorities.as_deref().unwrap_or_default();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authorities).filter_map(Result::ok));
        pair.chains_to(&roots, crate::clock::now())
    }

    fn in_folder((pair, authorities): (Pair, Option<Vec<u8>>)) -> Self {
        Self { pair, authorities, kept: Kept::default() }
    }

    fn in_secret((pair, kept): (Pair, Kept)) -> Self {
        Self { pair, authorities: Some(kept.authorities.clone().into_bytes()), kept }
    }
}

/// Sees to the certificate of one server.
pub(super) struct Keeper {
    certificates: Certificates,
    bundles: Option<Writer>,
    presented: Arc<Presented>,
    figures: Figures,
    found: Found,
    /// A new certificate waits one look while API servers hear of a new authority.
    waited: bool,
    told: String,
}

/// What became of the authorities in one round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Published {
    /// Wherever we look, they are.
    Before,
    /// They were written just now.
    Now,
    /// They could not be looked for.
    Never,
}

impl Keeper {
    pub(super) fn new(
        certificates: Certificates,
        bundles: Option<Bundles>,
        presented: Arc<Presented>,
        figures: Figures,
        found: Found,
    ) -> Self {
        let bundles = bundles.map(Writer::new);
        Self { certificates, bundles, presented, figures, found, waited: false, told: String::new() }
    }

    /// Publish and present whatever is found, as soon as it changes; what cannot be used leaves the former in place.
    pub(super) async fn run(mut self) {
        tell_dates(&self.found.pair, &self.figures);
        loop {
            let published = self.publish().await;
            self.present(published);
            tokio::time::sleep(self.certificates.every()).await;
            let looked = self.certificates.look(&self.found).await;
            self.figures.looked(looked.is_ok());
            match looked {
                Ok(found) => match self.worse(&found) {
                    Some(wrong) => {
                        self.tell(&format!("the webhook server keeps its former certificate: {wrong}"))
                    }
                    None => {
                        self.told.clear();
                        self.found = found;
                    }
                },
                Err(error) => self.tell(&format!("the webhook server keeps its former certificate: {error}")),
            }
        }
    }

    /// Why what was found is worse than what is presented: nobody would take a certificate that is out of date.
    fn worse(&self, found: &Found) -> Option<String> {
        let now = crate::clock::now();
        let former = self.presented.pair().out_of_date(now).is_none();
        found.pair.out_of_date(now).filter(|_| former)
    }

    /// Have the authorities where API servers look for them.
    async fn publish(&mut self) -> Published {
        let (Some(bundles), Some(authorities)) = (&mut self.bundles, &self.found.authorities) else {
            return Published::Before;
        };
        match bundles.round(authorities).await {
            Ok(0) => Published::Before,
            Ok(_) => Published::Now,
            Err(error) => {
                self.tell(&format!("cannot look for webhook configurations: {error}"));
                Published::Never
            }
        }
    }

    /// A certificate that is not trusted yet is worse than the former one, as long as that is valid and trusted.
    fn present(&mut self, published: Published) {
        let former = self.presented.pair();
        if former == self.found.pair {
            return;
        }
        let wait = match published {
            Published::Before => false,
            // Whom they do not trust any more gains nothing by waiting.
            Published::Now => !self.waited && self.found.trusts(&former),
            Published::Never => former.out_of_date(crate::clock::now()).is_none(),
        };
        if wait {
            self.waited = published == Published::Now;
            return;
        }
        self.waited = false;
        self.presented.set(self.found.pair.clone());
        tracing::info!(until = %self.found.pair.validity().until, "the webhook server has a new certificate");
        tell_dates(&self.found.pair, &self.figures);
    }

    /// Once is enough, until it is something else.
    fn tell(&mut self, warning: &str) {
        if self.told != warning {
            tracing::warn!("{warning}");
            warning.clone_into(&mut self.told);
        }
    }
}

/// Tell when the certificate in use will expire, and that it has.
fn tell_dates(pair: &Pair, figures: &Figures) {
    figures.expires(pair.validity().until);
    if let Some(wrong) = pair.out_of_date(crate::clock::now()) {
        tracing::warn!("{wrong}; API servers will not trust the webhook server");
    }
}
