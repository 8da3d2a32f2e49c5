//! The key of JWTs, as a text in PEM → signed tokens of sidecars, and the set of keys by which others verify them (RFC 7517 to 7519).

use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use x509_cert::der::Decode as _;
use x509_cert::der::asn1::Any;

use super::error::AuthorityError;
use super::private_key;
use super::texts::{BundleTexts, Validity};

/// The keys of the Secret.
const KEY: &str = "jwt.key";
const KEYS: &str = "jwks.json";
/// Public keys that are published at once: the present one and some before it.
const KEYS_AT_MOST: usize = 8;

/// How tokens of sidecars are signed beside their certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwts {
    /// The issuer that they name: the URL at which others find the documents of `address`.
    pub issuer: Option<String>,
    /// How long they are valid.
    pub life: Duration,
    /// Where the keys by which others verify them are served, if they are; an issuer has to be there.
    pub address: Option<SocketAddr>,
}

/// What a token says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claims<'a> {
    /// The identity, as in the certificate.
    pub(super) subject: &'a str,
    pub(super) audiences: &'a [String],
    pub(super) issuer: Option<&'a str>,
    pub(super) validity: Validity,
    pub(super) now: Timestamp,
}

/// Signs tokens.
pub(super) struct JwtKey {
    key: KeyPair,
    algorithm: &'static str,
    /// Bytes of each of the two numbers that are a signature of ECDSA.
    width: Option<usize>,
    id: String,
    keys: String,
}

impl JwtKey {
    /// The key of a bundle, which needs one.
    pub(super) fn read(texts: &BundleTexts) -> Result<Self, AuthorityError> {
        let unusable =
            |reason: String| AuthorityError::Text { key: KEY, reason, expected: private_key::EXPECTED };
        if texts.jwt_key.trim().is_empty() {
            return Err(unusable("it is missing".to_owned()));
        }
        let key = private_key::read(&texts.jwt_key).map_err(unusable)?;
        let (algorithm, width, mut public) =
            public(&key).ok_or_else(|| unusable("its algorithm is not one of JWTs".to_owned()))?;
        let id = thumbprint(&public);
        for (name, value) in [("kid", id.as_str()), ("alg", algorithm), ("use", "sig")] {
            public[name] = json!(value);
        }
        let keys = joined(public, &texts.jwt_keys)?;
        Ok(Self { key, algorithm, width, id, keys })
    }

    /// The set of public keys, as JSON.
    pub(super) fn keys(&self) -> &str {
        &self.keys
    }

    pub(super) fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// A token.
    pub(super) fn sign(&self, claims: Claims<'_>) -> Result<String, AuthorityError> {
        let mut chance = [0; 16];
        let random = rustls::crypto::ring::default_provider().secure_random;
        random.fill(&mut chance).map_err(|_| AuthorityError::Machine("source of chance"))?;
        let Claims { subject, audiences, issuer, validity, now } = claims;
        let header = json!({"alg": self.algorithm, "kid": self.id, "typ": "JWT"});
        let mut body = json!({
            "jti": format!("{:032x}", u128::from_be_bytes(chance)), "sub": subject, "aud": audiences, "use": "sig",
            "iat": now.as_second(), "nbf": validity.from.as_second(), "exp": validity.until.as_second(),
        });
        if let Some(issuer) = issuer {
            body["iss"] = json!(issuer);
        }
        let encoded = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encoded(&header), encoded(&body));
        let signature = self.key.sign(signed.as_bytes())?;
        let signature = match self.width {
            Some(width) => {
                two_numbers(&signature, width).ok_or(AuthorityError::Machine("signature of a token"))?
            }
            None => signature,
        };
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

impl BundleTexts {
    /// With a key of JWTs, and with its public half published beside those before it.
    pub(super) fn with_jwt_key(mut self) -> Result<Self, AuthorityError> {
        if self.jwt_key.trim().is_empty() {
            self.jwt_key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?.serialize_pem();
        }
        self.jwt_keys = JwtKey::read(&self)?.keys;
        Ok(self)
    }
}

/// The name of a key's algorithm, the width of the numbers of its signatures, and its public half in the words of JSON.
fn public(key: &KeyPair) -> Option<(&'static str, Option<usize>, Value)> {
    let (bytes, text) = (key.der_bytes(), |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes));
    let point = |curve: &str, width: usize| {
        let coordinates = bytes.strip_prefix(&[4]).filter(|both| both.len() == 2 * width)?;
        let (x, y) = coordinates.split_at(width);
        Some(json!({"kty": "EC", "crv": curve, "x": text(x), "y": text(y)}))
    };
    let algorithm = key.algorithm();
    if algorithm == &rcgen::PKCS_ECDSA_P256_SHA256 {
        Some(("ES256", Some(32), point("P-256", 32)?))
    } else if algorithm == &rcgen::PKCS_ECDSA_P384_SHA384 {
        Some(("ES384", Some(48), point("P-384", 48)?))
    } else if algorithm == &rcgen::PKCS_ED25519 {
        Some(("EdDSA", None, json!({"kty": "OKP", "crv": "Ed25519", "x": text(bytes)})))
    } else if algorithm == &rcgen::PKCS_RSA_SHA256 {
        let [modulus, exponent] = numbers(bytes)?;
        Some(("RS256", None, json!({"kty": "RSA", "n": text(&modulus), "e": text(&exponent)})))
    } else {
        None
    }
}

/// The name of a key that follows from the key itself (RFC 7638); the members are sorted, as that asks.
fn thumbprint(public: &Value) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(public.to_string()))
}

