//! Reads a certificate chain and its key from PEM, and until when they are valid.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use sha2::{Digest as _, Sha256};

use super::validity::Validity;

/// A chain longer than this is a mistake.
const CHAIN_AT_MOST: usize = 16;

/// Why a certificate and a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The text of the certificate is no PEM, or none of a certificate.
    #[error(
        "the certificate is not usable PEM ({0}); it has to be a chain of `CERTIFICATE` blocks, the server's first"
    )]
    Certificate(pem::Error),
    /// The text of the key is no PEM, or none of a key.
    #[error("the key is not usable PEM ({0}); it has to be one `PRIVATE KEY` block")]
    Key(pem::Error),
    /// More certificates than any chain has.
    #[error("the certificate's chain has more than {CHAIN_AT_MOST} certificates")]
    TooLong,
    /// The dates of the certificate cannot be read.
    #[error("the certificate's dates cannot be read; is it an X.509 certificate?")]
    Dates,
    /// The key is none we can use, or another certificate's.
    #[error("certificate and key cannot be used together: {0}")]
    Tls(#[from] rustls::Error),
}

/// A certificate chain and its key, which match.
#[derive(Clone)]
pub struct ServingCertificate {
    key: Arc<CertifiedKey>,
    validity: Validity,
    identity: [u8; 32],
}

impl std::fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServingCertificate").field("validity", &self.validity).finish_non_exhaustive()
    }
}

impl PartialEq for ServingCertificate {
    fn eq(&self, other: &Self) -> bool {
        self.identity == other.identity
    }
}

/// The one provider of cryptography.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

impl ServingCertificate {
    /// Read both texts; an expired pair is read like any other.
    ///
    /// # Errors
    /// Which of the two texts is not what it should be, or that they do not belong together.
    pub fn read(certificate: &[u8], key: &[u8]) -> Result<Self, CertificateError> {
        let chain = CertificateDer::pem_slice_iter(certificate)
            .take(CHAIN_AT_MOST + 1)
            .collect::<Result<Vec<_>, _>>()
            .map_err(CertificateError::Certificate)?;
        let first = chain.first().ok_or(CertificateError::Certificate(pem::Error::NoItemsFound))?;
        if chain.len() > CHAIN_AT_MOST {
            return Err(CertificateError::TooLong);
        }
        let validity = Validity::of(first).ok_or(CertificateError::Dates)?;
        let mut identity = Sha256::new();
        identity.update(certificate);
        identity.update(key);
        let key = PrivateKeyDer::from_pem_slice(key).map_err(CertificateError::Key)?;
        let key = CertifiedKey::from_der(chain, key, &provider())?;
        Ok(Self { key: Arc::new(key), validity, identity: identity.finalize().into() })
    }

    /// From when until when clients accept it.
    pub fn validity(&self) -> Validity {
        self.validity
    }

    /// The error in its dates, if there is one.
    pub fn out_of_date(&self, now: Timestamp) -> Option<String> {
        let Validity { from, until } = self.validity;
        if now >= until {
            return Some(format!("the certificate expired at {until}; put a new one in its place"));
        }
        (now < from)
            .then(|| format!("the certificate is not valid before {from}; look at this machine's clock"))
    }

    /// Would a client that trusts these authorities take it now, whatever the server's name?
    pub(super) fn chains_to(&self, roots: &RootCertStore, now: Timestamp) -> bool {
        let Some((first, others)) = self.key.cert.split_first() else { return false };
        let Ok(first) = ParsedCertificate::try_from(first) else { return false };
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().unsigned_abs()));
        let algorithms = provider().signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&first, roots, others, now, algorithms).is_ok()
    }

    pub(super) fn key(&self) -> Arc<CertifiedKey> {
        self.key.clone()
    }
}
