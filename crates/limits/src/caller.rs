//! The caller that calls are counted for.

use primitives::{ClientAddress, KeyId, UserId};
use sha2::{Digest, Sha256};

/// Length of a window in seconds.
pub(crate) const WINDOW: u64 = 60;

/// A caller: its name in the counters, and the second of the minute at which its windows start.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    name: String,
    offset: u64,
}

impl Caller {
    /// Creates a caller for an agent key.
    #[must_use]
    pub fn agent(key: KeyId) -> Self {
        Self::named(key.to_string())
    }

    /// Creates a caller for a person.
    #[must_use]
    pub fn person(user: UserId) -> Self {
        Self::named(user.to_string())
    }

    /// Creates a caller for a store: all store keys of the merchant share its quotas.
    #[must_use]
    pub fn store(merchant: primitives::MerchantId) -> Self {
        Self::named(merchant.to_string())
    }

    /// Creates a caller for a client without credentials, by its network.
    #[must_use]
    pub fn address(from: ClientAddress) -> Self {
        Self::named(format!("ip_{}", from.network()))
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
        Caller::address(ClientAddress(address.parse().unwrap()))
    }

    #[test]
    fn windows_start_at_different_seconds() {
        let mut seconds: Vec<u64> = (0..200).map(|n| of(&format!("10.0.0.{n}")).offset()).collect();
        seconds.sort_unstable();
        seconds.dedup();
        assert!(seconds.len() > 50 && seconds.iter().all(|second| *second < WINDOW));
    }
}
