//! The wire forms of the trust score of a store for its merchant.

use merchants::{Band, SuspensionEnd};
use primitives::{CheckoutId, OrderId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Basis, Cause, Component, ComponentSource, Epoch, Party};

/// Trust score of a store, for its merchant.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MerchantScore {
    /// Store slug.
    pub merchant_slug: String,
    /// Trust score in force, 0 to 1; null while the store is unscored.
    pub score: Option<f64>,
    /// Label of the score; null while the store is unscored.
    pub label: Option<Band>,
    /// True below twenty delivered orders; the score then counts as at most 0.84 in rankings.
    pub provisional: bool,
    /// Orders that count as delivered, at most five of each account: the score is provisional below twenty.
    pub delivered_orders: i64,
    /// Whether the score and the standing of the store allow agents to check out.
    pub agent_checkout: bool,
    /// Whether the score suspends the store.
    pub suspended: bool,
    /// What would end the suspension; omitted without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<SuspensionEnd>,
    /// The next higher label; omitted for the highest one and for an unscored store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_label: Option<NextLabel>,
    /// Version of the methodology in force.
    pub methodology_version: &'static str,
    /// Time of computation.
    pub computed_at: Timestamp,
    /// Epoch of the newest computation; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// Revision of the score in its epoch; 0 is the first. Omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i32>,
    /// Origin of the score; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Why the score was computed; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// By when the next score is computed: the end of its epoch.
    pub next_computation_at: Timestamp,
    /// Score of the next computation if nothing else happens until then: it includes what was improved since the last one. Null
    /// if the store would be unscored.
    pub expected_score: Option<f64>,
    /// Label of the expected score.
    pub expected_label: Option<Band>,
    /// What the dimensions of methodology 4.1.0 cost; omitted unless it is in force.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<DimensionLoss>,
}

/// A higher label.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NextLabel {
    /// The label.
    pub label: Band,
    /// Minimum score of the label.
    pub min_score: f64,
    /// What the score lacks of it.
    pub points_missing: f64,
}

/// What a dimension of methodology 4.1.0 costs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DimensionLoss {
    /// Name of the dimension.
    pub dimension: &'static str,
    /// Value, 0 to 1.
    pub value: f64,
    /// What the score would gain if the value were 1, unless the cap of the tier limits it.
    pub points_lost: f64,
    /// What improves the value.
    pub remedy: &'static str,
}

/// A component of the score by methodology 2.0, for the merchant.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MerchantComponent {
    /// Name of the component.
    pub component: Component,
    /// What the component measures.
    pub description: &'static str,
    /// Source of the value: measured by Souk, or declared by the merchant.
    pub source: ComponentSource,
    /// Whether there is data for the component.
    pub applicable: bool,
    /// Value, 0 to 1; omitted if the component does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Published weight in the score, 0 to 1.
    pub weight: f64,
    /// Share of the score that the component decides, after redistribution, 0 to 1.
    pub effective_weight: f64,
    /// Share of the published weight that the amount of data allows, 0 to 1; omitted if the component does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// What the component costs: the difference that the value 1 would make to the score.
    pub points_lost: f64,
    /// Whose acts can change the data.
    pub influenced_by: Vec<Party>,
    /// The data behind the value.
    pub evidence: ComponentEvidence,
    /// What improves the value, and what that gives; omitted if the component costs nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub improvement: Option<Improvement>,
    /// Orders that lower the value, the newest first, at most 20: late ones for `fulfillment_rate`, out-of-stock cancellations
    /// for `availability_accuracy`, cancellations of the merchant for `checkout_success_rate` and `agent_satisfaction_rate`,
    /// disputed ones for `dispute_rate`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<OrderId>,
    /// Checkouts that lower the value, the newest first, at most 20: for `price_accuracy` those of which another price was charged
    /// than quoted, or whose order was canceled as `price_error`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checkouts: Vec<CheckoutId>,
}

/// The data behind a component, in numbers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComponentEvidence {
    /// The data that is counted.
    pub description: &'static str,
    /// The number that becomes the value: a share, an age in hours, a mean rating, milliseconds. Omitted without data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// Good facts, before any limit; for other components, what is complete, consistent, set, rated or called.
    pub good: u64,
    /// Bad facts, before any limit; for other components, what is missing.
    pub bad: u64,
    /// Accounts with facts that count; omitted for components that are not counted in units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<u64>,
    /// Units after all limits; omitted likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units: Option<f64>,
    /// Units up to which the component does not apply; omitted likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units_min: Option<f64>,
    /// Units from which the component has its whole weight; omitted likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units_full: Option<f64>,
    /// Settings of required policies that are not set.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_settings: Vec<&'static str>,
}

/// What improves a component.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Improvement {
    /// What to do.
    pub remedy: &'static str,
    /// Score by methodology 2.0 if the component had the value 1, and all others stayed as they are.
    pub new_score: f64,
    /// Label of that score.
    pub label: Band,
    /// What each product or policy that is improved adds to the score; omitted for other components.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points_each: Option<f64>,
}
