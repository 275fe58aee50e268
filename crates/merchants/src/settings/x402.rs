//! Payments of agents in tokens.

use primitives::{Currency, Money};
use serde::{Deserialize, Serialize};
use x402::{Address, Token};

/// How agents pay in tokens at a store (docs/contract/payments.md#x402-settings).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct X402Settings {
    /// The account that receives the tokens.
    pub pay_to: Address,
    pub network: TokenNetwork,
    /// Blocks after which a transfer counts, its own included; 1 to [`X402Settings::CONFIRMATIONS_MAX`].
    pub confirmations: u32,
    /// Up to this total, in the currency of the store, no person has to confirm a payment beyond the store's confirmation policy.
    pub unattended_limit_minor: i64,
    /// Smallest units of USDC for one euro; `None` if payments of totals in euros are not accepted.
    pub eur_rate_micros: Option<i64>,
}

primitives::text_enum! {
    /// Network on which agents pay with USDC.
    #[derive(schemars::JsonSchema)]
    pub enum TokenNetwork {
        /// Base Sepolia, a test network: its tokens have no value.
        #[strum(serialize = "eip155:84532")]
        #[schemars(rename = "eip155:84532")]
        BaseSepolia,
        /// Base.
        #[strum(serialize = "eip155:8453")]
        #[schemars(rename = "eip155:8453")]
        Base,
    }
}

impl TokenNetwork {
    /// Returns USDC on the network.
    #[must_use]
    pub const fn token(self) -> Token {
        match self {
            Self::BaseSepolia => Token::BASE_SEPOLIA_USDC,
            Self::Base => Token::BASE_USDC,
        }
    }
}

impl X402Settings {
    /// Largest number of blocks that a store can wait for.
    pub const CONFIRMATIONS_MAX: u32 = 100;
    /// Blocks that a store waits for unless it sets another number.
    pub const CONFIRMATIONS: u32 = 1;
    /// Largest rate: 100 USDC for one euro.
    pub const EUR_RATE_MICROS_MAX: i64 = 100_000_000;

    /// Returns the limit of payments without a person unless a store sets another one: 5.00 of its currency.
    #[must_use]
    pub fn default_unattended_limit(currency: Currency) -> Money {
        Money::new(5 * 10_i64.pow(currency.decimals()), currency)
    }
}
