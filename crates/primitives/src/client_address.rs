//! The address a request came from.

use std::net::{IpAddr, Ipv6Addr};

/// The client's IP address: the peer's, or the one reported by a trusted proxy. The server adds it to the
/// extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(pub IpAddr);

impl ClientAddress {
    /// Returns the network that rate limits count by: the IPv4 address, or the /64 prefix of an IPv6 address, because
    /// one IPv6 subscriber has 2⁶⁴ addresses.
    #[must_use]
    pub fn network(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(six) => {
                let prefix = six.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from_bits(prefix))
            }
            four @ IpAddr::V4(_) => four,
        }
    }

    /// Returns the /48 prefix of an IPv6 address, because providers assign up to 65,536 of its /64 networks to one
    /// customer. `None` for an IPv4 address.
    #[must_use]
    pub fn site(self) -> Option<IpAddr> {
        match self.0.to_canonical() {
            IpAddr::V6(six) => {
                let prefix = six.to_bits() & (u128::MAX << 80);
                Some(IpAddr::V6(Ipv6Addr::from_bits(prefix)))
            }
            IpAddr::V4(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> IpAddr {
        ClientAddress(address.parse().unwrap()).network()
    }

    #[test]
    fn addresses_of_one_network_count_as_one() {
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff::9"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }

    #[test]
    fn networks_of_one_site_are_recognized() {
        let site = |address: &str| ClientAddress(address.parse().unwrap()).site();
        assert_eq!(site("2001:db8:1:2::1"), site("2001:db8:1:ffff::9"));
        assert_ne!(site("2001:db8:1:2::1"), site("2001:db8:2:2::1"));
        assert_eq!((site("192.0.2.1"), site("::ffff:192.0.2.1")), (None, None));
    }
}
