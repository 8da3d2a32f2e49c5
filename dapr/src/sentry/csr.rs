//! A certificate signing request → the key that it proves to have. Names and rights that it asks for are not taken over, and those of an
//! authority are refused.

use rcgen::{PublicKeyData, SignatureAlgorithm};
use rustls::pki_types::CertificateSigningRequestDer;
use rustls::pki_types::pem::PemObject as _;
use x509_cert::der::asn1::{Any, ObjectIdentifier};
use x509_cert::der::{Decode as _, Encode as _, Tag, Tagged as _};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage};
use x509_cert::request::CertReqInfo;

use super::authority::provider;

const EXTENSIONS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.14");
const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const EXTENDED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37");
/// Of servers and of clients.
const PURPOSES: [ObjectIdentifier; 2] =
    [ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1"), ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2")];
/// A request with an RSA key of 4096 bits and some names is two kilobytes long.
const SIZE_AT_MOST: usize = 16 * 1024;
/// The algorithms of keys: by the identifier that a request has, and as they are written into certificates.
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");

/// Why a request is not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CsrError {
    #[error("the certificate signing request has more than {SIZE_AT_MOST} bytes")]
    TooLong,
    #[error("the certificate signing request cannot be read; expected one CERTIFICATE REQUEST block in PEM")]
    Unreadable,
    #[error(
        "the key of the certificate signing request cannot be used; expected Ed25519, ECDSA P-256 or P-384, or RSA"
    )]
    Key,
    #[error(
        "the signature of the certificate signing request is not that of its key; expected SHA-256 or longer, RSA from 2048 bits"
    )]
    Signature,
    #[error("the certificate signing request asks for the rights of an authority; a sidecar gets none")]
    Authority,
    #[error("the certificate signing request asks for a usage other than that of a server and a client")]
    Usage,
}

/// The key of a request.
#[derive(Clone, Debug)]
pub(super) struct RequestedKey {
    algorithm: &'static SignatureAlgorithm,
    bytes: Vec<u8>,
}

impl PublicKeyData for RequestedKey {
    fn der_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.algorithm
    }
}

/// Reads a request in PEM, and verifies that its author has the key.
pub(super) fn key_of(pem: &[u8]) -> Result<RequestedKey, CsrError> {
    if pem.len() > SIZE_AT_MOST {
        return Err(CsrError::TooLong);
    }
    let unreadable = |_| CsrError::Unreadable;
    let der = CertificateSigningRequestDer::from_pem_slice(pem).map_err(|_| CsrError::Unreadable)?;
    let whole: Vec<Any> = Vec::from_der(&der).map_err(unreadable)?;
    let [info, algorithm, signature] = whole.as_slice() else { return Err(CsrError::Unreadable) };
    if (algorithm.tag(), signature.tag()) != (Tag::Sequence, Tag::BitString) {
        return Err(CsrError::Unreadable);
    }
    // The bytes that were signed: the parts keep their values as they came.
    let signed = info.to_der().map_err(unreadable)?;
    let parsed = CertReqInfo::from_der(&signed).map_err(unreadable)?;
    let key = parsed.public_key.subject_public_key.as_bytes().ok_or(CsrError::Key)?;
    let key_algorithm: Vec<Any> =
        Vec::from_der(&parsed.public_key.algorithm.to_der().map_err(unreadable)?).map_err(unreadable)?;
    // As rustls writes identifiers: without the outer header.
    let mut identifier = Vec::new();
    for part in &key_algorithm {
        identifier.extend(part.to_der().map_err(unreadable)?);
    }
    let [0, signature @ ..] = signature.value() else { return Err(CsrError::Signature) };
    let algorithms = provider().signature_verification_algorithms.all;
    let is_valid = algorithms.iter().any(|one| {
        one.public_key_alg_id().as_ref() == identifier
            && one.signature_alg_id().as_ref() == algorithm.value()
            && one.verify_signature(key, &signed, signature).is_ok()
    });
    let written = written(&parsed)?;
    if !is_valid {
        return Err(CsrError::Signature);
    }
    let extensions = parsed.attributes.iter().filter(|attribute| attribute.oid == EXTENSIONS);
    for value in extensions.flat_map(|attribute| attribute.values.iter()) {
        let extensions: Vec<Extension> = value.decode_as().map_err(unreadable)?;
        extensions.iter().try_for_each(permitted)?;
    }
    Ok(RequestedKey { algorithm: written, bytes: key.to_vec() })
}

