//! Reads the dates and the names of a certificate from its DER; looks at nothing else, and never past its own length.
//!
//! By x509-cert: x509-parser would bring fourteen crates where this brings five.

use jiff::Timestamp;
use x509_cert::certificate::{CertificateInner, Raw};
use x509_cert::der::Decode as _;
use x509_cert::time::Time;

/// From when until when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Not before.
    pub from: Timestamp,
    /// Not after.
    pub until: Timestamp,
}

impl Validity {
    /// The dates of a certificate.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let certificate = parse(certificate)?;
        let second =
            |time: Time| Timestamp::from_second(i64::try_from(time.to_unix_duration().as_secs()).ok()?).ok();
        let validity = certificate.tbs_certificate().validity();
        Some(Self { from: second(validity.not_before)?, until: second(validity.not_after)? })
    }

    /// The moment at which so many parts of so many have passed.
    pub fn after(&self, parts: i64, of: i64) -> Timestamp {
        let (from, until) = (self.from.as_second(), self.until.as_second());
        let passed = i128::from(until - from) * i128::from(parts) / i128::from(of.max(1));
        let moment = i128::from(from) + passed;
        i64::try_from(moment)
            .ok()
            .and_then(|second| Timestamp::from_second(second).ok())
            .unwrap_or(self.until)
    }
}

/// A certificate, without the rules of RFC 5280 that clients do not insist on.
pub(super) fn parse(certificate: &[u8]) -> Option<CertificateInner<Raw>> {
    CertificateInner::from_der(certificate).ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn certificate(from: i32, until: i32) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["a".to_owned()]).unwrap();
        params.not_before = date_time_ymd(from, 2, 3);
        params.not_after = date_time_ymd(until, 4, 5);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn dates_are_read_in_both_forms() {
        let validity = Validity::of(&certificate(1987, 2051)).unwrap();
        assert_eq!(validity.from.to_string(), "1987-02-03T00:00:00Z");
        assert_eq!(validity.until.to_string(), "2051-04-05T00:00:00Z");
    }

    #[test]
    fn two_thirds_of_a_life() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let validity = Validity { from: at(1000), until: at(1900) };
        assert_eq!(validity.after(2, 3), at(1600));
    }

    #[test]
    fn no_cut_and_no_changed_byte_makes_it_panic() {
        let whole = certificate(2020, 2030);
        for length in 0..whole.len() {
            let _ = Validity::of(&whole[..length]);
        }
        for place in 0..whole.len() {
            for byte in [0x00, 0x17, 0x30, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = whole.clone();
                changed[place] = byte;
                let _ = Validity::of(&changed);
            }
        }
        assert_eq!(Validity::of(b""), None);
        assert_eq!(Validity::of(&whole[1..]), None);
    }
}
