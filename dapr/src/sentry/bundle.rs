//! The texts of a trust bundle: made, and renewed when it is time. Pure but for keys; it asks no server.
//!
//! One root signs the issuers of about seven years, one after the other, so that sidecars that know only that root go on. A new root is
//! published a month before it signs, and an old one stays until it expires.

use std::time::Duration;

use jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData as _};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::ParsedCertificate;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode as _;

use super::authority::{Lifetime, make};
use super::error::AuthorityError;
use super::texts::{BundleTexts, Validity};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// As of Dapr's own.
const ISSUER_LIFE: Duration = DAY.saturating_mul(365);
const ROOT_LIFE: Duration = DAY.saturating_mul(3650);
/// How long a new root is published before it signs.
const PUBLISHED_FOR: Duration = DAY.saturating_mul(30);
/// An issuer this near to its end is replaced whether the root was published for long enough or not.
const AT_THE_LATEST: Duration = DAY.saturating_mul(7);
/// Roots in a bundle of ours: the former, the present and the next one, and some for clocks that went wrong.
const ROOTS_AT_MOST: usize = 8;

/// Names in the certificates of authorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) trust_domain: String,
    /// `spiffe://…/dapr-sentry`.
    pub(crate) sentry: String,
}

struct Root {
    pem: String,
    validity: Validity,
    public_key: Vec<u8>,
}

impl BundleTexts {
    /// When the issuer expires, where it can be read.
    pub(super) fn issuer_validity(&self) -> Option<Validity> {
        Root::read(&self.issuer).map(|issuer| issuer.validity)
    }

    /// What to store from now on; the same when nothing is due.
    pub(super) fn renewed(
        &self,
        names: &Names,
        skew: Duration,
        now: Timestamp,
    ) -> Result<Self, AuthorityError> {
        let mut renewed = self.clone();
        let mut roots = self.roots();
        let count = roots.len();
        roots.retain(|root| root.validity.until > now);
        let signs = |root: &Root| {
            let key = KeyPair::from_pem(&self.root_key).map(|key| key.subject_public_key_info());
            key.is_ok_and(|key| key == root.public_key) && !root.validity.is_due(now)
        };
        let is_new = !roots.first().is_some_and(signs);
        if is_new {
            let lifetime = Lifetime { life: ROOT_LIFE, skew };
            let (pem, key) = make(&names.trust_domain, 1, None, lifetime, now)?;
            roots.splice(0..0, Root::read(&pem));
            roots.truncate(ROOTS_AT_MOST);
            renewed.root_key = key;
        }
        if is_new || roots.len() != count {
            renewed.anchors = roots.iter().map(|root| root.pem.as_str()).collect();
        }
        let Some(root) = roots.first() else { return Ok(renewed) };
        let issuer = self.issuer_validity();
        let is_due = issuer.is_none_or(|issuer| issuer.is_due(now));
        let is_published = now.duration_since(root.validity.from).unsigned_abs() >= skew + PUBLISHED_FOR;
        let is_late = issuer
            .is_none_or(|issuer| now.checked_add(AT_THE_LATEST).map_or(true, |soon| soon >= issuer.until));
        if is_due && (is_published || is_late) {
            let lifetime = Lifetime { life: ISSUER_LIFE, skew };
            let signer = Some((root.pem.as_str(), renewed.root_key.as_str()));
            (renewed.issuer, renewed.issuer_key) = make(&names.sentry, 0, signer, lifetime, now)?;
        }
        Ok(renewed)
    }

    fn roots(&self) -> Vec<Root> {
        blocks(&self.anchors).filter_map(Root::read).collect()
    }
}

impl Root {
    fn read(pem: &str) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
        let parsed: CertificateInner<Raw> = CertificateInner::from_der(&der).ok()?;
        let public_key = ParsedCertificate::try_from(&der).ok()?.subject_public_key_info().as_ref().to_vec();
        Some(Self { pem: pem.to_owned(), validity: Validity::of(&parsed)?, public_key })
    }
}

/// The blocks of a text in PEM, each with its first and last line.
fn blocks(text: &str) -> impl Iterator<Item = &str> {
    const BEGIN: &str = "-----BEGIN ";
    text.match_indices(BEGIN).take(ROOTS_AT_MOST).map(move |(start, _)| {
        let rest = &text[start..];
        let next = rest[BEGIN.len()..].find(BEGIN).map_or(rest.len(), |next| next + BEGIN.len());
        &rest[..next]
    })
}

#[cfg(test)]
mod tests {
    use super::super::authority::{Authority, Subject};
    use super::*;

