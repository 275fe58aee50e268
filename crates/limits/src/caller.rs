//! Whose share is counted.

use primitives::{ClientAddress, KeyId, UserId};
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

    /// Whoever has no credential, by where it calls from.
    #[must_use]
    pub fn address(from: ClientAddress) -> Self {
        Self::named(format!("ip_{}", from.line()))
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
    fn windows_begin_all_over_the_minute() {
        let mut seconds: Vec<u64> = (0..200).map(|n| of(&format!("10.0.0.{n}")).offset()).collect();
        seconds.sort_unstable();
        seconds.dedup();
        assert!(seconds.len() > 50 && seconds.iter().all(|second| *second < WINDOW));
    }
}
