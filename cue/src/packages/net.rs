//! Package `net`: addresses, networks, hosts and URLs in text form; nothing here touches a network.

use std::net::{IpAddr, Ipv6Addr};

use num_bigint::{BigInt, Sign};

use super::arguments::{any, number, text};
use super::{ANY, Data, Failure, Function, INTEGER, Kinds, Package, TEXT, function};

type Outcome = Result<Data, Failure>;

const S: Kinds = Kinds::STRING;
const B: Kinds = Kinds::BOOL;
const L: Kinds = Kinds::LIST;

pub(super) static PACKAGE: Package = Package {
    path: "net",
    constants: &[("IPv4len", "4"), ("IPv6len", "16")],
    declarations: "",
    functions: &[
        function("SplitHostPort", &[TEXT], L, |a| split_host_port(text(a, 0)?)),
        function("JoinHostPort", &[ANY, ANY], S, join_host_port),
        function("FQDN", &[TEXT], B, |a| Ok(Data::Bool(is_domain_name(text(a, 0)?)))),
        function("ParseIP", &[TEXT], L, |a| Ok(octets(&address_text(text(a, 0)?)?.bytes()))),
        test("IPv4", |a| Ok(Data::Bool(address(a, 0)?.ip.is_ipv4()))),
        test("IPv6", |a| Ok(Data::Bool(address(a, 0)?.ip.is_ipv6()))),
        test("IP", |a| address(a, 0).map(|_| Data::Bool(true))),
        test("IPCIDR", |a| network(a, 0).map(|_| Data::Bool(true))),
        test("LoopbackIP", |a| Ok(Data::Bool(address(a, 0)?.ip.to_canonical().is_loopback()))),
        test("MulticastIP", |a| Ok(Data::Bool(address(a, 0)?.ip.to_canonical().is_multicast()))),
        test("InterfaceLocalMulticastIP", |a| Ok(Data::Bool(multicast_scope(&address(a, 0)?) == Some(1)))),
        test("LinkLocalMulticastIP", |a| {
            let address = address(a, 0)?;
            let local = match address.ip.to_canonical() {
                IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
                IpAddr::V6(_) => multicast_scope(&address) == Some(2),
            };
            Ok(Data::Bool(local))
        }),
        test("LinkLocalUnicastIP", |a| Ok(Data::Bool(is_link_local(address(a, 0)?.ip)))),
        test("GlobalUnicastIP", |a| {
            let ip = address(a, 0)?.ip.to_canonical();
            let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
            let special = ip.is_unspecified()
                || broadcast
                || ip.is_loopback()
                || ip.is_multicast()
                || is_link_local(ip);
            Ok(Data::Bool(!special))
        }),
        test("UnspecifiedIP", |a| Ok(Data::Bool(address(a, 0)?.ip.is_unspecified()))),
        function("ToIP4", &[ANY], L, |a| match address(a, 0)? {
            Address { ip: IpAddr::V4(ip), .. } => Ok(octets(&ip.octets())),
            other => Err(Failure::error(format!("cannot convert {:?} to IPv4", other.show()))),
        }),
        function("ToIP16", &[ANY], L, |a| {
            Ok(octets(&match address(a, 0)?.ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            }))
        }),
        function("IPString", &[ANY], S, |a| Ok(Data::String(address(a, 0)?.show()))),
        function("AddIP", &[ANY, INTEGER], S, |a| {
            let offset = offset(a)?;
            match network(a, 0) {
                Ok((start, bits)) => Ok(Data::String(format!("{}/{bits}", moved(&start, &offset)?.show()))),
                Err(_) => Ok(Data::String(moved(&address(a, 0)?, &offset)?.show())),
            }
        }),
        function("AddIPCIDR", &[ANY, INTEGER], S, |a| {
            let (start, bits) = network(a, 0)?;
            let step = offset(a)? << (start.width() - bits);
            Ok(Data::String(format!("{}/{bits}", moved(&start, &step)?.show())))
        }),
        function("ParseCIDR", &[TEXT], Kinds::STRUCT, parse_cidr),
        function("InCIDR", &[ANY, ANY], B, |a| {
            let (ip, (start, bits)) = (address(a, 0)?, network(a, 1)?);
            let inside =
                ip.width() == start.width() && ip.zone.is_none() && masked(&ip, bits) == masked(&start, bits);
            Ok(Data::Bool(inside))
        }),
        function("CompareIP", &[ANY, ANY], Kinds::INT, |a| {
            let (x, y) = (address(a, 0)?, address(a, 1)?);
            Ok(Data::int(x.width().cmp(&y.width()).then(x.ip.cmp(&y.ip)).then(x.zone.cmp(&y.zone)) as i32))
        }),
        function("PathEscape", &[TEXT], S, |a| Ok(Data::String(escape(text(a, 0)?, "$&+=:@", false)))),
        function("PathUnescape", &[TEXT], S, |a| unescape(text(a, 0)?, false).map(Data::String)),
        function("QueryEscape", &[TEXT], S, |a| Ok(Data::String(escape(text(a, 0)?, "", true)))),
        function("QueryUnescape", &[TEXT], S, |a| unescape(text(a, 0)?, true).map(Data::String)),
        function("URL", &[TEXT], B, |a| url(text(a, 0)?).map(|_| Data::Bool(true))),
        function("AbsURL", &[TEXT], B, |a| match url(text(a, 0)?)? {
            true => Ok(Data::Bool(true)),
            false => Err(Failure::error("URL is not absolute")),
        }),
    ],
};

