//! The certificate of a connection and the namespace that is asked for → what the sidecar may see.

use http::Extensions;
use rustls::pki_types::CertificateDer;
use tonic::Status;
use vela_listen::PeerCertificate;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use crate::resources::{Identity, Viewer};

/// Who asks is known by the certificate, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callers {
    /// Each has a certificate that was verified.
    Certified,
    /// Nothing is known of them.
    Anonymous,
}

impl Callers {
    /// What a sidecar that asks for this namespace may see.
    pub(super) fn viewer(self, extensions: &Extensions, namespace: &str) -> Result<Viewer, Status> {
        if self == Self::Anonymous {
            return Ok(Viewer::anonymous(namespace));
        }
        let certificate = extensions.get::<PeerCertificate>();
        let identity = certificate.ok_or("no certificate of a sidecar").and_then(|one| identity_of(&one.0));
        let identity = identity.map_err(Status::permission_denied)?;
        Viewer::authorized(&identity, namespace)
            .map_err(|denied| Status::permission_denied(denied.to_string()))
    }
}

/// The one identity that a certificate names.
fn identity_of(certificate: &CertificateDer<'_>) -> Result<Identity, &'static str> {
    const UNREADABLE: &str = "the certificate cannot be read";
    let certificate: CertificateInner<Raw> =
        CertificateInner::from_der(certificate).map_err(|_| UNREADABLE)?;
    let names = certificate.tbs_certificate().get_extension::<SubjectAltName>().map_err(|_| UNREADABLE)?;
    let names = names.map(|(_, names)| names.0).unwrap_or_default();
    let mut identities = names.iter().filter_map(|name| match name {
        GeneralName::UniformResourceIdentifier(uri) => Some(uri.as_str()),
        _ => None,
    });
    match (identities.next(), identities.next()) {
        (Some(identity), None) => identity.parse().map_err(|_| {
            "the certificate is of no sidecar; expected the name spiffe://TRUST-DOMAIN/ns/NAMESPACE/APP-ID"
        }),
        _ => Err("the certificate has to have one URI among its names, the identity of a sidecar"),
    }
}
