//! Durations as Go writes them: `90s`, `1h30m`, `1.5s`.

use jiff::SignedDuration;

/// Units and their nanoseconds.
const UNITS: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

/// A duration longer than this (ten years) is a slip.
const LONGEST_NANOSECONDS: f64 = 10.0 * 365.0 * 24.0 * 3600e9;

/// The duration that a text means; nothing where it is none, negative, or longer than ten years.
pub fn duration(text: &str) -> Option<SignedDuration> {
    if text == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut rest = text;
    let mut nanoseconds = 0.0_f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &rest[..end])?;
        nanoseconds += number * unit;
        rest = &rest[end..];
    }
    let is_duration = !text.is_empty() && nanoseconds <= LONGEST_NANOSECONDS;
    // Within the limit, the conversion loses nothing but what is below a nanosecond.
    is_duration.then(|| SignedDuration::from_nanos(nanoseconds as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        let seconds = |text: &str| duration(text).map(|duration| duration.as_secs_f64());
        assert_eq!(seconds("30s"), Some(30.0));
        assert_eq!(seconds("1h30m"), Some(5400.0));
        assert_eq!(seconds("1.5s"), Some(1.5));
        assert_eq!(seconds("300ms"), Some(0.3));
        assert_eq!(seconds("0"), Some(0.0));
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "5", "s", "1d", "-1s", "1s2", ".s", "1..2s", "999999999h", "1 s"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
