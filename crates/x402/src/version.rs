//! The version of the protocol.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version of the protocol, which is 2: nothing else can be represented.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProtocolVersion;

/// The number of the version.
pub const PROTOCOL_VERSION: u64 = 2;

impl Serialize for ProtocolVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(PROTOCOL_VERSION)
    }
}

impl<'de> Deserialize<'de> for ProtocolVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(Number)
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = ProtocolVersion;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "version {PROTOCOL_VERSION}")
    }

    fn visit_u64<E: Error>(self, version: u64) -> Result<ProtocolVersion, E> {
        if version == PROTOCOL_VERSION {
            return Ok(ProtocolVersion);
        }
        Err(E::invalid_value(Unexpected::Unsigned(version), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_version_2_is_read() {
        assert!(serde_json::from_str::<ProtocolVersion>("2").is_ok());
        assert_eq!(serde_json::to_string(&ProtocolVersion).unwrap(), "2");
        for json in ["1", "3", "0", "-2", "2.0", "\"2\"", "null", "18446744073709551618"] {
            assert!(serde_json::from_str::<ProtocolVersion>(json).is_err(), "{json}");
        }
    }
}
