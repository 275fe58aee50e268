//! Whose share is counted.

use std::net::{IpAddr, Ipv6Addr};

use primitives::{KeyId, UserId};
use sha2::{Digest, Sha256};

/// Seconds of a window.
pub(crate) const WINDOW: u64 = 60;

/// A caller: its name among the counts, and the second of the minute its windows begin at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    name: String,
    offset: u64,
}

impl Caller {
    /// An agent, by its key.
    #[must_use]
    pub fn agent(key: KeyId) -> Self {
        Self::named(key.to_string())
    }

    /// A person.
    #[must_use]
    pub fn person(user: UserId) -> Self {
        Self::named(user.to_string())
    }

    /// A program of a store, by its key's merchant.
    #[must_use]
    pub fn store(merchant: primitives::MerchantId) -> Self {
        Self::named(merchant.to_string())
    }

    /// Whoever has no credential, by address. One line of the new internet has 2⁶⁴ addresses: they count as one.
    #[must_use]
    pub fn address(address: IpAddr) -> Self {
        let address = match address.to_canonical() {
            IpAddr::V6(six) => {
                let line = six.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from_bits(line))
            }
            four @ IpAddr::V4(_) => four,
        };
        Self::named(format!("ip_{address}"))
    }

    fn named(name: String) -> Self {
        let digest = Sha256::digest(&name);
        let offset = u64::from(digest[0]) << 8 | u64::from(digest[1]);
        Self { name, offset: offset % WINDOW }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> Caller {
        Caller::address(address.parse().unwrap())
    }

    #[test]
    fn one_line_is_one_caller() {
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    #[test]
    fn windows_begin_all_over_the_minute() {
        let mut seconds: Vec<u64> = (0..200).map(|n| of(&format!("10.0.0.{n}")).offset()).collect();
        seconds.sort_unstable();
        seconds.dedup();
        assert!(seconds.len() > 50 && seconds.iter().all(|second| *second < WINDOW));
    }
}
