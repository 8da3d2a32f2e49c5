//! Issues and renews the authorities and the certificate that a Secret holds, from what it holds, the names and the
//! time.
//!
//! An authority signs nothing for its first hour, so that all clients trust it before they meet its certificates; and it
//! stays in the bundle until it expires, so that clients go on trusting the certificates still served.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData as _, date_time_ymd,
};
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::der::{Tag, Tagged as _};

use super::certificate::ServingCertificate;
use super::validity::{Validity, parse};

const HOURS_OF_DAY: i64 = 24;
/// Short enough that a stolen key is worth little, long enough that a month of outage breaks nothing.
const SERVING_DAYS: i64 = 90;
/// An authority is renewed at two thirds of it; the rest is longer than any certificate that it signed.
const AUTHORITY_DAYS: i64 = 365;
/// Clocks of a cluster differ.
const SKEW: SignedDuration = SignedDuration::from_mins(5);
/// How long an authority is trusted before it signs.
const OVERLAP: SignedDuration = SignedDuration::from_hours(1);
/// More authorities at once would be a mistake: with the lives above there are two.
const AUTHORITIES_AT_MOST: usize = 8;

/// The common name of every authority of ours.
const NAME: &str = "webhook-authority";
/// The type of that name (X.520).
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// Why no certificate could be made.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// Keys or certificates could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The new certificate cannot be used.
    #[error("cannot use the certificate just made: {0}")]
    Unusable(#[from] super::certificate::CertificateError),
    /// A date beyond the calendar.
    #[error("this machine's clock says {0}; set it right")]
    Clock(Timestamp),
}

/// Everything of one server, as PEM texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StoredCertificates {
    /// Certificates of authorities, the newest first.
    pub(super) authorities: String,
    /// Their keys in the same order.
    pub(super) authority_keys: String,
    /// The server's certificate.
    pub(super) certificate: String,
    /// Its key.
    pub(super) key: String,
}

/// An authority that has not expired.
struct Authority {
    certificate: CertificateDer<'static>,
    /// The certificate as text.
    pem: String,
    key: KeyPair,
    validity: Validity,
}

impl StoredCertificates {
    /// The certificate with its key.
    pub(super) fn pair(&self) -> Result<ServingCertificate, super::certificate::CertificateError> {
        ServingCertificate::read(self.certificate.as_bytes(), self.key.as_bytes())
    }

    /// Can anything be signed with it?
    pub(super) fn has_authority(&self, now: Timestamp) -> bool {
        !self.authorities(now).is_empty()
    }

    /// The content to store from now on; the same when nothing is due. Unreadable content is made anew.
    pub(super) fn renewed(&self, names: &[String], now: Timestamp) -> Result<Self, IssueError> {
        let mut authorities = self.authorities(now);
        let due = |authority: &Authority| now >= authority.validity.after(2, 3);
        if authorities.first().is_none_or(due) {
            authorities.insert(0, Authority::new(now)?);
        }
        let mut renewed = Self {
            authorities: authorities.iter().map(|authority| authority.pem.as_str()).collect(),
            authority_keys: authorities.iter().map(|authority| authority.key.serialize_pem()).collect(),
            ..self.clone()
        };
        if !self.serves(&authorities, names, now) {
            let ripe = |authority: &&Authority| now >= authority.validity.from + SKEW + OVERLAP;
            let signer = authorities.iter().find(ripe).or(authorities.last());
            if let Some(signer) = signer {
                (renewed.certificate, renewed.key) = signer.sign(names, now)?;
            }
        }
        renewed.pair()?;
        Ok(renewed)
    }

    /// The authorities that are valid, with their keys.
    fn authorities(&self, now: Timestamp) -> Vec<Authority> {
        blocks(&self.authorities)
            .zip(blocks(&self.authority_keys))
            .take(AUTHORITIES_AT_MOST)
            .filter_map(|(certificate, key)| Authority::read(certificate, key))
            .filter(|authority| authority.validity.until > now)
            .collect()
    }

    /// Is the certificate good for these names, by one of these authorities, for another third of its life?
    fn serves(&self, authorities: &[Authority], names: &[String], now: Timestamp) -> bool {
        let fresh =
            |pair: &ServingCertificate| now < pair.validity().after(2, 3) && pair.out_of_date(now).is_none();
        self.pair().is_ok_and(|pair| fresh(&pair) && trusted(&pair, authorities, names, now))
    }
}

