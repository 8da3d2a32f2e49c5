//! Certificates and keys in PEM → what a client makes of them.

use std::fmt;

use k8s_openapi::ByteString;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

/// The authorities to trust and the client's identity, where they differ from the system's and from none.
#[derive(Clone, Default)]
pub struct Tls {
    /// Certificates of the authorities that are trusted, in PEM.
    pub authorities: Option<Vec<u8>>,
    /// The certificate of who asks and its key, in PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// A key is not for logs.
impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    /// Writes it into a configuration. The error repeats nothing of what is given.
    pub(super) fn configure(&self, config: &mut kube::Config) -> Result<(), &'static str> {
        if let Some(pem) = &self.authorities {
            let read: Result<Vec<Vec<u8>>, _> = CertificateDer::pem_slice_iter(pem)
                .map(|certificate| certificate.map(|certificate| certificate.as_ref().to_vec()))
                .collect();
            let read = read.ok().filter(|all| !all.is_empty());
            config.root_cert = Some(read.ok_or("the authorities are no certificates in PEM")?);
        }
        if let Some((certificate, key)) = &self.identity {
            let encoded = |pem: &Vec<u8>| ByteString(pem.clone());
            let identity =
                json!({"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)});
            let read = serde_json::from_value(identity);
            config.auth_info = read.map_err(|_| "the certificate of the client cannot be used")?;
        }
        Ok(())
    }
}
