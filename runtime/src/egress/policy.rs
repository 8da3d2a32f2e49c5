//! An address → whether it may be asked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Services of clouds that tell credentials to every machine that asks, beyond the link-local ones.
const MACHINE_SERVICES: [IpAddr; 9] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x253)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x123)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe)),
];

/// Which addresses may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressPolicy {
    /// Services of the cluster and of the world, for URLs that users write.
    Services,
    /// The same and this machine's loopback, where users are at home on it.
    ServicesAndLoopback,
    /// Every address, for a URL that an operator gave.
    Anywhere,
}

impl EgressPolicy {
    /// May this address be asked?
    pub fn allows(self, address: IpAddr) -> bool {
        match self {
            Self::Anywhere => true,
            Self::ServicesAndLoopback => embedded(address).is_loopback() || is_service(address),
            Self::Services => is_service(address),
        }
    }
}

/// An address that a service can have, and no helper of a machine.
fn is_service(address: IpAddr) -> bool {
    // An address inside of another may be a helper, and so may the outer one.
    may_be_asked(address) && may_be_asked(embedded(address))
}

fn may_be_asked(address: IpAddr) -> bool {
    if MACHINE_SERVICES.contains(&address) || address.is_unspecified() || address.is_loopback() {
        return false;
    }
    match address {
        IpAddr::V4(v4) => {
            let [first, ..] = v4.octets();
            // 0/8 is this machine as well, and from 224 on nothing is a single machine.
            !v4.is_link_local() && first != 0 && first < 224
        }
        IpAddr::V6(v6) => {
            let [a, b, c, ..] = v6.segments();
            let site_local = a & 0xffc0 == 0xfec0;
            // Translation within a site (RFC 8215): each site decides where in it the IPv4 address stands.
            let translated = (a, b, c) == (0x64, 0xff9b, 1);
            // Teredo hides two IPv4 addresses, and no server uses it any more.
            let teredo = (a, b) == (0x2001, 0);
            !v6.is_unicast_link_local() && !v6.is_multicast() && !site_local && !translated && !teredo
        }
    }
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, translated (NAT64, SIIT) or tunnelled (6to4,
/// ISATAP).
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) | (0x64, 0xff9b, 0, 0, 0, 0) => v4(g, h),
        // ::1 and :: are themselves.
        (0, 0, 0, 0, 0, 0) if g != 0 => v4(g, h),
        (0, 0, 0, 0, 0xffff, 0) => v4(g, h),
        (0x2002, ..) => v4(b, c),
        (.., 0 | 0x200, 0x5efe) => v4(g, h),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_of_a_machine_are_out_of_reach_in_every_spelling() {
        for address in [
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.8.8.8",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "::",
            "::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "::ffff:127.0.0.1",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::1",
            "2002:7f00:1::",
            "2002:6464:64c8::",
            "fd00:ec2::23",
            "fd00:ec2::253",
            "fd00:ec2::123",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "64:ff9b:1::169.254.169.254",
            "64:ff9b:1:a9fe:a9:fe00::",
            "64:ff9b:1:ffff::8.8.8.8",
            "::ffff:0:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "::127.0.0.1",
            "2001:0:a9fe:a9fe::1",
            "2001::5601:5601",
            "2001:0:808:808::f7f7:f7f7",
            "2001:db8::5efe:169.254.169.254",
            "2001:db8::200:5efe:127.0.0.1",
            "fe80::5efe:8.8.8.8",
        ] {
            assert!(!EgressPolicy::Services.allows(address.parse().unwrap()), "{address}");
        }
        for address in [
            "10.96.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "8.8.8.8",
            "fd12::1",
            "2001:db8::1",
            "::ffff:10.0.0.1",
            "64:ff9b::8.8.8.8",
            "::ffff:0:8.8.8.8",
            "2002:808:808::1",
            "2001:db8::5efe:8.8.8.8",
            "2001:4860::1",
        ] {
            assert!(EgressPolicy::Services.allows(address.parse().unwrap()), "{address}");
        }
        let local = EgressPolicy::ServicesAndLoopback;
        assert!(local.allows(Ipv4Addr::LOCALHOST.into()) && local.allows(Ipv6Addr::LOCALHOST.into()));
        assert!(!local.allows(Ipv4Addr::new(169, 254, 169, 254).into()));
        assert!(EgressPolicy::Anywhere.allows(Ipv4Addr::new(169, 254, 169, 254).into()));
    }
}
