//! Where a request came from.

use std::net::{IpAddr, Ipv6Addr};

/// The address of whoever sent a request, as far as it can be known: behind proxies that are trusted, the
/// one they name. The server puts it among the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(pub IpAddr);

impl ClientAddress {
    /// Whose line it is. One line of the new internet has 2⁶⁴ addresses: they count as one.
    #[must_use]
    pub fn line(self) -> IpAddr {
        match self.0.to_canonical() {
            IpAddr::V6(six) => {
                let line = six.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from_bits(line))
            }
            four @ IpAddr::V4(_) => four,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(address: &str) -> IpAddr {
        ClientAddress(address.parse().unwrap()).line()
    }

    #[test]
    fn one_line_counts_as_one() {
        assert_eq!(line("2001:db8:1:2::1"), line("2001:db8:1:2:ffff::9"));
        assert_ne!(line("2001:db8:1:2::1"), line("2001:db8:1:3::1"));
        assert_eq!(line("::ffff:192.0.2.1"), line("192.0.2.1"));
        assert_ne!(line("192.0.2.1"), line("192.0.2.2"));
    }
}