    const SKEW: Duration = Duration::from_secs(900);

    fn at(days: i64) -> Timestamp {
        "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + jiff::SignedDuration::from_hours(24 * days)
    }

    fn names() -> Names {
        Names {
            trust_domain: "cluster.local".to_owned(),
            sentry: "spiffe://cluster.local/ns/dapr-system/dapr-sentry".to_owned(),
        }
    }

    fn later(texts: &BundleTexts, days: i64) -> BundleTexts {
        texts.renewed(&names(), SKEW, at(days)).unwrap()
    }

    /// Whether a sidecar that knows these anchors takes what this bundle signs.
    fn takes(anchors: &str, signs: &BundleTexts, days: i64) -> bool {
        let known = BundleTexts { anchors: anchors.to_owned(), ..signs.clone() };
        Authority::read(&known, at(days)).is_ok()
    }

    #[test]
    fn an_issuer_is_replaced_under_the_same_root() {
        let first = later(&BundleTexts::default(), 0);
        assert!(takes(&first.anchors, &first, 0));
        assert_eq!(later(&first, 0), first);
        assert_eq!(later(&first, 242), first);
        let second = later(&first, 244);
        assert_eq!(second.anchors, first.anchors);
        assert_ne!(second.issuer, first.issuer);
        assert!(takes(&first.anchors, &second, 244), "a sidecar that started on the first day goes on");
    }

    #[test]
    fn sidecars_of_a_month_ago_take_every_certificate() {
        let mut bundle = later(&BundleTexts::default(), 0);
        let (mut published, mut roots) = (Vec::new(), 1);
        for day in 0..12_000 {
            let next = later(&bundle, day);
            roots += usize::from(next.root_key != bundle.root_key);
            bundle = next;
            published.push(bundle.anchors.clone());
            assert!(blocks(&bundle.anchors).count() <= 2, "day {day}");
            if day % 10 != 0 {
                continue;
            }
            let former = &published[published.len().saturating_sub(29)];
            assert!(takes(former, &bundle, day), "day {day}");
        }
        assert!(roots >= 4, "{roots} roots");
    }

    #[test]
    fn a_certificate_of_the_former_issuer_is_taken_until_it_expires() {
        let first = later(&BundleTexts::default(), 0);
        let authority = Authority::read(&first, at(243)).unwrap();
        let lifetime = Lifetime { life: DAY, skew: SKEW };
        let subject = Subject { uri: "spiffe://public/ns/a/b".to_owned(), dns: Vec::new() };
        let leaf = authority.sign(&KeyPair::generate().unwrap(), &subject, lifetime, at(243)).unwrap();
        assert_eq!(leaf.validity.until, at(244));
        let second = later(&first, 244);
        assert_ne!(second.issuer, first.issuer);
        assert!(second.anchors.contains(first.anchors.trim()), "its root is still trusted");
        let late = authority.sign(&KeyPair::generate().unwrap(), &subject, lifetime, at(365)).unwrap();
        assert_eq!(late.validity.until, authority.validity().until, "never longer than its issuer");
    }

    #[test]
    fn a_lost_root_key_costs_a_month_and_no_sidecar() {
        let first = later(&BundleTexts::default(), 0);
        let lost = BundleTexts { root_key: "nonsense".to_owned(), ..first.clone() };
        let published = later(&lost, 1);
        assert_eq!(published.issuer, first.issuer);
        assert!(blocks(&published.anchors).count() == 2 && takes(&first.anchors, &published, 1));
        let signed = later(&published, 244);
        assert!(takes(&published.anchors, &signed, 244) && !takes(&first.anchors, &signed, 244));
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let (one, other) = (later(&BundleTexts::default(), 0), later(&BundleTexts::default(), 0));
        let error = |texts: BundleTexts| Authority::read(&texts, at(0)).unwrap_err().to_string();
        for (texts, expected) in [
            (BundleTexts { anchors: other.anchors.clone(), ..one.clone() }, "do not belong together"),
            (BundleTexts { issuer_key: other.issuer_key.clone(), ..one.clone() }, "do not belong together"),
            (BundleTexts { issuer_key: "x".to_owned(), ..one.clone() }, "issuer.key"),
            (BundleTexts { issuer: "x".to_owned(), ..one.clone() }, "issuer.crt"),
            (BundleTexts { anchors: "x".to_owned(), ..one.clone() }, "ca.crt"),
        ] {
            let error = error(texts);
            assert!(error.contains(expected), "{expected}: {error}");
        }
        assert!(Authority::read(&one, at(400)).is_err(), "expired");
    }
}
