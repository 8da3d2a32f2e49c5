//! The certificate of a client, handed to those who answer its requests.

use tokio_rustls::rustls::pki_types::CertificateDer;

/// The certificate that a client showed and the TLS of [`crate::Config`] verified: an extension of each of its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificate(pub CertificateDer<'static>);
