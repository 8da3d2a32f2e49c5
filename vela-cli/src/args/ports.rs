//! The ports of `vela port-forward`, as typed.

use std::str::FromStr;

/// A port of a pod or a Service: its number or its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remote {
    Number(u16),
    Name(String),
}

/// A port of this machine, and the one that it is forwarded to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ports {
    /// The same as the remote one where none is given; 0 is a free one.
    pub(crate) local: Option<u16>,
    pub(crate) remote: Remote,
}

/// The longest name of a port in Kubernetes (IANA_SVC_NAME).
const LONGEST_NAME: usize = 15;

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            "expected LOCAL:REMOTE, PORT or :REMOTE with ports from 1 to 65535, such as 8080:80; REMOTE may be the name \
             of a port"
                .to_owned()
        };
        let number = |text: &str| text.parse().ok().filter(|port: &u16| *port > 0);
        let (local, remote) = match text.split_once(':') {
            Some(("", remote)) => (Some(0), remote),
            Some((local, remote)) => (Some(number(local).ok_or_else(wrong)?), remote),
            None => (None, text),
        };
        let is_name = remote.len() <= LONGEST_NAME
            && remote.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && remote.bytes().any(|byte| byte.is_ascii_lowercase());
        let remote = match number(remote) {
            Some(port) => Remote::Number(port),
            None if is_name => Remote::Name(remote.to_owned()),
            None => return Err(wrong()),
        };
        Ok(Self { local, remote })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_and_wrong_ones_say_what_was_expected() {
        let ports = |local, remote| Ok(Ports { local, remote });
        assert_eq!("8080:80".parse(), ports(Some(8080), Remote::Number(80)));
        assert_eq!("80".parse(), ports(None, Remote::Number(80)));
        assert_eq!(":80".parse(), ports(Some(0), Remote::Number(80)));
        assert_eq!("8080:http-1".parse(), ports(Some(8080), Remote::Name("http-1".to_owned())));
        for wrong in ["", ":", "0", "80:", "0:80", "65536", "a:80", "80:8:8", "-1", "80:HTTP", "8080:0"] {
            assert!(wrong.parse::<Ports>().is_err_and(|error| error.contains("LOCAL:REMOTE")), "{wrong}");
        }
    }
}
