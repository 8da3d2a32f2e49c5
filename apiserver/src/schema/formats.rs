//! Text formats: whether a text is a date, an address, an identifier …
use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine as _;

/// Whether the text has the format; unknown formats allow everything.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "byte" => base64::engine::general_purpose::STANDARD.decode(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "ip" => text.parse::<std::net::IpAddr>().is_ok(),
        "cidr" => cidr(text),
        "mac" => {
            let parts: Vec<&str> = text.split([':', '-']).collect();
            matches!(parts.len(), 6 | 8) && parts.iter().all(|p| p.len() == 2 && hex(p))
        }
        "uuid" => uuid(text),
        "uuid3" => uuid(text) && text.replace('-', "").as_bytes().get(12) == Some(&b'3'),
        "uuid4" => uuid(text) && text.replace('-', "").as_bytes().get(12) == Some(&b'4'),
        "uuid5" => uuid(text) && text.replace('-', "").as_bytes().get(12) == Some(&b'5'),
        "email" => match text.rsplit_once('@') {
            Some((user, host)) => !user.is_empty() && !user.contains(char::is_whitespace) && hostname(host),
            None => false,
        },
        "hostname" => hostname(text),
        "uri" => {
            text.split_once(':').is_some_and(|(scheme, _)| {
                scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                    && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
            }) || text.starts_with('/')
        }
        "duration" => duration(text),
        _ => true,
    }
}

fn hex(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_hexdigit())
}

fn uuid(text: &str) -> bool {
    let plain = text.replace('-', "");
    plain.len() == 32 && hex(&plain) && (text.len() == 32 || text.len() == 36)
}

fn cidr(text: &str) -> bool {
    let Some((ip, bits)) = text.split_once('/') else { return false };
    match (ip.parse::<std::net::IpAddr>(), bits.parse::<u8>()) {
        (Ok(std::net::IpAddr::V4(_)), Ok(bits)) => bits <= 32,
        (Ok(std::net::IpAddr::V6(_)), Ok(bits)) => bits <= 128,
        _ => false,
    }
}

fn hostname(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 253
        && text.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
        })
}

/// Numbers with units, as `1h30m`, or with words, as `3 days`.
fn duration(text: &str) -> bool {
    const UNITS: &[&str] = &[
        "ns",
        "us",
        "µs",
        "ms",
        "s",
        "m",
        "h",
        "d",
        "w",
        "nano",
        "nanos",
        "nanosecond",
        "nanoseconds",
        "micro",
        "micros",
        "microsecond",
        "microseconds",
        "milli",
        "millis",
        "millisecond",
        "milliseconds",
        "sec",
        "secs",
        "second",
        "seconds",
        "min",
        "mins",
        "minute",
        "minutes",
        "hr",
        "hour",
        "hours",
        "day",
        "days",
        "week",
        "weeks",
    ];
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        if number.is_empty() || number.parse::<f64>().is_err() {
            return false;
        }
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        if !UNITS.contains(&unit) {
            return false;
        }
        rest = after.trim_start();
    }
    true
}
