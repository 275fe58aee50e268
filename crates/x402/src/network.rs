//! The chain on which a payment is made.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decimal::Text;

/// Digits of the longest chain id that is accepted. CAIP-2 permits 32 characters; every chain id in use is shorter than these.
const CHAIN_ID_DIGITS_MAX: usize = 15;

/// An EVM chain, named as CAIP-2 does: `eip155:` and the chain id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    chain_id: u64,
}

/// Error returned when a text is not the CAIP-2 name of an EVM chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an EVM network in CAIP-2 form, such as eip155:8453")]
pub struct InvalidNetwork;

impl Network {
    /// Base.
    pub const BASE: Self = Self::new(8_453);
    /// Base Sepolia, a test network.
    pub const BASE_SEPOLIA: Self = Self::new(84_532);

    /// Returns the network with this chain id.
    #[must_use]
    pub const fn new(chain_id: u64) -> Self {
        Self { chain_id }
    }

    /// Returns the chain id.
    #[must_use]
    pub const fn chain_id(self) -> u64 {
        self.chain_id
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "eip155:{}", self.chain_id)
    }
}

impl FromStr for Network {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let digits = text.strip_prefix("eip155:").ok_or(InvalidNetwork)?;
        let is_canonical = digits.len() <= CHAIN_ID_DIGITS_MAX
            && !digits.starts_with('0')
            && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_canonical {
            return Err(InvalidNetwork);
        }
        digits.parse().map(Self::new).map_err(|_| InvalidNetwork)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(Self::from_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_one_name() {
        assert_eq!("eip155:84532".parse(), Ok(Network::BASE_SEPOLIA));
        assert_eq!(Network::BASE.to_string(), "eip155:8453");
        for text in [
            "",
            "eip155",
            "eip155:",
            "eip155:0",
            "eip155:08453",
            "eip155:+1",
            "eip155:-1",
            "eip155:*",
            "eip155: 1",
            "EIP155:1",
            "base",
            "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
            "eip155:1000000000000000",
            "eip155:18446744073709551616",
        ] {
            assert_eq!(text.parse::<Network>(), Err(InvalidNetwork), "{text}");
        }
    }
}
