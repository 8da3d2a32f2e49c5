//! The certificate that every handshake from now on presents; open connections are not touched.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificate::{CertificateError, ServingCertificate, provider};

/// The pair in use.
#[derive(Debug)]
pub(super) struct CurrentCertificate(RwLock<ServingCertificate>);

impl CurrentCertificate {
    pub(super) fn new(pair: ServingCertificate) -> Arc<Self> {
        Arc::new(Self(RwLock::new(pair)))
    }

    pub(super) fn set(&self, pair: ServingCertificate) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = pair;
    }

    pub(super) fn pair(&self) -> ServingCertificate {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How TLS is spoken: 1.2 and 1.3, HTTP/2 before HTTP/1.1, and no resumed sessions, so that what a client verified
    /// is always the present certificate.
    pub(super) fn tls(self: &Arc<Self>) -> Result<rustls::ServerConfig, CertificateError> {
        let mut tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self.clone());
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        tls.session_storage = Arc::new(NoServerSessionStorage {});
        tls.send_tls13_tickets = 0;
        Ok(tls)
    }
}

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.pair().key())
    }
}
