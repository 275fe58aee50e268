//! Integers that are decimal strings on the wire.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is not an amount or a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDecimal {
    #[error("must be a decimal string of digits without sign, spaces or leading zeros")]
    Syntax,
    #[error("is too large")]
    TooLarge,
}

/// An amount of a token in its smallest unit: one US dollar in USDC, which has six decimals, is 1,000,000. On the wire it is a
/// decimal string. A `uint256` above the range of `u128` is refused: no token has such a supply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AtomicAmount(u128);

impl AtomicAmount {
    /// Creates an amount of so many of the smallest units.
    #[must_use]
    pub const fn new(units: u128) -> Self {
        Self(units)
    }

    /// Returns the number of the smallest units.
    #[must_use]
    pub const fn units(self) -> u128 {
        self.0
    }
}

impl fmt::Display for AtomicAmount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for AtomicAmount {
    type Err = InvalidDecimal;

    fn from_str(text: &str) -> Result<Self, InvalidDecimal> {
        parse(text).map(Self)
    }
}

impl Serialize for AtomicAmount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AtomicAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

/// Parses the one spelling that an integer has: digits without sign and leading zeros.
fn parse<T: FromStr>(text: &str) -> Result<T, InvalidDecimal> {
    let has_leading_zero = text.len() > 1 && text.starts_with('0');
    if text.is_empty() || has_leading_zero || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(InvalidDecimal::Syntax);
    }
    // Of digits only, so that nothing but their number can be wrong.
    text.parse().map_err(|_| InvalidDecimal::TooLarge)
}

/// For `#[serde(with)]`.
pub(crate) fn serialize<T: fmt::Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// For `#[serde(with)]`.
pub(crate) fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Text(parse))
}

/// Reads a string through a function, without repeating what was sent in the error.
pub(crate) struct Text<F>(pub(crate) F);

impl<T, E: fmt::Display, F: FnOnce(&str) -> Result<T, E>> Visitor<'_> for Text<F> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<Error: de::Error>(self, text: &str) -> Result<T, Error> {
        (self.0)(text).map_err(Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_amount_has_one_spelling() {
        for (text, units) in [("0", 0), ("1", 1), ("10000", 10_000)] {
            assert_eq!(text.parse(), Ok(AtomicAmount::new(units)));
        }
        for text in ["", "00", "01", "+1", "-1", " 1", "1 ", "1.0", "1e3", "0x10", "1_000", "١"] {
            assert_eq!(text.parse::<AtomicAmount>(), Err(InvalidDecimal::Syntax), "{text}");
        }
    }

    #[test]
    fn an_amount_above_128_bits_is_refused() {
        let max = "340282366920938463463374607431768211455";
        assert_eq!(max.parse(), Ok(AtomicAmount::new(u128::MAX)));
        let above = "340282366920938463463374607431768211456";
        assert_eq!(above.parse::<AtomicAmount>(), Err(InvalidDecimal::TooLarge));
    }

    #[test]
    fn an_amount_is_a_string_on_the_wire() {
        assert_eq!(serde_json::to_string(&AtomicAmount::new(7)).unwrap(), "\"7\"");
        assert_eq!(serde_json::from_str::<AtomicAmount>("\"7\"").unwrap().units(), 7);
        for json in ["7", "7.0", "null", "[\"7\"]"] {
            assert!(serde_json::from_str::<AtomicAmount>(json).is_err(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn amounts_round_trip(units: u128) {
            let amount = AtomicAmount::new(units);
            prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        }
    }
}