const fn test(name: &'static str, run: fn(&[Data]) -> Outcome) -> Function {
    function(name, &[ANY], B, run)
}

#[derive(Debug, Clone)]
struct Address {
    ip: IpAddr,
    zone: Option<String>,
}

impl Address {
    fn bytes(&self) -> Vec<u8> {
        match self.ip {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        }
    }

    fn width(&self) -> u8 {
        if self.ip.is_ipv4() { 32 } else { 128 }
    }

    fn show(&self) -> String {
        match &self.zone {
            Some(zone) => format!("{}%{zone}", self.ip),
            None => self.ip.to_string(),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let ip = match bytes.len() {
            4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from)?,
            16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)?,
            _ => return None,
        };
        Some(Self { ip, zone: None })
    }
}

fn octets(bytes: &[u8]) -> Data {
    Data::List(bytes.iter().map(|b| Data::int(i32::from(*b))).collect())
}

fn address_text(source: &str) -> Result<Address, Failure> {
    let invalid = || Failure::error(format!("invalid IP address {source:?}"));
    let (plain, zone) = match source.split_once('%') {
        Some((_, "")) => return Err(invalid()),
        Some((plain, zone)) => (plain, Some(zone.to_string())),
        None => (source, None),
    };
    let ip: IpAddr = plain.parse().map_err(|_| invalid())?;
    if zone.is_some() && ip.is_ipv4() { Err(invalid()) } else { Ok(Address { ip, zone }) }
}

fn address(a: &[Data], index: usize) -> Result<Address, Failure> {
    match any(a, index)? {
        Data::List(items) => {
            let bytes: Option<Vec<u8>> = items
                .iter()
                .map(|item| match item {
                    Data::Number { value, .. } => value.to_u64().and_then(|n| u8::try_from(n).ok()),
                    _ => None,
                })
                .collect();
            let bytes = bytes.ok_or_else(|| Failure::error("invalid IP byte value"))?;
            Address::from_bytes(&bytes)
                .ok_or_else(|| Failure::error(format!("invalid IP length {}", bytes.len())))
        }
        Data::String(_) | Data::Bytes(_) => address_text(text(a, index)?),
        _ => Err(Failure::error("invalid type for IP address")),
    }
}

fn network(a: &[Data], index: usize) -> Result<(Address, u8), Failure> {
    match any(a, index)? {
        Data::String(_) | Data::Bytes(_) => network_text(text(a, index)?),
        _ => Err(Failure::error("invalid type for IP CIDR")),
    }
}

fn network_text(source: &str) -> Result<(Address, u8), Failure> {
    let invalid = || Failure::error(format!("invalid CIDR address {source:?}"));
    let (start, bits) = source.rsplit_once('/').ok_or_else(invalid)?;
    let address = address_text(start).map_err(|_| invalid())?;
    let plain = !bits.is_empty()
        && bits.bytes().all(|b| b.is_ascii_digit())
        && (bits.len() == 1 || !bits.starts_with('0'));
    let bits: u8 = bits.parse().ok().filter(|_| plain).ok_or_else(invalid)?;
    if bits > address.width() || address.zone.is_some() { Err(invalid()) } else { Ok((address, bits)) }
}

