//! A certificate's DER → its dates and whom it names; nothing else of it is looked at, and nothing is believed beyond its own length.

use jiff::{Timestamp, civil};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

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
        let (dates, _) = dates_and_subject(certificate)?;
        let (from, rest) = time(dates)?;
        let (until, _) = time(rest)?;
        Some(Self { from, until })
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

/// Whom a certificate names, as DER.
pub(super) fn subject(certificate: &[u8]) -> Option<&[u8]> {
    Some(dates_and_subject(certificate)?.1)
}

/// RFC 5280: version, serial number, algorithm and issuer stand before them.
fn dates_and_subject(certificate: &[u8]) -> Option<(&[u8], &[u8])> {
    let (outer, _) = element(certificate, SEQUENCE)?;
    let (mut rest, _) = element(outer, SEQUENCE)?;
    if rest.first() == Some(&VERSION) {
        rest = element(rest, VERSION)?.1;
    }
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        rest = element(rest, tag)?.1;
    }
    let (dates, rest) = element(rest, SEQUENCE)?;
    Some((dates, element(rest, SEQUENCE)?.0))
}

/// The contents of the element at the front, if it has this tag, and what follows it.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    if *first != tag {
        return None;
    }
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(*length) {
        short @ 0..=0x7f => (short, rest),
        // Four bytes are more than any certificate needs.
        long @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(long - 0x80)?;
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// The time at the front and what follows it.
fn time(bytes: &[u8]) -> Option<(Timestamp, &[u8])> {
    let tag = *bytes.first()?;
    let (text, rest) = element(bytes, tag)?;
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, digits) = match (tag, text.len()) {
        (UTC_TIME, 12) => {
            let year: i16 = text[..2].parse().ok()?;
            (year + if year < 50 { 2000 } else { 1900 }, &text[2..])
        }
        (GENERALIZED_TIME, 14) => (text[..4].parse().ok()?, &text[4..]),
        _ => return None,
    };
    let part = |at: usize| digits[at..at + 2].parse::<i8>().ok();
    let moment = civil::DateTime::new(year, part(0)?, part(2)?, part(4)?, part(6)?, part(8)?, 0).ok()?;
    Some((jiff::tz::TimeZone::UTC.to_timestamp(moment).ok()?, rest))
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
            let _ = (Validity::of(&whole[..length]), subject(&whole[..length]));
        }
        for place in 0..whole.len() {
            for byte in [0x00, 0x17, 0x30, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = whole.clone();
                changed[place] = byte;
                let _ = (Validity::of(&changed), subject(&changed));
            }
        }
        assert_eq!(Validity::of(b""), None);
        assert_eq!(Validity::of(&whole[1..]), None);
    }
}
