//! Settings of a store. Amounts are minor units of the store's currency, rates are basis points (hundredths of a
//! percent); nothing is a floating-point number.

pub(crate) mod check;
mod checkout_url;
pub(crate) mod country;
pub(crate) mod decimal;
mod gtin_source;
mod invalid_setting;
mod offers;
pub(crate) mod record;

use primitives::Timestamp;
use serde::{Deserialize, Serialize};

pub use checkout_url::CheckoutUrl;
pub use gtin_source::GtinSource;
pub use invalid_setting::InvalidSetting;
pub use record::SettingsRecord;

use crate::Policies;

/// Settings of a store. There are no implicit defaults: a rate that is not set does not apply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub policies: Policies,
    pub confirmation: ConfirmationPolicy,
    /// Checkout page of the merchant's own shop; `None` if there is none.
    pub checkout_url: Option<CheckoutUrl>,
    /// Whether a checkout without a destination is not ready. Otherwise it is an open quote, and the person enters the
    /// destination on the payment page.
    pub destination_required: bool,
    /// `None`: the limits of the agent's plan apply.
    pub hold_limits: Option<HoldLimits>,
    pub gtin_source: GtinSource,
    /// A country belongs to one zone only.
    pub shipping: Vec<ShippingZone>,
    /// The most specific rate of an item applies.
    pub taxes: Vec<TaxRate>,
    pub promotions: Vec<Promotion>,
}

/// The stored settings with their version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentSettings {
    pub settings: Settings,
    /// Number of changes; 0 if the settings were never stored.
    pub version: i64,
    pub updated_at: Option<Timestamp>,
}

primitives::text_enum! {
    // docs/contract/confirmation.md#store-policy
    /// Minimum level of human confirmation for an order.
    #[derive(Default, schemars::JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum ConfirmationPolicy {
        /// The agent states that the person agreed; the person still pays on the merchant's page.
        #[default]
        Attested,
        /// The person approved the purchase on Souk's confirmation page.
        Hosted,
        /// A verified mandate. Settings reject it until mandates can be verified; stored values stay readable.
        Mandate,
    }
}

impl ConfirmationPolicy {
    /// Describes the values that settings accept; completes "must be …".
    pub const ALLOWED: &'static str = "attested or hosted";
}

// docs/contract/checkout.md#hold-limits
/// Limits of what one agent key may hold at a store, in place of those of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldLimits {
    /// Checkout sessions that hold stock at the same time; 1 to [`HoldLimits::HOLDS_MAX`].
    pub holds: u32,
    /// Units held in all of them; 1 to [`HoldLimits::UNITS_MAX`].
    pub units: u32,
}

impl HoldLimits {
    /// Largest number of holds that a store can set.
    pub const HOLDS_MAX: u32 = 10_000;
    /// Largest number of units that a store can set.
    pub const UNITS_MAX: u32 = 1_000_000;
}

/// Countries with the same shipping rates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippingZone {
    /// Merchant text.
    pub name: String,
    /// ISO 3166 codes of two letters, or `*` for every country that is in no other zone.
    pub countries: Vec<String>,
    pub rates: Vec<ShippingRate>,
}

/// A shipping method and its price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippingRate {
    /// Merchant text.
    pub name: String,
    pub price_minor: i64,
    /// Minimum subtotal for this rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_subtotal_minor: Option<i64>,
    /// Shortest delivery time.
    pub days_min: i32,
    /// Longest delivery time.
    pub days_max: i32,
}

/// A tax rate and what it applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaxRate {
    /// Destination: an ISO 3166 code of two letters.
    pub country: String,
    /// `None`: the whole country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// `None`: all categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    pub rate_basis_points: i32,
    /// Whether prices include the tax.
    pub included: bool,
}

/// A promotion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// The merchant's identifier.
    pub id: String,
    /// Merchant text.
    pub name: String,
    pub benefit: Benefit,
    /// Code that the buyer enters; `None`: the promotion applies automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Minimum subtotal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_subtotal_minor: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Timestamp>,
    /// Exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// Empty: all categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

/// Benefit of a promotion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Benefit {
    /// A percentage off.
    Percent {
        /// 1 to 10,000.
        basis_points: i32,
    },
    /// A fixed amount off.
    Amount {
        minor: i64,
    },
    FreeShipping,
}

#[cfg(test)]
mod tests;
