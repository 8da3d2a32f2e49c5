//! The issuer of a trust bundle, read from its texts → signed certificates of sidecars and of the control plane.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, date_time_ymd,
};
use rustls::RootCertStore;
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ParsedCertificate;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::{Decode as _, Tag, Tagged as _};
use x509_cert::ext::pkix::SubjectKeyIdentifier;

use super::error::AuthorityError;
use super::jwt::JwtKey;
use super::private_key;
use super::texts::{BundleTexts, Validity};
use crate::api::certificates;

/// A certificate with the chain below the trust anchors.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    /// The certificate and its issuer's.
    pub(crate) pem: String,
    pub(crate) validity: Validity,
}

/// What a certificate says, and how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) uri: String,
    pub(crate) dns: Vec<String>,
}

/// How long certificates are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lifetime {
    pub(crate) life: Duration,
    /// Clocks of a cluster differ: certificates are valid from so long before.
    pub(crate) skew: Duration,
}

impl Lifetime {
    /// From when until when what is made now is valid, in whole seconds, as certificates and tokens know them.
    pub(super) fn validity(self, now: Timestamp) -> Result<Validity, AuthorityError> {
        let clock = || AuthorityError::Machine("clock");
        let whole = |at: Timestamp| Timestamp::from_second(at.as_second()).map_err(|_| clock());
        let from = now.checked_sub(self.skew).map_err(|_| clock())?;
        let until = now.checked_add(self.life).map_err(|_| clock())?;
        Ok(Validity { from: whole(from)?, until: whole(until)? })
    }
}

/// Signs with the issuer of one bundle.
pub(crate) struct Authority {
    texts: BundleTexts,
    issuer: Issuer<'static, KeyPair>,
    validity: Validity,
    /// Where tokens are signed.
    jwt: Option<JwtKey>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("validity", &self.validity).finish_non_exhaustive()
    }
}

impl Authority {
    /// The issuer, if sidecars that trust the bundle's anchors would take what it signs.
    pub(crate) fn read(texts: &BundleTexts, now: Timestamp) -> Result<Self, AuthorityError> {
        let unusable = |key, expected| move |reason: String| AuthorityError::Text { key, reason, expected };
        let chain = certificates("issuer", texts.issuer.as_bytes())
            .map_err(|error| unusable("issuer.crt", "CERTIFICATE blocks in PEM")(error.to_string()))?;
        let key =
            private_key::read(&texts.issuer_key).map_err(unusable("issuer.key", private_key::EXPECTED))?;
        let first = chain.first().map(AsRef::as_ref).unwrap_or_default();
        let unread =
            || unusable("issuer.crt", "the certificate of an authority")("it cannot be read".to_owned());
        let parsed: CertificateInner<Raw> = CertificateInner::from_der(first).map_err(|_| unread())?;
        let validity = Validity::of(&parsed).ok_or_else(unread)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name_of(&parsed).ok_or_else(|| {
            unusable("issuer.crt", "a name of texts, each kind once")("its name cannot be used".to_owned())
        })?;
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        if let Ok(Some((_, identifier))) = parsed.tbs_certificate().get_extension::<SubjectKeyIdentifier>() {
            params.key_identifier_method = KeyIdMethod::PreSpecified(identifier.0.as_bytes().to_vec());
        }
        let authority = Self { texts: texts.clone(), issuer: Issuer::new(params, key), validity, jwt: None };
        authority.prove(now)?;
        Ok(authority)
    }

    /// The same where tokens are signed, too.
    pub(super) fn signing_tokens(mut self) -> Result<Self, AuthorityError> {
        self.jwt = Some(JwtKey::read(&self.texts)?);
        Ok(self)
    }

    pub(super) fn jwt(&self) -> Option<&JwtKey> {
        self.jwt.as_ref()
    }

