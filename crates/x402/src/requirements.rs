//! What a payment has to be: scheme, network, token, amount, recipient.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounded;
use crate::decimal::AtomicAmount;
use crate::hexadecimal::Address;
use crate::network::Network;

/// The scheme in which the payer signs the exact amount.
pub const SCHEME_EXACT: &str = "exact";

/// How a token is transferred: by an authorization that its payer signed (EIP-3009). It is also what is meant if `extra` does
/// not say how.
const TRANSFER_METHOD_EIP3009: &str = "eip3009";

/// Terms on which a payment is accepted, and which a payload repeats.
///
/// Those that were quoted are stored with the order; a payment is judged by them and never by what its payload repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentRequirements {
    #[serde(deserialize_with = "bounded::text::<64, _>")]
    pub scheme: String,
    pub network: Network,
    pub amount: AtomicAmount,
    /// The contract of the token.
    pub asset: Address,
    pub pay_to: Address,
    /// For how long an authorization is valid from its signature on.
    pub max_timeout_seconds: u32,
    #[serde(default, deserialize_with = "bounded::object")]
    pub extra: Map<String, Value>,
}

/// A token that implements EIP-3009, with the name and version of its EIP-712 domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub network: Network,
    pub address: Address,
    pub name: &'static str,
    pub version: &'static str,
    pub decimals: u32,
}

impl Token {
    /// USDC on Base.
    pub const BASE_USDC: Self = Self {
        network: Network::BASE,
        address: Address::new([
            0x83, 0x35, 0x89, 0xfc, 0xd6, 0xed, 0xb6, 0xe0, 0x8f, 0x4c, 0x7c, 0x32, 0xd4, 0xf7,
            0x1b, 0x54, 0xbd, 0xa0, 0x29, 0x13,
        ]),
        name: "USD Coin",
        version: "2",
        decimals: 6,
    };

    /// USDC on Base Sepolia, a test network.
    pub const BASE_SEPOLIA_USDC: Self = Self {
        network: Network::BASE_SEPOLIA,
        address: Address::new([
            0x03, 0x6c, 0xbd, 0x53, 0x84, 0x2c, 0x54, 0x26, 0x63, 0x4e, 0x79, 0x29, 0x54, 0x1e,
            0xc2, 0x31, 0x8f, 0x3d, 0xcf, 0x7e,
        ]),
        name: "USDC",
        version: "2",
        decimals: 6,
    };
}

impl PaymentRequirements {
    /// Returns the requirements of the scheme `exact` for a transfer of a token.
    #[must_use]
    pub fn exact(
        token: &Token,
        amount: AtomicAmount,
        pay_to: Address,
        max_timeout_seconds: u32,
    ) -> Self {
        let extra = [("name", token.name), ("version", token.version)];
        let extra = extra.map(|(name, value)| (name.to_owned(), Value::from(value)));
        Self {
            scheme: SCHEME_EXACT.to_owned(),
            network: token.network,
            amount,
            asset: token.address,
            pay_to,
            max_timeout_seconds,
            extra: extra.into_iter().collect(),
        }
    }

    /// Returns the name and the version of the token's EIP-712 domain. `None` if they are missing, or if `extra` names another
    /// way of transfer than EIP-3009.
    pub(crate) fn domain(&self) -> Option<(&str, &str)> {
        let text = |name| self.extra.get(name).and_then(Value::as_str);
        let method = self.extra.get("assetTransferMethod");
        if method.is_some_and(|method| method != TRANSFER_METHOD_EIP3009) {
            return None;
        }
        let is_given = |text: &&str| !text.is_empty();
        Some((text("name").filter(is_given)?, text("version").filter(is_given)?))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_are_those_of_the_specification() {
        let pay_to = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C".parse().unwrap();
        let amount = AtomicAmount::new(10_000);
        let requirements =
            PaymentRequirements::exact(&Token::BASE_SEPOLIA_USDC, amount, pay_to, 60);
        let expected = json!({
            "scheme": "exact",
            "network": "eip155:84532",
            "amount": "10000",
            "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
            "payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
            "maxTimeoutSeconds": 60,
            "extra": { "name": "USDC", "version": "2" }
        });
        assert_eq!(serde_json::to_value(&requirements).unwrap(), expected);
        assert_eq!(serde_json::from_value::<PaymentRequirements>(expected).unwrap(), requirements);
        let usdc = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
        assert_eq!(Token::BASE_USDC.address.to_string(), usdc);
    }

    #[test]
    fn a_domain_needs_a_name_a_version_and_eip_3009() {
        let domain = |extra: Value| {
            let amount = AtomicAmount::new(1);
            let zero = Address::ZERO;
            let token = &Token::BASE_USDC;
            let mut requirements = PaymentRequirements::exact(token, amount, zero, 60);
            requirements.extra = serde_json::from_value(extra).unwrap();
            requirements.domain().map(|(name, version)| format!("{name}/{version}"))
        };
        let with =
            |method: Value| json!({"name": "A", "version": "1", "assetTransferMethod": method});
        assert_eq!(domain(json!({"name": "A", "version": "1"})).as_deref(), Some("A/1"));
        assert_eq!(domain(with(json!("eip3009"))).as_deref(), Some("A/1"));
        for extra in [
            json!({}),
            json!({"name": "A"}),
            json!({"version": "1"}),
            json!({"name": "", "version": "1"}),
            json!({"name": "A", "version": 1}),
            with(json!("permit2")),
            with(json!(null)),
        ] {
            assert_eq!(domain(extra.clone()), None, "{extra}");
        }
    }
}
