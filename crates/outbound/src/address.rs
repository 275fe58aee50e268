//! Which addresses belong to the public internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// IPv4 networks that are not globally reachable unicast.
const REFUSED_V4: &[Ipv4Net] = &[
    // This network.
    v4([0, 0, 0, 0], 8),
    // Private use.
    v4([10, 0, 0, 0], 8),
    v4([172, 16, 0, 0], 12),
    v4([192, 168, 0, 0], 16),
    // Shared address space of carriers, also used inside of clouds.
    v4([100, 64, 0, 0], 10),
    // Loopback.
    v4([127, 0, 0, 0], 8),
    // Link-local, with the metadata service of clouds.
    v4([169, 254, 0, 0], 16),
    // The platform service of Azure, reachable from each of its machines.
    v4([168, 63, 129, 16], 32),
    // IETF protocol assignments.
    v4([192, 0, 0, 0], 24),
    // Documentation.
    v4([192, 0, 2, 0], 24),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    // Relays from 6to4, deprecated.
    v4([192, 88, 99, 0], 24),
    // Benchmarks.
    v4([198, 18, 0, 0], 15),
    // Multicast.
    v4([224, 0, 0, 0], 4),
    // Reserved, with the broadcast address.
    v4([240, 0, 0, 0], 4),
];

/// The only IPv6 network from which global unicast addresses are assigned. Outside of it are, among others, loopback, unique
/// local and link-local addresses, multicast, the discard prefix, and the prefixes of NAT64, which contain IPv4 addresses.
const GLOBAL_UNICAST_V6: Ipv6Net = v6([0x2000, 0], 3);

/// Networks within [`GLOBAL_UNICAST_V6`] that are not globally reachable, or that lead to an IPv4 address which they contain.
const REFUSED_V6: &[Ipv6Net] = &[
    // IETF protocol assignments: Teredo, benchmarks, ORCHID.
    v6([0x2001, 0], 23),
    // Documentation.
    v6([0x2001, 0xdb8], 32),
    v6([0x3fff, 0], 20),
    // 6to4.
    v6([0x2002, 0], 16),
];

/// The well-known prefix of NAT64: a gateway translates its addresses to the IPv4 addresses in their last 32 bits.
pub const NAT64: Ipv6Net = v6([0x64, 0xff9b], 96);

/// Returns the IPv4 address to which a NAT64 gateway translates an address of its well-known prefix.
pub(crate) fn behind_nat64(address: IpAddr) -> Option<IpAddr> {
    match address {
        IpAddr::V6(six) if NAT64.contains(&six) => {
            let [.., a, b, c, d] = six.octets();
            Some(Ipv4Addr::new(a, b, c, d).into())
        }
        _ => None,
    }
}

/// Returns whether an address is globally reachable unicast. An IPv4-mapped IPv6 address is judged by its IPv4 address.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(four) => !REFUSED_V4.iter().any(|network| network.contains(&four)),
        IpAddr::V6(six) => {
            GLOBAL_UNICAST_V6.contains(&six)
                && !REFUSED_V6.iter().any(|network| network.contains(&six))
        }
    }
}

const fn v4(octets: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(segments: [u16; 2], prefix: u8) -> Ipv6Net {
    let [a, b] = segments;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0), prefix)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(address: &str) -> bool {
        is_public(address.parse().unwrap())
    }

    #[test]
    fn addresses_of_the_public_internet_are_public() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "2001:200::",
            "2001:db7:ffff::1",
            "2001:db9::1",
            "2003::1",
            "2606:4700:4700::1111",
            "2a00:1450:4001::200e",
            "3ffe:ffff::1",
            "3fff:1000::1",
        ] {
            assert!(public(address), "{address}");
        }
    }

    #[test]
    fn special_addresses_are_not_public() {
        for address in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.0",
            "168.63.129.16",
            "169.254.169.254",
            "169.254.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.0",
            "192.0.0.192",
            "192.0.0.255",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!public(address), "{address}");
            assert!(!public(&format!("::ffff:{address}")), "::ffff:{address}");
        }
    }

    #[test]
    fn special_ipv6_addresses_are_not_public() {
        for address in [
            "::",
            "::1",
            // IPv4-compatible, IPv4-translated, NAT64, local NAT64.
            "::7f00:1",
            "::808:808",
            "::ffff:0:7f00:1",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::a00:1",
            // Discard-only, Teredo, benchmarks, ORCHID, ORCHIDv2.
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:1ff:ffff::1",
            // Documentation, 6to4 of 127.0.0.1, of 10.0.0.1 and of a public address.
            "2001:db8::1",
            "3fff::1",
            "3fff:fff::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2002:808:808::1",
            // Segment routing, unique local, link-local, site-local, multicast, unassigned.
            "5f00::1",
            "fc00::1",
            "fd00::1",
            "fd00:ec2::254",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
            "1fff::1",
            "e000::1",
        ] {
            assert!(!public(address), "{address}");
        }
    }

    proptest! {
        #[test]
        fn an_address_is_judged_the_same_in_both_families(bits: u32) {
            let four = Ipv4Addr::from_bits(bits);
            prop_assert_eq!(is_public(four.into()), is_public(four.to_ipv6_mapped().into()));
            prop_assert!(!is_public(four.to_ipv6_compatible().into()));
        }

        #[test]
        fn nothing_outside_of_global_unicast_is_public(bits: u128) {
            let six = Ipv6Addr::from_bits(bits & !(0b111 << 125));
            prop_assert!(six.to_ipv4_mapped().is_some() || !is_public(six.into()));
            let high = Ipv6Addr::from_bits(bits | (0b1 << 127));
            prop_assert!(!is_public(high.into()));
        }
    }
}
