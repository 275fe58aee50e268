//! Decimal amounts on the wire.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A decimal amount as it was sent: `12.5`, `"12.50"`. It is stored as text, because a floating-point number would
/// round it.
#[derive(Clone, PartialEq, Eq)]
pub struct Amount(String);

impl Amount {
    /// Creates an amount from plain decimal notation, such as `12` or `12.50`. The text is not validated here.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <Box<RawValue>>::deserialize(deserializer)?;
        match raw.get().as_bytes().first() {
            Some(b'"') => serde_json::from_str(raw.get()).map(Self).map_err(D::Error::custom),
            Some(b'0'..=b'9' | b'-') => Ok(Self(raw.get().to_owned())),
            _ => Err(D::Error::custom("expected a decimal amount")),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A decimal amount, as a number or a string.",
            "oneOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": "^[0-9]+([.][0-9]+)?$" },
            ],
        })
    }
}
