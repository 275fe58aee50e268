//! Extensions of the protocol: those that are not known here are passed on as they are.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::bounded;
use crate::document::FieldError;

const PAYMENT_IDENTIFIER: &str = "payment-identifier";
const ID_PATH: &str = "extensions.payment-identifier.info.id";

/// Lengths of a payment identifier.
const ID_BYTES_MIN: usize = 16;
const ID_BYTES_MAX: usize = 128;

/// Extensions by their name. The server announces them in `PaymentRequired`; a payload repeats them and adds to them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Extensions(#[serde(deserialize_with = "bounded::object")] Map<String, Value>);

/// The idempotency key of a payment, chosen by the payer: the same identifier with the same payload is the same payment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PaymentIdentifier(String);

/// Error returned when a text is not a payment identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must have {ID_BYTES_MIN} to {ID_BYTES_MAX} letters, digits, hyphens or underscores")]
pub struct InvalidPaymentIdentifier;

impl Extensions {
    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of an extension.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Announces or adds an extension.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Announces that payloads may have, or must have, a payment identifier.
    #[must_use]
    pub fn with_payment_identifier(self, required: bool) -> Self {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "required": { "type": "boolean" },
                "id": { "type": "string", "minLength": ID_BYTES_MIN, "maxLength": ID_BYTES_MAX }
            },
            "required": ["required"]
        });
        let value = json!({ "info": { "required": required }, "schema": schema });
        self.with(PAYMENT_IDENTIFIER, value)
    }

    /// Returns the payment identifier of a payload. `None` if it has none, also if it only repeats the announcement.
    pub fn payment_identifier(&self) -> Result<Option<PaymentIdentifier>, FieldError> {
        let Some(extension) = self.find(PAYMENT_IDENTIFIER) else { return Ok(None) };
        match extension.get("info").and_then(|info| info.get("id")) {
            None => Ok(None),
            Some(Value::String(text)) => {
                let id = text.parse::<PaymentIdentifier>();
                id.map(Some).map_err(|error| FieldError::new(ID_PATH, error.to_string()))
            }
            Some(_) => Err(FieldError::new(ID_PATH, "must be a string")),
        }
    }
}

impl PaymentIdentifier {
    /// Returns the identifier as the payer sent it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PaymentIdentifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for PaymentIdentifier {
    type Err = InvalidPaymentIdentifier;

    fn from_str(text: &str) -> Result<Self, InvalidPaymentIdentifier> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_id =
            (ID_BYTES_MIN..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_part);
        if is_id { Ok(Self(text.to_owned())) } else { Err(InvalidPaymentIdentifier) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_id(id: &Value) -> Result<Option<PaymentIdentifier>, FieldError> {
        let value = json!({ "info": { "required": true, "id": id } });
        Extensions::default().with(PAYMENT_IDENTIFIER, value).payment_identifier()
    }

    #[test]
    fn a_payment_identifier_has_16_to_128_characters() {
        let id = "pay_7d5d747be160e280504c099d984bcfe0";
        assert_eq!(with_id(&json!(id)).unwrap().unwrap().as_str(), id);
        for id in ["a".repeat(16), "Z".repeat(128), "0-_0".repeat(4)] {
            assert!(id.parse::<PaymentIdentifier>().is_ok(), "{id}");
        }
        for id in ["a".repeat(15), "a".repeat(129), format!("{} ", "a".repeat(16)), "ä".repeat(8)]
        {
            assert_eq!(id.parse::<PaymentIdentifier>(), Err(InvalidPaymentIdentifier), "{id}");
            assert_eq!(with_id(&json!(id)).unwrap_err().field, ID_PATH);
        }
        assert_eq!(with_id(&json!(7)).unwrap_err().field, ID_PATH);
    }

    #[test]
    fn a_repeated_announcement_has_no_identifier() {
        let announced = Extensions::default().with_payment_identifier(true);
        assert_eq!(announced.payment_identifier(), Ok(None));
        assert_eq!(Extensions::default().payment_identifier(), Ok(None));
        let value = announced.find(PAYMENT_IDENTIFIER).unwrap();
        assert_eq!(value["info"]["required"], true);
        assert_eq!(value["schema"]["properties"]["id"]["maxLength"], 128);
    }

    #[test]
    fn unknown_extensions_are_kept_within_limits() {
        let json = "{\"bazaar\":{\"info\":{\"b\":[1,{\"a\":null}]}},\"x\":1}";
        let extensions: Extensions = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&extensions).unwrap(), json);
        assert!(serde_json::from_str::<Extensions>("null").unwrap().is_empty());
        let many: Map<String, Value> = (0..33).map(|n| (n.to_string(), Value::Null)).collect();
        assert!(serde_json::from_value::<Extensions>(Value::Object(many)).is_err());
    }
}