fn mask(width: u8, bits: u8) -> Vec<u8> {
    (0..width / 8).map(|index| !(0xffu16 >> bits.saturating_sub(index * 8).min(8)) as u8).collect()
}

fn masked(address: &Address, bits: u8) -> Vec<u8> {
    address.bytes().iter().zip(mask(address.width(), bits)).map(|(byte, mask)| byte & mask).collect()
}

fn parse_cidr(a: &[Data]) -> Outcome {
    let (start, bits) = network_text(text(a, 0)?)?;
    let (first, netmask) = (masked(&start, bits), mask(start.width(), bits));
    let show = |bytes: &[u8]| Data::String(Address::from_bytes(bytes).map(|a| a.show()).unwrap_or_default());
    let mut fields = vec![
        ("prefix_mask".to_string(), show(&netmask)),
        ("prefix_len".to_string(), Data::int(i32::from(bits))),
        ("prefix_addr".to_string(), show(&first)),
    ];
    if start.ip.is_ipv4() {
        let last: Vec<u8> = first.iter().zip(&netmask).map(|(byte, mask)| byte | !mask).collect();
        fields.push(("broadcast_addr".to_string(), show(&last)));
    }
    Ok(Data::Struct(fields))
}

fn offset(a: &[Data]) -> Result<BigInt, Failure> {
    number(a, 1)?.to_bigint().ok_or_else(|| Failure::error("argument 2 is not an integer"))
}

fn moved(address: &Address, offset: &BigInt) -> Result<Address, Failure> {
    let bytes = address.bytes();
    let (sign, digits) = (BigInt::from_bytes_be(Sign::Plus, &bytes) + offset).to_bytes_be();
    let out_of_range =
        |what| Failure::error(format!("IP address arithmetic resulted in out-of-range address ({what})"));
    if sign == Sign::Minus {
        return Err(out_of_range("underflow"));
    }
    if digits.len() > bytes.len() {
        return Err(out_of_range("overflow"));
    }
    let mut all = vec![0; bytes.len() - digits.len()];
    all.extend(digits);
    Address::from_bytes(&all).ok_or_else(|| out_of_range("overflow"))
}

fn multicast_scope(address: &Address) -> Option<u8> {
    match address.ip {
        IpAddr::V6(ip) if ip.is_multicast() && ip.to_ipv4_mapped().is_none() => Some(ip.octets()[1] & 0x0f),
        _ => None,
    }
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => Ipv6Addr::is_unicast_link_local(&ip),
    }
}

fn split_host_port(source: &str) -> Outcome {
    let error = |what: &str| Failure::error(format!("address {source}: {what}"));
    let (host, port) = source.rsplit_once(':').ok_or_else(|| error("missing port in address"))?;
    let host = if let Some(inner) = host.strip_prefix('[') {
        let inner = inner.strip_suffix(']').ok_or_else(|| error("missing ']' in address"))?;
        if inner.contains(['[', ']']) {
            return Err(error("unexpected '[' or ']' in address"));
        }
        inner
    } else {
        if source.starts_with('[') || host.ends_with(']') {
            return Err(error("missing port in address"));
        }
        if host.contains(':') {
            return Err(error("too many colons in address"));
        }
        host
    };
    if host.contains(['[', ']']) || port.contains(['[', ']']) {
        return Err(error("unexpected '[' or ']' in address"));
    }
    Ok(Data::texts([host, port]))
}

fn join_host_port(a: &[Data]) -> Outcome {
    let host = match any(a, 0)? {
        Data::List(_) => address(a, 0)?.show(),
        _ => text(a, 0)?.to_string(),
    };
    let port = match any(a, 1)? {
        Data::Number { value, is_float: false } => value.to_string(),
        _ => text(a, 1)?.to_string(),
    };
    Ok(Data::String(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }))
}

fn is_domain_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    !name.is_empty()
        && name.len() <= 253
        && name.split('.').all(|label| {
            !label.is_empty()
                && label.len() <= 63
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|b| b == b'-' || b.is_ascii_alphanumeric())
                && match label.strip_prefix("xn--") {
                    Some(code) => punycode(code).is_some(),
                    // Two dashes at that place are kept for such labels.
                    None => label.get(2..4) != Some("--"),
                }
        })
}

