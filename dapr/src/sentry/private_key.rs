//! A private key in PEM, in each form that Dapr's sentry takes → a key that signs.

use rcgen::KeyPair;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use x509_cert::der::asn1::Any;
use x509_cert::der::{Class, Decode as _, Encode as _, Tag, TagNumber, Tagged as _};

/// What a key of a bundle may be, for messages.
pub(super) const EXPECTED: &str = "one PRIVATE KEY, EC PRIVATE KEY or RSA PRIVATE KEY block in PEM, without a password: \
    ECDSA P-256 or P-384, RSA of 2048 to 4096 bits, or Ed25519";

/// Version 0 of PKCS#8.
const VERSION: [u8; 3] = [0x02, 0x01, 0x00];
/// The algorithm of PKCS#1 keys, `rsaEncryption` without parameters.
const RSA: [u8; 13] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
/// The algorithm of SEC1 keys, `id-ecPublicKey`; the curve follows.
const EC: [u8; 9] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

/// The key of the first block that is one. The message of an error repeats nothing of the text.
pub(super) fn read(pem: &str) -> Result<KeyPair, String> {
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| "it has no such block".to_owned())?;
    let wrapped = match &key {
        PrivateKeyDer::Pkcs8(key) => Some(key.secret_pkcs8_der().to_vec()),
        PrivateKeyDer::Pkcs1(key) => wrapped(&RSA, key.secret_pkcs1_der()),
        PrivateKeyDer::Sec1(key) => {
            let key = key.secret_sec1_der();
            curve(key).and_then(|curve| wrapped(&[&EC[..], &curve].concat(), key))
        }
        _ => None,
    };
    let pkcs8 = wrapped.ok_or_else(|| "its block does not name a key and its curve".to_owned())?;
    KeyPair::try_from(pkcs8).map_err(|_| "it is no key that can sign".to_owned())
}

/// A key without the name of its algorithm, as PKCS#8 has it.
fn wrapped(algorithm: &[u8], key: &[u8]) -> Option<Vec<u8>> {
    let part = |tag: Tag, content: &[u8]| Any::new(tag, content).ok()?.to_der().ok();
    let (algorithm, key) = (part(Tag::Sequence, algorithm)?, part(Tag::OctetString, key)?);
    part(Tag::Sequence, &[&VERSION[..], &algorithm, &key].concat())
}

/// The curve that a SEC1 key names, in DER.
fn curve(key: &[u8]) -> Option<Vec<u8>> {
    let parts: Vec<Any> = Vec::from_der(key).ok()?;
    let parameters =
        |part: &&Any| part.tag().class() == Class::ContextSpecific && part.tag().number() == TagNumber(0);
    parts.iter().find(parameters).map(|part| part.value().to_vec())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn key(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/keys");
        fs::read_to_string(format!("{folder}/{name}.pem")).unwrap()
    }

    #[test]
    fn a_key_is_read_in_each_form_that_openssl_writes() {
        for (name, algorithm) in [
            ("rsa", &rcgen::PKCS_RSA_SHA256),
            ("rsa-traditional", &rcgen::PKCS_RSA_SHA256),
            ("ec-traditional", &rcgen::PKCS_ECDSA_P256_SHA256),
            ("ec-384-traditional", &rcgen::PKCS_ECDSA_P384_SHA384),
        ] {
            assert_eq!(read(&key(name)).unwrap().algorithm(), algorithm, "{name}");
        }
        let both = ["rsa", "rsa-traditional"].map(|name| read(&key(name)).unwrap().public_key_pem());
        assert_eq!(both[0], both[1]);
    }

    #[test]
    fn a_key_that_cannot_sign_is_refused_without_its_text() {
        let without_curve = "-----BEGIN EC PRIVATE KEY-----\nMAA=\n-----END EC PRIVATE KEY-----\n";
        for (text, reason) in [
            ("nonsense".to_owned(), "no such block"),
            (key("encrypted"), "no such block"),
            (key("rsa-1024"), "no key that can sign"),
            (key("ec-521-traditional"), "no key that can sign"),
            (without_curve.to_owned(), "and its curve"),
        ] {
            let said = read(&text).err().unwrap();
            assert!(said.contains(reason), "{said}");
        }
    }
}