/// Would a client that has these authorities take the pair for a server of these names?
fn trusted(pair: &ServingCertificate, authorities: &[Authority], names: &[String], now: Timestamp) -> bool {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(authorities.iter().map(|authority| authority.certificate.clone()));
    let key = pair.key();
    let Some(certificate) = key.cert.first().and_then(|first| ParsedCertificate::try_from(first).ok()) else {
        return false;
    };
    let named = |name: &String| {
        ServerName::try_from(name.as_str()).is_ok_and(|name| verify_server_name(&certificate, &name).is_ok())
    };
    names.iter().all(named) && pair.chains_to(&roots, now)
}

impl Authority {
    fn new(now: Timestamp) -> Result<Self, IssueError> {
        let key = KeyPair::generate()?;
        let mut params = Self::params()?;
        live(&mut params, now, AUTHORITY_DAYS, None)?;
        let certificate = params.self_signed(&key)?;
        let der = certificate.der().clone();
        let validity = Validity::of(&der).ok_or(IssueError::Clock(now))?;
        Ok(Self { certificate: der, pem: certificate.pem(), key, validity })
    }

    /// None, where the two do not belong together or the name is not ours: no client would trust what it signs.
    fn read(pem: &str, key: &str) -> Option<Self> {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
        let key = KeyPair::from_pem(key).ok()?;
        let validity = Validity::of(&certificate)?;
        let named = is_ours(&certificate)?;
        let public = ParsedCertificate::try_from(&certificate).ok()?.subject_public_key_info();
        let same = public.as_ref() == key.subject_public_key_info().as_slice();
        (same && named).then(|| Self { certificate, pem: pem.to_owned(), key, validity })
    }

    /// The name and the key are all that a signature needs.
    fn params() -> Result<CertificateParams, IssueError> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, NAME);
        Ok(params)
    }

    /// A certificate and its key, not valid for longer than its signer.
    fn sign(&self, names: &[String], now: Timestamp) -> Result<(String, String), IssueError> {
        let mut params = CertificateParams::new(names.to_vec())?;
        live(&mut params, now, SERVING_DAYS, Some(self.validity.until))?;
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.distinguished_name = DistinguishedName::new();
        if let Some(name) = names.iter().find(|name| name.len() <= 64) {
            params.distinguished_name.push(DnType::CommonName, name.as_str());
        }
        let key = KeyPair::generate()?;
        let issuer = Issuer::new(Self::params()?, &self.key);
        let certificate = params.signed_by(&key, &issuer)?;
        Ok((certificate.pem(), key.serialize_pem()))
    }
}

/// Is its subject our name alone, in UTF-8 as we write it? Clients compare the bytes of names.
fn is_ours(certificate: &[u8]) -> Option<bool> {
    let certificate = parse(certificate)?;
    let mut names = certificate.tbs_certificate().subject().iter();
    let is_named = |name: &AttributeTypeAndValue| {
        name.oid == COMMON_NAME
            && name.value.tag() == Tag::Utf8String
            && name.value.value() == NAME.as_bytes()
    };
    Some(names.next().is_some_and(is_named) && names.next().is_none())
}

/// The blocks of a PEM text, each with its first and last line.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    const BEGIN: &str = "-----BEGIN ";
    text.match_indices(BEGIN).take(AUTHORITIES_AT_MOST + 1).map(move |(start, _)| {
        let rest = &text[start..];
        let next = rest[BEGIN.len()..].find(BEGIN).map_or(rest.len(), |next| next + BEGIN.len());
        &rest[..next]
    })
}