/// The set of keys with this one first; it stays the same text where it has the key already.
fn joined(public: Value, keys: &str) -> Result<String, AuthorityError> {
    if keys.trim().is_empty() {
        return Ok(json!({"keys": [public]}).to_string());
    }
    let unusable = |reason: String| AuthorityError::Text {
        key: KEYS,
        reason,
        expected: "a set of public keys in JSON, {\"keys\": [...]}",
    };
    let mut set: Value = serde_json::from_str(keys).map_err(|error| unusable(error.to_string()))?;
    let known = set.get_mut("keys").and_then(Value::as_array_mut);
    let known = known.ok_or_else(|| unusable("it has no list of keys".to_owned()))?;
    // What is published must not be what signs.
    if known.iter().any(|key| key.get("d").is_some() || key["kty"] == "oct") {
        return Err(unusable("it has a key that is not public".to_owned()));
    }
    if known.iter().any(|key| key["kid"] == public["kid"]) {
        return Ok(keys.to_owned());
    }
    known.insert(0, public);
    known.truncate(KEYS_AT_MOST);
    Ok(set.to_string())
}

/// A signature of ECDSA as JWTs have it: two numbers of one width, without tags and lengths.
fn two_numbers(der: &[u8], width: usize) -> Option<Vec<u8>> {
    let mut both = Vec::with_capacity(2 * width);
    for number in numbers(der)? {
        both.resize(both.len() + width.checked_sub(number.len())?, 0);
        both.extend(number);
    }
    Some(both)
}

/// The two numbers of a sequence in DER, without leading zeros.
fn numbers(der: &[u8]) -> Option<[Vec<u8>; 2]> {
    let parts: Vec<Any> = Vec::from_der(der).ok()?;
    let parts: Vec<Vec<u8>> = parts
        .iter()
        .map(|part| part.value().iter().copied().skip_while(|byte| *byte == 0).collect())
        .collect();
    parts.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(algorithm: &'static rcgen::SignatureAlgorithm) -> BundleTexts {
        let jwt_key = KeyPair::generate_for(algorithm).unwrap().serialize_pem();
        BundleTexts { jwt_key, ..BundleTexts::default() }.with_jwt_key().unwrap()
    }

    fn kids(keys: &str) -> Vec<String> {
        let set: Value = serde_json::from_str(keys).unwrap();
        set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_token_has_the_claims_and_a_signature_of_its_width() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let validity = Validity { from: now, until: now + jiff::SignedDuration::from_hours(1) };
        for (algorithm, name, length) in [
            (&rcgen::PKCS_ECDSA_P256_SHA256, "ES256", 64),
            (&rcgen::PKCS_ECDSA_P384_SHA384, "ES384", 96),
            (&rcgen::PKCS_ED25519, "EdDSA", 64),
        ] {
            let key = JwtKey::read(&texts(algorithm)).unwrap();
            let audiences = ["public".to_owned()];
            let claims =
                Claims { subject: "spiffe://p/ns/n/a", audiences: &audiences, issuer: None, validity, now };
            let token = key.sign(claims).unwrap();
            let parts: Vec<Vec<u8>> =
                token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
            let header: Value = serde_json::from_slice(&parts[0]).unwrap();
            assert_eq!((&header["alg"], &header["kid"]), (&json!(name), &json!(kids(key.keys())[0])));
            let body: Value = serde_json::from_slice(&parts[1]).unwrap();
            assert_eq!(body["exp"].as_i64().unwrap() - body["nbf"].as_i64().unwrap(), 3600);
            assert_eq!(body.get("iss"), None);
            assert_eq!(parts[2].len(), length, "{name}");
        }
    }

    #[test]
    fn a_key_before_stays_published_and_the_number_is_bounded() {
        let first = texts(&rcgen::PKCS_ECDSA_P256_SHA256);
        assert!(first.clone().with_jwt_key().unwrap() == first, "nothing is due");
        let mut now = first.clone();
        for _ in 0..KEYS_AT_MOST - 1 {
            now.jwt_key = String::new();
            now = now.with_jwt_key().unwrap();
        }
        assert_eq!(
            (kids(&now.jwt_keys).len(), kids(&now.jwt_keys).last()),
            (KEYS_AT_MOST, kids(&first.jwt_keys).first())
        );
        now.jwt_key = String::new();
        assert!(!kids(&now.with_jwt_key().unwrap().jwt_keys).contains(&kids(&first.jwt_keys)[0]));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let good = texts(&rcgen::PKCS_ECDSA_P256_SHA256);
        for (key, keys, expected) in [
            ("", "", "jwt.key of the trust bundle cannot be used: it is missing"),
            ("nonsense", "", "jwt.key"),
            (good.jwt_key.as_str(), "nonsense", "jwks.json"),
            (good.jwt_key.as_str(), "[]", "jwks.json of the trust bundle cannot be used: it has no list"),
            (good.jwt_key.as_str(), r#"{"keys": [{"kty": "EC", "d": "x"}]}"#, "a key that is not public"),
        ] {
            let texts =
                BundleTexts { jwt_key: key.to_owned(), jwt_keys: keys.to_owned(), ..BundleTexts::default() };
            let error = JwtKey::read(&texts).err().unwrap().to_string();
            assert!(error.contains(expected) && !error.contains("PRIVATE KEY-----"), "{error}");
        }
    }

    #[test]
    fn numbers_of_a_signature_are_filled_up_to_their_width() {
        let der = [0x30, 7, 2, 2, 0, 0x81, 2, 1, 5];
        assert_eq!(two_numbers(&der, 2), Some(vec![0, 0x81, 0, 5]));
        for wrong in [&der[..6], &[0x30, 3, 2, 1, 5], &[0x30, 8, 2, 3, 1, 2, 3, 2, 1, 5]] {
            assert_eq!(two_numbers(wrong, 2), None, "{wrong:?}");
        }
    }
}
