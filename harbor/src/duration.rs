//! Durations as Go writes them: text in, time out, and back.

use std::fmt::Write as _;
use std::time::Duration;

/// The units, the longer ones of equal beginning first.
const UNITS: [(&str, u64); 7] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
];

/// Reads `1h30m`; nothing where it is none, or longer than centuries.
#[must_use]
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut sum) = (text, 0_u64);
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest.get(..digits)?.parse().ok()?;
        let unit = rest.get(digits..)?;
        let (name, nanoseconds) = UNITS.iter().find(|(name, _)| unit.starts_with(name))?;
        sum = sum.checked_add(number.checked_mul(*nanoseconds)?)?;
        rest = unit.get(name.len()..)?;
    }
    (!text.is_empty()).then(|| Duration::from_nanos(sum))
}

/// Writes it in Go's one way: `1h30m0s`, `1.5s`, `250ms`.
#[must_use]
pub(crate) fn format(duration: Duration) -> String {
    let (seconds, nanoseconds) = (duration.as_secs(), duration.subsec_nanos());
    if seconds == 0 {
        return match nanoseconds {
            0 => "0s".to_owned(),
            below if below < 1_000 => format!("{below}ns"),
            below if below < 1_000_000 => format!("{}µs", fraction(below / 1_000, below % 1_000, 3)),
            below => format!("{}ms", fraction(below / 1_000_000, below % 1_000_000, 6)),
        };
    }
    let mut text = String::new();
    if seconds >= 3600 {
        let _ = write!(text, "{}h", seconds / 3600);
    }
    if seconds >= 60 {
        let _ = write!(text, "{}m", seconds / 60 % 60);
    }
    let _ = write!(text, "{}s", fraction(u32::try_from(seconds % 60).unwrap_or(0), nanoseconds, 9));
    text
}

/// A number with so many digits behind the point, without zeros at its end.
fn fraction(whole: u32, part: u32, digits: usize) -> String {
    if part == 0 {
        return whole.to_string();
    }
    let part = format!("{part:0digits$}");
    format!("{whole}.{}", part.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (text, written) in [
            ("48h", "48h0m0s"),
            ("90s", "1m30s"),
            ("5m", "5m0s"),
            ("1h0m2s", "1h0m2s"),
            ("1500ms", "1.5s"),
            ("250ms", "250ms"),
            ("1500us", "1.5ms"),
            ("7ns", "7ns"),
            ("0", "0s"),
        ] {
            assert_eq!(format(parse(text).unwrap()), written, "{text}");
        }
        for wrong in ["", "5", "h", "5x", "-5s", "99999999999999h"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