/// How the key's algorithm is written into a certificate.
fn written(info: &CertReqInfo) -> Result<&'static SignatureAlgorithm, CsrError> {
    let algorithm = &info.public_key.algorithm;
    let curve = || algorithm.parameters.as_ref().and_then(|curve| curve.decode_as::<ObjectIdentifier>().ok());
    match algorithm.oid {
        ED25519 => Ok(&rcgen::PKCS_ED25519),
        RSA => Ok(&rcgen::PKCS_RSA_SHA256),
        EC if curve() == Some(P256) => Ok(&rcgen::PKCS_ECDSA_P256_SHA256),
        EC if curve() == Some(P384) => Ok(&rcgen::PKCS_ECDSA_P384_SHA384),
        _ => Err(CsrError::Key),
    }
}

fn permitted(extension: &Extension) -> Result<(), CsrError> {
    let value = extension.extn_value.as_bytes();
    let unreadable = |_| CsrError::Unreadable;
    match extension.extn_id {
        BASIC_CONSTRAINTS if BasicConstraints::from_der(value).map_err(unreadable)?.ca => {
            Err(CsrError::Authority)
        }
        KEY_USAGE => {
            let usage = KeyUsage::from_der(value).map_err(unreadable)?;
            if usage.key_cert_sign() || usage.crl_sign() { Err(CsrError::Authority) } else { Ok(()) }
        }
        EXTENDED_KEY_USAGE => {
            let usage = ExtendedKeyUsage::from_der(value).map_err(unreadable)?;
            if usage.0.iter().all(|one| PURPOSES.contains(one)) { Ok(()) } else { Err(CsrError::Usage) }
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};

    use super::*;

    fn request(key: &KeyPair, change: impl FnOnce(&mut CertificateParams)) -> String {
        let mut params = CertificateParams::new(vec!["other.example".to_owned()]).unwrap();
        change(&mut params);
        params.serialize_request(key).unwrap().pem().unwrap()
    }

    #[test]
    fn the_keys_that_sidecars_have_are_taken() {
        for algorithm in
            [&rcgen::PKCS_ED25519, &rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ECDSA_P384_SHA384]
        {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let read = key_of(request(&key, |_| {}).as_bytes()).unwrap();
            assert_eq!(read.subject_public_key_info(), key.subject_public_key_info(), "{algorithm:?}");
        }
    }

    #[test]
    fn rights_that_no_sidecar_has_are_refused() {
        let key = KeyPair::generate().unwrap();
        let refused = |change: fn(&mut CertificateParams)| key_of(request(&key, change).as_bytes()).err();
        let usages = |params: &mut CertificateParams, usage| params.key_usages = vec![usage];
        assert_eq!(
            refused(|params| params.key_usages = vec![KeyUsagePurpose::KeyCertSign]),
            Some(CsrError::Authority)
        );
        let good = request(&key, |params| usages(params, KeyUsagePurpose::DigitalSignature));
        assert!(key_of(good.as_bytes()).is_ok());
        assert_eq!(
            refused(|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning]),
            Some(CsrError::Usage)
        );
        assert_eq!(
            refused(|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]),
            None
        );
    }

    #[test]
    fn no_changed_byte_passes_and_none_makes_it_panic() {
        let key = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        let good = request(&key, |_| {});
        let der = CertificateSigningRequestDer::from_pem_slice(good.as_bytes()).unwrap();
        let pem = |der: &[u8]| {
            use base64::Engine as _;
            let text = base64::engine::general_purpose::STANDARD.encode(der);
            format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n")
        };
        assert!(key_of(pem(&der).as_bytes()).is_ok());
        for length in 0..der.len() {
            assert!(key_of(pem(&der[..length]).as_bytes()).is_err(), "{length}");
        }
        for place in 0..der.len() {
            for byte in [0x00, 0x30, 0x7f, 0x80, 0xff] {
                let mut changed = der.to_vec();
                if changed[place] == byte {
                    continue;
                }
                changed[place] = byte;
                assert!(key_of(pem(&changed).as_bytes()).is_err(), "{place} {byte}");
            }
        }
        for wrong in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"] {
            assert_eq!(key_of(wrong.as_bytes()).err(), Some(CsrError::Unreadable));
        }
        assert_eq!(key_of(&vec![b'-'; SIZE_AT_MOST + 1]).err(), Some(CsrError::TooLong));
    }
}
