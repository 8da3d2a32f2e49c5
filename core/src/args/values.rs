//! Parses the values of Go's flags: addresses, durations and switches.

use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

/// Longest duration: beyond it a number was mistyped, and adding it to a time could overflow.
const DURATION_AT_MOST: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// Where an endpoint listens, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen(Option<SocketAddr>);

impl Listen {
    /// The address, or nothing when the endpoint is off.
    pub(crate) fn address(self) -> Option<SocketAddr> {
        self.0
    }
}

impl FromStr for Listen {
    type Err = String;

    /// `HOST:PORT`, `:PORT` for every address of this machine, `0` or nothing for off.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() || text == "0" {
            return Ok(Self(None));
        }
        let wrong = "write HOST:PORT, :PORT for every address of this machine, or 0 for none";
        if let Some(port) = text.strip_prefix(':') {
            let port: u16 = port.parse().map_err(|_| wrong.to_owned())?;
            return Ok(Self(Some(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)))));
        }
        let mut found = text.to_socket_addrs().map_err(|error| format!("{error}; {wrong}"))?;
        found.next().map(|address| Self(Some(address))).ok_or_else(|| wrong.to_owned())
    }
}

/// A size as people write it: bytes, or a number with KB, MB or GB.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    const UNITS: [(&str, u32); 5] = [("KB", 10), ("MB", 20), ("GB", 30), ("B", 0), ("", 0)];
    let found = UNITS.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let size = found.and_then(|(number, shift)| number.parse::<usize>().ok()?.checked_mul(1 << shift));
    size.filter(|size| *size >= 1 << 20).ok_or_else(|| "write a size from 1MB such as 64MB or 1GB".to_owned())
}

/// A duration as Go spells it: `90s`, `1h30m`, `1.5h`, `250ms`; `0` needs no unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a duration such as 90s, 5m or 1h30m".to_owned();
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, unit) = rest.split_at(end);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let end = unit.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(unit.len());
        let (unit, next) = unit.split_at(end);
        let factor = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(wrong()),
        };
        seconds += number * factor;
        rest = next;
    }
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    if duration > DURATION_AT_MOST {
        return Err("that is longer than ten years; write a duration such as 90s, 5m or 1h30m".into());
    }
    Ok(duration)
}

/// How many do something at the same time: at least one.
pub(crate) fn workers(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("write a number from 1".into()),
        Ok(workers) => Ok(workers),
    }
}

/// A switch as Go spells it.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("write true or false".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, milliseconds) in [
            ("0", 0),
            ("0s", 0),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1.5h", 5_400_000),
            ("250ms", 250),
            ("+2s", 2000),
            (".5s", 500),
            ("1m0.5s", 60_500),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "5", "5 m", "-5m", "m", "5d", "1..2s", "5m3", "1e3s", "99999999999h", "∞s", "5M"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_may_lack_its_host_or_be_off() {
        let address = |text: &str| text.parse::<Listen>().map(Listen::address);
        assert_eq!(address(":8080"), Ok(Some("[::]:8080".parse().unwrap())));
        assert_eq!(address("127.0.0.1:1"), Ok(Some("127.0.0.1:1".parse().unwrap())));
        assert_eq!(address("[::1]:1"), Ok(Some("[::1]:1".parse().unwrap())));
        assert_eq!(address("0"), Ok(None));
        assert_eq!(address(""), Ok(None));
        for text in [":", ":x", ":70000", "8080", "1.2.3.4", "host:port"] {
            assert!(address(text).unwrap_err().contains(":PORT"), "{text}");
        }
    }
}