/// Valid from a little before now for so many days, or until the end of its authority.
fn live(
    params: &mut CertificateParams,
    now: Timestamp,
    days: i64,
    end: Option<Timestamp>,
) -> Result<(), IssueError> {
    let clock = |_| IssueError::Clock(now);
    let from = now.checked_sub(SKEW).map_err(clock)?;
    let until = now.checked_add(SignedDuration::from_hours(days * HOURS_OF_DAY)).map_err(clock)?;
    let until = end.map_or(until, |end| end.min(until));
    let since_1970 = |at: Timestamp| {
        let seconds = u64::try_from(at.as_second()).map_err(|_| IssueError::Clock(now))?;
        Ok::<_, IssueError>(std::time::Duration::from_secs(seconds))
    };
    params.not_before = date_time_ymd(1970, 1, 1) + since_1970(from)?;
    params.not_after = date_time_ymd(1970, 1, 1) + since_1970(until)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["hook.ns.svc", "127.0.0.1"].map(str::to_owned).to_vec()
    }

    fn at(days: i64) -> Timestamp {
        "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_hours(24 * days)
    }

    fn later(stored: &StoredCertificates, days: i64) -> StoredCertificates {
        stored.renewed(&names(), at(days)).unwrap()
    }

    /// Do clients that hold the bundle of `trusting` trust the certificate of `served`?
    fn trusts(trusting: &StoredCertificates, served: &StoredCertificates, days: i64) -> bool {
        trusted(&served.pair().unwrap(), &trusting.authorities(at(days)), &names(), at(days))
    }

    fn count(stored: &StoredCertificates) -> usize {
        blocks(&stored.authorities).count()
    }

    #[test]
    fn nothing_changes_until_something_is_due() {
        let first = later(&StoredCertificates::default(), 0);
        assert_eq!(count(&first), 1);
        assert_eq!(later(&first, 0), first);
        assert_eq!(later(&first, 59), first);
        let second = later(&first, 61);
        assert_eq!(second.authorities, first.authorities);
        assert_ne!(second.certificate, first.certificate);
        assert!(trusts(&first, &second, 61));
    }

    #[test]
    fn an_authority_is_trusted_before_it_signs_and_until_it_expires() {
        let (mut stored, mut bundles) = (later(&StoredCertificates::default(), 0), 0);
        for hour in 0..3 * 365 * 24 {
            let now = at(0) + SignedDuration::from_hours(hour);
            if hour % 24 != 0 && hour % 24 != 1 {
                continue;
            }
            let next = stored.renewed(&names(), now).unwrap();
            let day = hour / 24;
            assert!(
                trusts(&stored, &next, day),
                "day {day}: who has the former bundle trusts the new certificate"
            );
            assert!(trusts(&next, &stored, day), "day {day}: who has the new bundle trusts the former");
            assert!(count(&next) <= 2, "day {day}");
            bundles += usize::from(next.authorities != stored.authorities);
            stored = next;
        }
        assert!(bundles >= 6, "authorities came and went: {bundles}");
    }

    #[test]
    fn other_names_need_another_certificate_of_the_same_authority() {
        let first = later(&StoredCertificates::default(), 0);
        let names = [names(), vec!["other.ns.svc".to_owned()]].concat();
        let second = first.renewed(&names, at(1)).unwrap();
        assert_eq!(second.authorities, first.authorities);
        assert_ne!(second.certificate, first.certificate);
        assert_eq!(second.renewed(&names, at(1)).unwrap(), second);
    }

    #[test]
    fn what_cannot_be_read_is_made_anew() {
        let good = later(&StoredCertificates::default(), 0);
        let other = later(&StoredCertificates::default(), 0);
        let mut params = Authority::params().unwrap();
        params.distinguished_name.push(DnType::CommonName, "another-authority");
        let key = KeyPair::generate().unwrap();
        let stranger = params.self_signed(&key).unwrap().pem();
        assert!(good.has_authority(at(0)));
        for broken in [
            StoredCertificates { authorities: stranger, authority_keys: key.serialize_pem(), ..good.clone() },
            StoredCertificates { certificate: "nonsense".to_owned(), ..good.clone() },
            StoredCertificates { key: other.key.clone(), ..good.clone() },
            StoredCertificates { key: String::new(), ..good.clone() },
            StoredCertificates { authority_keys: String::new(), ..good.clone() },
            StoredCertificates { authority_keys: other.authority_keys.clone(), ..good.clone() },
            StoredCertificates { authorities: "-----BEGIN CERTIFICATE-----".repeat(20), ..good.clone() },
        ] {
            let mended = later(&broken, 1);
            assert!(trusts(&mended, &mended, 1), "{broken:?}");
            assert_eq!(later(&mended, 1), mended);
        }
        let after_all = later(&good, 4000);
        assert!(trusts(&after_all, &after_all, 4000) && count(&after_all) == 1);
    }

    #[test]
    fn a_clock_before_all_time_is_told() {
        let error = StoredCertificates::default()
            .renewed(&names(), Timestamp::from_second(-5_000_000).unwrap())
            .unwrap_err();
        assert!(error.to_string().contains("set it right"), "{error}");
    }
}
