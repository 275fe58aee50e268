//! Values of a fixed number of bytes, hexadecimal on the wire: addresses, nonces, hashes, signatures.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decimal::Text;

/// Why a text is not an address, nonce or hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidHexadecimal {
    #[error("must be 0x and {digits} hexadecimal digits")]
    Syntax { digits: usize },
    #[error("is spelled in both cases, but not as its EIP-55 checksum requires")]
    Checksum,
}

/// Declares a newtype of so many bytes, with its text form and serde.
macro_rules! hexadecimal {
    ($(#[$attribute:meta])* $name:ident, $bytes:literal) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $bytes]);

        impl $name {
            /// Creates a value of these bytes.
            #[must_use]
            pub const fn new(bytes: [u8; $bytes]) -> Self {
                Self(bytes)
            }

            /// Returns the bytes.
            #[must_use]
            pub const fn bytes(self) -> [u8; $bytes] {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, formatter)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text(Self::from_str))
            }
        }
    };
}

/// Declares what a value without a checksum has: its digits in lower case, read in any case.
macro_rules! plain {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "0x{}", hex::encode(self.0))
            }
        }

        impl FromStr for $name {
            type Err = InvalidHexadecimal;

            fn from_str(text: &str) -> Result<Self, InvalidHexadecimal> {
                parse(text).map(Self)
            }
        }
    };
}

hexadecimal!(
    /// An account or a contract of an EVM chain. Its text has the checksum of EIP-55; it is read with that checksum, or in one
    /// case.
    Address,
    20
);
hexadecimal!(
    /// The nonce of an authorization, random, chosen by the payer. A token accepts each nonce of a payer once.
    Nonce,
    32
);
plain!(Nonce);
hexadecimal!(
    /// The hash of a transaction.
    TransactionHash,
    32
);
plain!(TransactionHash);
hexadecimal!(
    /// The hash of a block.
    BlockHash,
    32
);
plain!(BlockHash);

impl Address {
    /// What the zero bytes are: nobody has its key, and tokens mint from and burn to it.
    pub const ZERO: Self = Self([0; 20]);
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = alloy_primitives::Address::from(self.0);
        formatter.write_str(&address.to_checksum(None))
    }
}

impl FromStr for Address {
    type Err = InvalidHexadecimal;

    fn from_str(text: &str) -> Result<Self, InvalidHexadecimal> {
        let address = parse(text).map(Self)?;
        let digits = &text[2..];
        let is_in_one_case = !digits.bytes().any(|byte| byte.is_ascii_lowercase())
            || !digits.bytes().any(|byte| byte.is_ascii_uppercase());
        if !is_in_one_case && address.to_string() != text {
            return Err(InvalidHexadecimal::Checksum);
        }
        Ok(address)
    }
}

/// Parses `0x` and the digits of exactly so many bytes.
pub(crate) fn parse<const BYTES: usize>(text: &str) -> Result<[u8; BYTES], InvalidHexadecimal> {
    let mut bytes = [0; BYTES];
    let digits = text.strip_prefix("0x");
    let decoded = digits.map(|digits| hex::decode_to_slice(digits, &mut bytes));
    match decoded {
        Some(Ok(())) => Ok(bytes),
        _ => Err(InvalidHexadecimal::Syntax { digits: 2 * BYTES }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const USDC: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";

    #[test]
    fn an_address_is_read_in_one_case_or_with_its_checksum() {
        let digits = &USDC[2..];
        let lower = format!("0x{}", digits.to_lowercase());
        let upper = format!("0x{}", digits.to_uppercase());
        for text in [USDC, &lower, &upper] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), USDC);
        }
        let misspelt = USDC.replace("Cb", "cB");
        assert_eq!(misspelt.parse::<Address>(), Err(InvalidHexadecimal::Checksum));
    }

    #[test]
    fn other_texts_are_refused() {
        let short = &USDC[..41];
        let long = format!("{USDC}0");
        let upper_prefix = USDC.replace("0x", "0X");
        let foreign = USDC.replace('C', "G");
        let wide = USDC.replace('C', "é");
        for text in ["", "0x", &USDC[2..], short, &long, &upper_prefix, &foreign, &wide] {
            let syntax = InvalidHexadecimal::Syntax { digits: 40 };
            assert_eq!(text.parse::<Address>(), Err(syntax), "{text}");
        }
    }

    proptest! {
        #[test]
        fn values_round_trip(address: [u8; 20], nonce: [u8; 32]) {
            let address = Address::new(address);
            prop_assert_eq!(address.to_string().parse(), Ok(address));
            let nonce = Nonce::new(nonce);
            prop_assert_eq!(nonce.to_string().parse(), Ok(nonce));
            prop_assert_eq!(nonce.to_string().to_uppercase().replace("0X", "0x").parse(), Ok(nonce));
        }
    }
}