    /// Signs a certificate that is thrown away, and looks whether the anchors take it.
    fn prove(&self, now: Timestamp) -> Result<(), AuthorityError> {
        let subject = Subject { uri: "spiffe://proof/ns/proof/proof".to_owned(), dns: Vec::new() };
        let lifetime = Lifetime { life: Duration::from_secs(60), skew: Duration::ZERO };
        let signed = self.sign(&KeyPair::generate()?, &subject, lifetime, now)?;
        let wrong = |error: String| AuthorityError::Chain(error);
        let chain = certificates("chain", signed.pem.as_bytes()).map_err(|error| wrong(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        let anchors = certificates("trust anchors", self.texts.anchors.as_bytes());
        for anchor in anchors.map_err(|error| AuthorityError::Text {
            key: "ca.crt",
            reason: error.to_string(),
            expected: "CERTIFICATE blocks in PEM",
        })? {
            roots.add(anchor).map_err(|error| wrong(error.to_string()))?;
        }
        let Some((leaf, others)) = chain.split_first() else {
            return Err(wrong("no certificate".to_owned()));
        };
        let leaf = ParsedCertificate::try_from(leaf).map_err(|error| wrong(error.to_string()))?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().unsigned_abs()));
        let algorithms = provider().signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&leaf, &roots, others, now, algorithms)
            .map_err(|error| wrong(error.to_string()))
    }

    pub(crate) fn texts(&self) -> &BundleTexts {
        &self.texts
    }

    /// When the issuer expires, and since when it is valid.
    pub(crate) fn validity(&self) -> Validity {
        self.validity
    }

    /// A certificate for that key: of a server and a client, with this identity alone, and not valid for longer than the issuer.
    pub(crate) fn sign(
        &self,
        key: &impl PublicKeyData,
        subject: &Subject,
        lifetime: Lifetime,
        now: Timestamp,
    ) -> Result<Signed, AuthorityError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        let uri = subject.uri.as_str().try_into()?;
        params.subject_alt_names = vec![SanType::URI(uri)];
        for name in &subject.dns {
            params.subject_alt_names.push(SanType::DnsName(name.as_str().try_into()?));
        }
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let validity = between(&mut params, lifetime, Some(self.validity.until), now)?;
        let certificate = params.signed_by(key, &self.issuer)?;
        let pem = format!("{}{}", certificate.pem(), self.texts.issuer);
        Ok(Signed { pem, validity })
    }
}

/// An authority that signs itself, or that another one signs: its certificate and key.
pub(super) fn make(
    organization: &str,
    below: u8,
    signer: Option<(&str, &str)>,
    lifetime: Lifetime,
    now: Timestamp,
) -> Result<(String, String), AuthorityError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, organization);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(below));
    params.key_usages =
        vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    let key = KeyPair::generate_for(&rcgen::PKCS_ED25519)?;
    let certificate = match signer {
        None => {
            between(&mut params, lifetime, None, now)?;
            params.self_signed(&key)?
        }
        Some((certificate, signing)) => {
            let unread = || AuthorityError::Text {
                key: "ca.crt",
                reason: "its first certificate cannot be read".to_owned(),
                expected: "the authority whose key ca.key is",
            };
            let der = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|_| unread())?;
            let parsed: CertificateInner<Raw> = CertificateInner::from_der(&der).map_err(|_| unread())?;
            let mut root = CertificateParams::default();
            root.distinguished_name = name_of(&parsed).ok_or_else(unread)?;
            root.key_usages = vec![KeyUsagePurpose::KeyCertSign];
            params.use_authority_key_identifier_extension = true;
            between(&mut params, lifetime, Validity::of(&parsed).map(|one| one.until), now)?;
            params.signed_by(&key, &Issuer::new(root, KeyPair::from_pem(signing)?))?
        }
    };
    Ok((certificate.pem(), key.serialize_pem()))
}

/// Sets the dates and a serial number that no other certificate has.
fn between(
    params: &mut CertificateParams,
    lifetime: Lifetime,
    end: Option<Timestamp>,
    now: Timestamp,
) -> Result<Validity, AuthorityError> {
    let clock = || AuthorityError::Machine("clock");
    let Validity { from, until } = lifetime.validity(now)?;
    let until = end.map_or(until, |end| end.min(until));
    let seconds = |at: Timestamp| u64::try_from(at.as_second()).map_err(|_| clock());
    let since_1970 = |seconds: u64| date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds);
    params.not_before = since_1970(seconds(from)?);
    params.not_after = since_1970(seconds(until)?);
    let mut serial = [0; 16];
    provider().secure_random.fill(&mut serial).map_err(|_| AuthorityError::Machine("source of chance"))?;
    // Positive, and of full length.
    serial[0] = serial[0] & 0x7f | 0x40;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(Validity { from, until })
}

/// The subject of a certificate in the words of the signer; nothing, where it cannot be said in them.
fn name_of(certificate: &CertificateInner<Raw>) -> Option<DistinguishedName> {
    let mut name = DistinguishedName::new();
    for attribute in certificate.tbs_certificate().subject().iter() {
        let text = std::str::from_utf8(attribute.value.value()).ok()?;
        let value = match attribute.value.tag() {
            Tag::Utf8String => DnValue::Utf8String(text.to_owned()),
            Tag::PrintableString => DnValue::PrintableString(text.try_into().ok()?),
            Tag::Ia5String => DnValue::Ia5String(text.try_into().ok()?),
            _ => return None,
        };
        let arcs: Vec<u64> = attribute.oid.arcs().map(u64::from).collect();
        name.push(DnType::from_oid(&arcs), value);
    }
    Some(name)
}

pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
