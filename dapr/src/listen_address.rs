//! The address of an endpoint, as typed.

use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// Where an endpoint listens, if it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listen(pub(crate) Option<SocketAddr>);

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
