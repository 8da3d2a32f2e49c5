//! The texts of a trust bundle as the Secret holds them, and the dates of a certificate. No behaviour.

use jiff::{SignedDuration, Timestamp};
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::time::Time;

/// From when until when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

impl Validity {
    pub(super) fn of(certificate: &CertificateInner<Raw>) -> Option<Self> {
        let validity = certificate.tbs_certificate().validity();
        let second =
            |time: Time| Timestamp::from_second(i64::try_from(time.to_unix_duration().as_secs()).ok()?).ok();
        Some(Self { from: second(validity.not_before)?, until: second(validity.not_after)? })
    }

    /// Whether two thirds of it are over.
    pub(crate) fn is_due(self, now: Timestamp) -> bool {
        let life = self.until.duration_since(self.from).unsigned_abs();
        now.duration_since(self.from) >= SignedDuration::try_from(life * 2 / 3).unwrap_or_default()
    }
}

/// What the Secret holds, as texts in PEM.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct BundleTexts {
    /// `issuer.crt`: the certificate of the issuer, and of others between it and the anchors.
    pub(crate) issuer: String,
    /// `issuer.key`.
    pub(crate) issuer_key: String,
    /// `ca.crt`: the roots, the newest first where they are ours.
    pub(crate) anchors: String,
    /// `ca.key`: the key of the newest root, where that is ours.
    pub(crate) root_key: String,
    /// `jwt.key`: what signs tokens.
    pub(crate) jwt_key: String,
    /// `jwks.json`: the public keys of tokens, the newest first where they are ours.
    pub(crate) jwt_keys: String,
}

impl std::fmt::Debug for BundleTexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BundleTexts").finish_non_exhaustive()
    }
}

impl BundleTexts {
    /// Nothing was put into the Secret yet, as where a chart made it.
    pub(super) fn is_empty(&self) -> bool {
        [&self.issuer, &self.issuer_key, &self.anchors].iter().all(|text| text.trim().is_empty())
    }
}
