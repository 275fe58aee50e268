//! Tiers: how much evidence a store has, and how much its score can be (docs/contract/trust.md#tiers).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dimension::Dimension;

/// humanOrders from which a store is `human_established`.
pub(super) const HUMAN_ORDERS_MIN: i64 = 5;
/// agentOrders from which a store is `agent_verified_thin`.
pub(super) const THIN_ORDERS_MIN: i64 = 5;
/// agentOrders at which `agent_verified_thin` has its full weights.
pub(super) const THIN_ORDERS_MAX: i64 = 19;
/// agentOrders from which a store can be `agent_verified`.
pub(super) const VERIFIED_ORDERS_MIN: i64 = 20;
/// Least amount of the orders of 90 days for `agent_verified`, in cents.
pub(super) const VERIFIED_GMV_CENTS_MIN: i64 = 1_000_000;
/// Least number of unique buyers for `agent_verified`.
pub(super) const VERIFIED_BUYERS_MIN: i64 = 20;

primitives::text_enum! {
    /// Tier of a store.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Tier {
        /// No applicable signal, or a synthetic one: no score is issued.
        InsufficientData,
        /// Few orders of any kind.
        ColdStart,
        /// Orders of people, few of agents.
        HumanEstablished,
        /// Some orders of agents, or many without volume or buyers.
        AgentVerifiedThin,
        /// Many orders of agents, with volume and buyers.
        AgentVerified,
    }
}

/// The figures that decide about the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceProfile {
    /// Orders of other channels that were delivered or completed, as the merchant declares them.
    pub human_orders: i64,
    /// Orders of agents that were delivered, of all time.
    pub agent_orders: i64,
    /// Age of the store in days.
    pub store_age_days: i64,
    /// Amount of the orders of agents of the last 90 days less refunds, in cents; null in a currency other than USD, EUR, USDC.
    pub gmv_cents: Option<i64>,
    /// Accounts whose agents placed an order in the last 90 days.
    pub unique_buyers: i64,
}

/// Weights of the three dimensions; their sum is 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Weights {
    pub merchant_reliability_base: f64,
    pub agentic_readiness: f64,
    pub agentic_evidence: f64,
}

impl Weights {
    pub(super) const NONE: Self = Self::hundredths(0, 0, 0);
    /// Weights at the beginning of `agent_verified_thin`, as published.
    pub(super) const THIN_FROM: Self = Self::hundredths(63, 35, 2);

    const fn hundredths(reliability: u8, readiness: u8, evidence: u8) -> Self {
        Self {
            merchant_reliability_base: reliability as f64 / 100.0,
            agentic_readiness: readiness as f64 / 100.0,
            agentic_evidence: evidence as f64 / 100.0,
        }
    }

    /// Returns the weight of a dimension.
    #[must_use]
    pub const fn of(self, dimension: Dimension) -> f64 {
        match dimension {
            Dimension::MerchantReliabilityBase => self.merchant_reliability_base,
            Dimension::AgenticReadiness => self.agentic_readiness,
            Dimension::AgenticEvidence => self.agentic_evidence,
        }
    }

    /// Returns the weights with this share of the evidence's weight; the other two share the rest in proportion.
    fn with_evidence_share(self, share: f64) -> Self {
        let evidence = self.agentic_evidence * share;
        let factor = (1.0 - evidence) / (1.0 - self.agentic_evidence);
        Self {
            merchant_reliability_base: self.merchant_reliability_base * factor,
            agentic_readiness: self.agentic_readiness * factor,
            agentic_evidence: evidence,
        }
    }
}

impl Tier {
    /// Returns the tier of a store with applicable signals.
    #[must_use]
    pub fn of(profile: &EvidenceProfile) -> Self {
        let has_volume = profile.gmv_cents.is_some_and(|cents| cents >= VERIFIED_GMV_CENTS_MIN);
        let has_buyers = profile.unique_buyers >= VERIFIED_BUYERS_MIN;
        match profile.agent_orders {
            orders if orders >= VERIFIED_ORDERS_MIN && has_volume && has_buyers => {
                Self::AgentVerified
            }
            orders if orders >= THIN_ORDERS_MIN => Self::AgentVerifiedThin,
            _ if profile.human_orders >= HUMAN_ORDERS_MIN => Self::HumanEstablished,
            _ => Self::ColdStart,
        }
    }

    /// Returns the maximum of the base score; `None` if no score is issued.
    #[must_use]
    pub const fn cap(self) -> Option<u8> {
        match self {
            Self::InsufficientData => None,
            Self::ColdStart => Some(65),
            Self::HumanEstablished => Some(85),
            Self::AgentVerifiedThin => Some(92),
            Self::AgentVerified => Some(100),
        }
    }

    /// Returns the published weights; `None` if no score is issued.
    #[must_use]
    pub const fn weights(self) -> Option<Weights> {
        match self {
            Self::InsufficientData => None,
            Self::ColdStart => Some(Weights::hundredths(0, 100, 0)),
            Self::HumanEstablished => Some(Weights::hundredths(70, 30, 0)),
            Self::AgentVerifiedThin => Some(Weights::hundredths(45, 25, 30)),
            Self::AgentVerified => Some(Weights::hundredths(35, 25, 40)),
        }
    }

    /// Returns the weights at this number of agentOrders.
    ///
    /// Only `agent_verified_thin` interpolates. The weight of the evidence grows with each order from a fifteenth of the
    /// published weight at 5 orders to all of it at 19, and what is missing is redistributed over the other two dimensions, as
    /// the weight of data that does not exist. The weights of other tiers have no part in it.
    #[must_use]
    pub fn weights_at(self, agent_orders: i64) -> Option<Weights> {
        let weights = self.weights()?;
        if self != Self::AgentVerifiedThin {
            return Some(weights);
        }
        let step = |orders: i64| u32::try_from(orders - THIN_ORDERS_MIN + 1).unwrap_or(0);
        let orders = agent_orders.clamp(THIN_ORDERS_MIN, THIN_ORDERS_MAX);
        let share = f64::from(step(orders)) / f64::from(step(THIN_ORDERS_MAX));
        Some(weights.with_evidence_share(share))
    }

    /// Returns the criteria, as published.
    #[must_use]
    pub const fn criteria(self) -> &'static str {
        match self {
            Self::InsufficientData => {
                "no applicable components, or any signal is synthetic_blocked: score is blocked (fail-closed), no value issued"
            }
            Self::ColdStart => {
                "humanOrders < 5 and agentOrders < 1; also with agentOrders from 1 to 4"
            }
            Self::HumanEstablished => "humanOrders >= 5 and agentOrders < 5",
            Self::AgentVerifiedThin => {
                "agentOrders from 5 to 19; or agentOrders >= 20 without the GMV floor or the unique buyers of agent_verified"
            }
            Self::AgentVerified => {
                "agentOrders >= 20, GMV >= 1000000 cents within 90 days, and >= 20 unique buyers"
            }
        }
    }
}
