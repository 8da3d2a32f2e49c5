//! A duration, as typed in a flag.

use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

/// A duration as Go writes it: `90s`, `1h30m`, `1.5h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = text.parse::<SignedDuration>().ok().and_then(|span| Duration::try_from(span).ok());
        read.map(Self).ok_or_else(|| "write a duration such as 90s, 15m or 1h30m".to_owned())
    }
}