/// The international label behind `xn--`; none when it is malformed (RFC 3492).
fn punycode(code: &str) -> Option<String> {
    let (plain, digits) = code.rsplit_once('-').unwrap_or(("", code));
    let mut out: Vec<char> = plain.chars().collect();
    let (mut point, mut index, mut bias) = (128u32, 0u32, 72u32);
    let mut digits = digits.bytes();
    let mut first = true;
    while digits.len() > 0 {
        let (start, mut weight, mut step) = (index, 1u32, 36u32);
        loop {
            let byte = digits.next()?.to_ascii_lowercase();
            let digit = u32::from(if byte.is_ascii_digit() { byte - b'0' + 26 } else { byte - b'a' });
            index = index.checked_add(digit.checked_mul(weight)?)?;
            let threshold = step.saturating_sub(bias).clamp(1, 26);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(36 - threshold)?;
            step += 36;
        }
        let count = u32::try_from(out.len()).ok()? + 1;
        let mut delta = if first { (index - start) / 700 } else { (index - start) / 2 };
        first = false;
        delta += delta / count;
        bias = 0;
        while delta > 455 {
            delta /= 35;
            bias += 36;
        }
        bias += 36 * delta / (delta + 38);
        point = point.checked_add(index / count)?;
        index %= count;
        let c = char::from_u32(point).filter(|c| !c.is_control() && !c.is_whitespace())?;
        out.insert(usize::try_from(index).ok()?, c);
        index += 1;
    }
    (!out.is_empty()).then(|| out.into_iter().collect())
}

fn escape(source: &str, kept: &str, plus: bool) -> String {
    let mut out = String::new();
    for byte in source.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' | b'~' => out.push(byte as char),
            b' ' if plus => out.push('+'),
            _ if kept.as_bytes().contains(&byte) => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn unescape(source: &str, plus: bool) -> Result<String, Failure> {
    let bytes = source.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let digits = source.get(at + 1..at + 3).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
                let value = digits.and_then(|d| u8::from_str_radix(d, 16).ok());
                let shown = source.get(at..(at + 3).min(source.len())).unwrap_or("%");
                out.push(value.ok_or_else(|| Failure::error(format!("invalid URL escape {shown:?}")))?);
                at += 2;
            }
            b'+' if plus => out.push(b' '),
            byte => out.push(byte),
        }
        at += 1;
    }
    // Bytes that are no text are shown as replacement characters, as any output is.
    Ok(String::from_utf8(out).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Checks a URL and tells whether it has a scheme.
fn url(source: &str) -> Result<bool, Failure> {
    let error = |what: &str| Failure::error(format!("parse {source:?}: {what}"));
    if source.chars().any(|c| c.is_control()) {
        return Err(error("invalid control character in URL"));
    }
    let scheme_end = source.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')));
    let (absolute, rest) = match scheme_end {
        Some(0) if source.starts_with(':') => return Err(error("missing protocol scheme")),
        Some(end) if source[end..].starts_with(':') => {
            if !source.starts_with(|c: char| c.is_ascii_alphabetic()) {
                return Err(error("first path segment in URL cannot contain colon"));
            }
            (true, &source[end + 1..])
        }
        _ => (false, source),
    };
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (path, _) = rest.split_once('?').unwrap_or((rest, ""));
    if !absolute && !path.starts_with('/') && path.split('/').next().is_some_and(|first| first.contains(':'))
    {
        return Err(error("first path segment in URL cannot contain colon"));
    }
    unescape(path, false).map_err(|f| match f {
        Failure::Error(what) => error(&what),
        other => other,
    })?;
    if let Some(after) = path.strip_prefix("//") {
        let authority = after.split('/').next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        if host.chars().any(|c| matches!(c, ' ' | '<' | '>' | '"' | '^' | '`' | '{' | '}' | '|' | '\\')) {
            return Err(error("invalid character in host name"));
        }
        let port = match host.strip_prefix('[') {
            Some(inner) => inner
                .split_once(']')
                .ok_or_else(|| error("missing ']' in host"))?
                .1
                .strip_prefix(':')
                .unwrap_or(""),
            None => host.split_once(':').map_or("", |(_, port)| port),
        };
        if !port.bytes().all(|b| b.is_ascii_digit()) {
            return Err(error(&format!("invalid port {:?} after host", format!(":{port}"))));
        }
    }
    Ok(absolute)
}
