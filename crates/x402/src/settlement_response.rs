//! The response to a request with payment.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bounded;
use crate::decimal::{AtomicAmount, Text};
use crate::document::Document;
use crate::extensions::Extensions;
use crate::hexadecimal::{Address, InvalidHexadecimal, TransactionHash};
use crate::network::Network;

/// The reason while it is not known whether a payment was settled. It is the only reason of a facilitator that has a meaning
/// here: the texts of all others differ between implementations.
pub const SETTLEMENT_PENDING: &str = "settlement_pending";

/// Tells an agent what became of its payment: the header of a response, or `_meta` of the result of an MCP tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SettlementResponse {
    pub success: bool,
    /// `None` on success.
    #[serde(
        default,
        deserialize_with = "bounded::optional_text::<128, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub error_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<Address>,
    /// On the wire an empty string if there is none.
    #[serde(with = "transaction")]
    pub transaction: Option<TransactionHash>,
    pub network: Network,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<AtomicAmount>,
    #[serde(default, skip_serializing_if = "Extensions::is_empty")]
    pub extensions: Extensions,
}

impl SettlementResponse {
    /// Returns the response for a payment that was settled.
    #[must_use]
    pub fn settled(
        network: Network,
        payer: Address,
        amount: AtomicAmount,
        transaction: TransactionHash,
    ) -> Self {
        Self {
            success: true,
            error_reason: None,
            payer: Some(payer),
            transaction: Some(transaction),
            network,
            amount: Some(amount),
            extensions: Extensions::default(),
        }
    }

    /// Returns the response for a payment that was not settled, or of which that is not known yet: [`SETTLEMENT_PENDING`].
    #[must_use]
    pub fn unsettled(
        network: Network,
        payer: Option<Address>,
        reason: &str,
        transaction: Option<TransactionHash>,
    ) -> Self {
        Self {
            success: false,
            error_reason: Some(reason.to_owned()),
            payer,
            transaction,
            network,
            amount: None,
            extensions: Extensions::default(),
        }
    }
}

impl Document for SettlementResponse {
    const HEADER: &'static str = "payment-response";
}

mod transaction {
    use super::{Deserializer, InvalidHexadecimal, Serializer, Text, TransactionHash};

    #[expect(clippy::ref_option, reason = "the signature that serde calls")]
    pub(super) fn serialize<S: Serializer>(
        hash: &Option<TransactionHash>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match hash {
            Some(hash) => serializer.collect_str(hash),
            None => serializer.serialize_str(""),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<TransactionHash>, D::Error> {
        let parse = |text: &str| -> Result<Option<TransactionHash>, InvalidHexadecimal> {
            if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
        };
        deserializer.deserialize_str(Text(parse))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_settled_payment_has_its_transaction() {
        let payer = "0x857b06519E91e3A54538791bDbb0E22373e36b66".parse().unwrap();
        let transaction = TransactionHash::new([0x12; 32]);
        let amount = AtomicAmount::new(10_000);
        let response =
            SettlementResponse::settled(Network::BASE_SEPOLIA, payer, amount, transaction);
        let expected = json!({
            "success": true,
            "payer": "0x857b06519E91e3A54538791bDbb0E22373e36b66",
            "transaction": format!("0x{}", "12".repeat(32)),
            "network": "eip155:84532",
            "amount": "10000"
        });
        assert_eq!(serde_json::to_value(&response).unwrap(), expected);
        let header = response.to_header().unwrap();
        assert_eq!(SettlementResponse::from_header(header.as_bytes()), Ok(response));
    }

    #[test]
    fn a_payment_without_a_transaction_has_an_empty_string() {
        let network = Network::BASE_SEPOLIA;
        let response = SettlementResponse::unsettled(network, None, SETTLEMENT_PENDING, None);
        let expected = json!({
            "success": false,
            "errorReason": "settlement_pending",
            "transaction": "",
            "network": "eip155:84532"
        });
        assert_eq!(serde_json::to_value(&response).unwrap(), expected);
        assert_eq!(SettlementResponse::from_value(&expected), Ok(response));
        let mut missing = expected;
        missing.as_object_mut().unwrap().remove("transaction");
        assert!(SettlementResponse::from_value(&missing).is_err());
    }
}
