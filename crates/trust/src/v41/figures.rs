//! What methodology 4.1.0 needs beside the days and the state of a store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Figures of a store for methodology 4.1.0, as read when a score is computed. The default is a store of which nothing is
/// known: every figure then leaves its signal without data or at 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct V41Figures {
    /// Whether facts of the store are synthetic: it belongs to the demo data. Every signal is then `synthetic_blocked`.
    pub is_synthetic: bool,
    /// Whole days from `store.member_since` to the time of the score; 0 if that lies ahead. `measured`.
    pub store_age_days: i64,
    /// Orders of the store's other channels. `self_declared`.
    pub human: HumanOrders,
    /// Refunds of orders of agents. `proxy`.
    pub refunds: RefundFigures,
    /// Digits after the decimal point of `store.currency`, if agents can pay in it (USD, EUR, USDC). `None`: another currency.
    /// Souk has no exchange rates, so that the floor of the volume is then not reached.
    pub currency_decimals: Option<u32>,
    /// What the merchant configured. `self_declared`.
    pub setup: SetupFigures,
    /// Whether `identity_verification.status` is `verified`. An operator or a provider sets it, never the merchant. `measured`.
    pub is_identity_verified: bool,
    /// Ed25519 signatures of the merchant that Souk checked. No table has them today: `None`. `verified`.
    pub signatures: Option<CheckTally>,
    /// Receipts of purchases whose signature Souk checked. No table has them today: `None`. `verified`.
    pub receipts: Option<CheckTally>,
    /// External certifications, at most one for each issuer. No table has them today: empty.
    pub certifications: Vec<Certification>,
}

/// Orders that the merchant pushed, from `pushed_order`: the newest 100 by `placed_at` whose status is `delivered`, `completed`,
/// `canceled` or `failed`. The limit bounds what is read; no rule needs a larger number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HumanOrders {
    /// Those that are `delivered` or `completed`: humanOrders of the tiers.
    pub fulfilled: i64,
    /// Those that are `canceled` or `failed`.
    pub canceled: i64,
}

/// Refunds, from `order_refund` with `created_at` in the window of 90 days, of orders that are not a sandbox's and are in the
/// currency of the store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefundFigures {
    /// Orders with a refund for a reason that the merchant answers for: `out_of_stock`, `damaged`, `not_received`,
    /// `late_delivery` or `dispute`. An order counts once.
    pub orders: i64,
    /// Amount of all refunds, whatever their reason, in minor units of the store's currency.
    pub amount_minor: i64,
}

/// What the merchant configured, from the tables of its settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupFigures {
    /// `store_setting.shipping` has at least one zone.
    pub shipping: bool,
    /// `store_setting.checkout_url_template` is set.
    pub checkout_page: bool,
    /// A row of `webhook_endpoint` is `enabled`.
    pub webhook: bool,
}

/// Results of cryptographic checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckTally {
    pub valid: i64,
    pub invalid: i64,
}

/// An external certification, as it was at the time of the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Certification {
    /// Whether its proof was verified with the issuer's key.
    pub is_proof_valid: bool,
    /// Whether its validity had ended, or it was revoked.
    pub is_expired: bool,
}
