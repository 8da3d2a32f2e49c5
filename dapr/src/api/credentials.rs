//! The certificate that the API shows and the authorities by which it knows sidecars, which may change at any time.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{
    ClientHello, NoServerSessionStorage, ResolvesServerCert, VerifierBuilderError, WebPkiClientVerifier,
};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};

/// A file with more certificates is a mistake.
const CERTIFICATES_AT_MOST: usize = 64;

/// Certificate, key and trust anchors as texts in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// The chain of the operator, its own certificate first.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
    /// Who signs the certificates of sidecars.
    pub trust_anchors: Vec<u8>,
}

impl std::fmt::Debug for Pem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pem").finish_non_exhaustive()
    }
}

/// Why the API cannot be served with these texts.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A text is not what it should be.
    #[error("the {what} cannot be read: {source}; expected PEM with {expected}")]
    Text {
        /// Which.
        what: &'static str,
        /// What it should have.
        expected: &'static str,
        /// What is wrong.
        source: pem::Error,
    },
    /// More than any chain has.
    #[error("the {0} has more than {CERTIFICATES_AT_MOST} certificates")]
    TooMany(&'static str),
    /// Certificate and key do not belong together, or an authority is none.
    #[error("the certificate cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    /// There is no authority.
    #[error("the trust anchors cannot be used: {0}; expected at least one CERTIFICATE block")]
    Anchors(#[from] VerifierBuilderError),
}

/// What is used now. Each handshake asks anew; connections that stand are left alone.
#[derive(Clone, Debug)]
pub struct Credentials(Arc<RwLock<Current>>);

#[derive(Clone, Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Credentials {
    /// Reads the texts.
    ///
    /// # Errors
    /// Which text is not what it should be.
    pub fn new(texts: &Pem) -> Result<Self, CredentialsError> {
        Ok(Self(Arc::new(RwLock::new(Current::read(texts)?))))
    }

    /// Uses other texts from the next handshake on.
    ///
    /// # Errors
    /// Those of [`Credentials::new`]; what was used before is used further.
    pub fn replace(&self, texts: &Pem) -> Result<(), CredentialsError> {
        let current = Current::read(texts)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = current;
        Ok(())
    }

    fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same with clients that have no certificate yet, because they come for one.
    pub(crate) fn tls_of_issuer(&self) -> Result<rustls::ServerConfig, CredentialsError> {
        let tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self.clone()));
        Ok(with_http2(tls))
    }

    /// How TLS is spoken: HTTP/2 alone, a certificate of each client, and no resumed sessions, so that both sides always
    /// verify what is valid now.
    pub(super) fn tls(&self) -> Result<rustls::ServerConfig, CredentialsError> {
        let tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(self.clone()))
            .with_cert_resolver(Arc::new(self.clone()));
        Ok(with_http2(tls))
    }
}

fn with_http2(mut tls: rustls::ServerConfig) -> rustls::ServerConfig {
    tls.alpn_protocols = vec![b"h2".to_vec()];
    tls.session_storage = Arc::new(NoServerSessionStorage {});
    tls.send_tls13_tickets = 0;
    tls
}

impl Current {
    fn read(texts: &Pem) -> Result<Self, CredentialsError> {
        let chain = certificates("certificate", &texts.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&texts.key).map_err(|source| CredentialsError::Text {
            what: "key",
            expected: "one PRIVATE KEY block",
            source,
        })?;
        let mut roots = RootCertStore::empty();
        for anchor in certificates("trust anchors", &texts.trust_anchors)? {
            roots.add(anchor)?;
        }
        Ok(Self {
            key: Arc::new(CertifiedKey::from_der(chain, key, &provider())?),
            verifier: WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build()?,
        })
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The certificates of a text in PEM.
pub(crate) fn certificates(
    what: &'static str,
    text: &[u8],
) -> Result<Vec<CertificateDer<'static>>, CredentialsError> {
    let expected = "at least one CERTIFICATE block";
    let unreadable = |source| CredentialsError::Text { what, expected, source };
    let found = CertificateDer::pem_slice_iter(text).take(CERTIFICATES_AT_MOST + 1);
    let found = found.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    match found.len() {
        0 => Err(unreadable(pem::Error::NoItemsFound)),
        1..=CERTIFICATES_AT_MOST => Ok(found),
        _ => Err(CredentialsError::TooMany(what)),
    }
}

impl ResolvesServerCert for Credentials {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current().key.clone())
    }
}

impl ClientCertVerifier for Credentials {
    /// No hints: a sidecar has one certificate, and shows it.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verifier = self.current().verifier.clone();
        verifier.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let verifier = self.current().verifier.clone();
        verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let verifier = self.current().verifier.clone();
        verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.current().verifier.supported_verify_schemes()
    }
}
