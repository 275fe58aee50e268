//! What the payer sends: an authorization to transfer tokens, signed.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decimal::{self, AtomicAmount, Text};
use crate::document::Document;
use crate::extensions::Extensions;
use crate::hexadecimal::{Address, Nonce};
use crate::payment_required::ResourceInfo;
use crate::requirements::PaymentRequirements;
use crate::version::ProtocolVersion;

/// Longest signature that is read. One of an account has 65 bytes; those of contracts are longer, and are read so that they
/// are rejected by name.
const SIGNATURE_MAX_BYTES: usize = 4_096;

/// A payment of the scheme `exact` on an EVM chain, by an authorization of EIP-3009.
///
/// Whoever has it can execute the transfer until it expires, and nothing in it names the order that it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentPayload {
    #[serde(rename = "x402Version")]
    pub version: ProtocolVersion,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceInfo>,
    /// The requirements that the payer chose, as it repeats them: not to be trusted.
    pub accepted: PaymentRequirements,
    pub payload: SignedAuthorization,
    #[serde(default, skip_serializing_if = "Extensions::is_empty")]
    pub extensions: Extensions,
}

/// An authorization and the signature of its payer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedAuthorization {
    pub signature: Signature,
    pub authorization: Authorization,
}

/// An authorization of EIP-3009: whoever submits it moves `value` from `from` to `to`, once, within the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Authorization {
    pub from: Address,
    pub to: Address,
    pub value: AtomicAmount,
    /// Unix seconds; the time of the block has to be later.
    #[serde(with = "decimal")]
    pub valid_after: u64,
    /// Unix seconds; the time of the block has to be earlier.
    #[serde(with = "decimal")]
    pub valid_before: u64,
    pub nonce: Nonce,
}

/// The bytes of a signature, of any length.
#[derive(Clone, PartialEq, Eq)]
pub struct Signature(Vec<u8>);

/// Error returned when a text is not a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 0x and the hexadecimal digits of at most {SIGNATURE_MAX_BYTES} bytes")]
pub struct InvalidSignature;

impl Document for PaymentPayload {
    const HEADER: &'static str = "payment-signature";
}

impl Signature {
    /// Creates a signature; its bytes are not checked.
    #[must_use]
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Returns the bytes as the payer sent them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn parse(text: &str) -> Result<Self, InvalidSignature> {
        let digits = text.strip_prefix("0x").ok_or(InvalidSignature)?;
        if digits.len() > 2 * SIGNATURE_MAX_BYTES {
            return Err(InvalidSignature);
        }
        hex::decode(digits).map(Self).map_err(|_| InvalidSignature)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "0x{}", hex::encode(&self.0))
    }
}

/// A signature is a bearer instrument until it is used: logs do not get it.
impl fmt::Debug for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Signature({} bytes)", self.0.len())
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Signature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(Self::parse))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::document::FieldError;

    fn example() -> Value {
        json!({
            "x402Version": 2,
            "resource": {
                "url": "https://api.example.com/premium-data",
                "description": "Access to premium market data",
                "mimeType": "application/json"
            },
            "accepted": {
                "scheme": "exact",
                "network": "eip155:84532",
                "amount": "10000",
                "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
                "payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
                "maxTimeoutSeconds": 60,
                "extra": { "assetTransferMethod": "eip3009", "name": "USDC", "version": "2" }
            },
            "payload": {
                "signature": "0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608a2ce6496642e377d6da8dbbf5836e9bd15092f9ecab05ded3d6293af148b571c",
                "authorization": {
                    "from": "0x857b06519E91e3A54538791bDbb0E22373e36b66",
                    "to": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
                    "value": "10000",
                    "validAfter": "1740672089",
                    "validBefore": "1740672154",
                    "nonce": "0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480"
                }
            },
            "extensions": { "bazaar": { "info": {}, "schema": {} } }
        })
    }

    /// The example with another value at a path, or without that field.
    fn changed(path: &str, value: Option<Value>) -> Value {
        let mut document = example();
        let (parent, name) = path.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match value {
            Some(value) => parent.insert(name.to_owned(), value),
            None => parent.remove(name),
        };
        document
    }

    fn read(document: &Value) -> Result<PaymentPayload, FieldError> {
        PaymentPayload::from_value(document)
    }

    #[test]
    fn the_example_of_the_specification_round_trips() {
        let payload = read(&example()).unwrap();
        assert_eq!(serde_json::to_value(&payload).unwrap(), example());
        let header = payload.to_header().unwrap();
        assert_eq!(PaymentPayload::from_header(header.as_bytes()), Ok(payload));
    }

    #[test]
    fn an_error_names_the_field() {
        for (path, value, field) in [
            ("/x402Version", json!(1), "x402Version"),
            ("/x402Version", json!("2"), "x402Version"),
            ("/resource/url", json!("a".repeat(2_049)), "resource.url"),
            ("/accepted/network", json!("base-sepolia"), "accepted.network"),
            ("/accepted/amount", json!(10_000), "accepted.amount"),
            ("/accepted/amount", json!("1e4"), "accepted.amount"),
            ("/accepted/asset", json!("USDC"), "accepted.asset"),
            ("/accepted/maxTimeoutSeconds", json!(-1), "accepted.maxTimeoutSeconds"),
            ("/accepted/scheme", json!("e".repeat(65)), "accepted.scheme"),
            ("/payload/signature", json!("0xabc"), "payload.signature"),
            ("/payload/signature", json!("abcd"), "payload.signature"),
            (
                "/payload/signature",
                json!(format!("0x{}", "00".repeat(SIGNATURE_MAX_BYTES + 1))),
                "payload.signature",
            ),
            ("/payload/authorization/from", json!("0x00"), "payload.authorization.from"),
            ("/payload/authorization/value", json!("-1"), "payload.authorization.value"),
            ("/payload/authorization/validAfter", json!(0), "payload.authorization.validAfter"),
            (
                "/payload/authorization/validBefore",
                json!("18446744073709551616"),
                "payload.authorization.validBefore",
            ),
            ("/payload/authorization/nonce", json!("0x01"), "payload.authorization.nonce"),
            ("/extensions", json!([]), "extensions"),
        ] {
            let error = read(&changed(path, Some(value.clone()))).unwrap_err();
            assert_eq!(error.field, field, "{value}: {error}");
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        for (path, field) in [
            ("/x402Version", "payment-signature"),
            ("/accepted", "payment-signature"),
            ("/accepted/payTo", "accepted"),
            ("/payload/signature", "payload"),
            ("/payload/authorization", "payload"),
            ("/payload/authorization/nonce", "payload.authorization"),
        ] {
            let error = read(&changed(path, None)).unwrap_err();
            let name = path.rsplit('/').next().unwrap();
            assert_eq!((error.field.as_str(), error.problem.contains(name)), (field, true));
        }
        for path in ["/resource", "/extensions"] {
            assert!(read(&changed(path, None)).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_field_cannot_be_given_twice() {
        let text = example().to_string();
        let twice = text.replace("\"value\":", "\"value\":\"1\",\"value\":");
        let error = PaymentPayload::from_json(twice.as_bytes()).unwrap_err();
        assert_eq!(error.field, "payload.authorization");
        assert!(error.problem.contains("duplicate field `value`"), "{error}");
    }

    #[test]
    fn a_signature_is_not_logged() {
        let payload = read(&example()).unwrap();
        assert!(!format!("{payload:?}").contains("2d6a7588"));
    }
}
