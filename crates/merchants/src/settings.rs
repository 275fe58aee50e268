//! What a merchant sets for its store. Amounts are minor units of the store's currency, rates are
//! basis points (hundredths of a percent): nothing here is a fraction.

mod check;
mod checkout_url;
mod fault;
mod gtin_source;
mod offers;

use primitives::Timestamp;
use serde::{Deserialize, Serialize};

pub use checkout_url::CheckoutUrl;
pub use fault::SettingsFault;
pub use gtin_source::GtinSource;

use crate::Policies;

/// Everything a merchant sets. What is not set is not there: no rate is invented.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// What it promises.
    pub policies: Policies,
    /// How sure we must be that a person agreed to an order.
    pub confirmation: ConfirmationPolicy,
    /// Where a buyer pays; none if the store has no page of its own.
    pub checkout_url: Option<CheckoutUrl>,
    /// Which field of a product holds its GTIN.
    pub gtin_source: GtinSource,
    /// What shipping costs, by country. A country stands in one zone only.
    pub shipping: Vec<ShippingZone>,
    /// What taxes apply. The line that names most of an item wins.
    pub taxes: Vec<TaxRate>,
    /// What is cheaper for a while.
    pub promotions: Vec<Promotion>,
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentSettings {
    /// What is set.
    pub settings: Settings,
    /// How often it was changed; 0 if never.
    pub version: i64,
    /// When it was last changed.
    pub updated_at: Option<Timestamp>,
}

/// The least proof that a person agreed (decisions §8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ConfirmationPolicy {
    /// The agent says so; the person still pays on the merchant's page.
    #[default]
    Attested,
    /// A person pressed Confirm on our page.
    Hosted,
    /// A verified mandate.
    Mandate,
}

impl ConfirmationPolicy {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Attested, "attested"), (Self::Hosted, "hosted"), (Self::Mandate, "mandate")];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(policy, _)| *policy == self).map_or("attested", |(_, name)| name)
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(policy, _)| *policy)
    }
}

/// Countries that cost the same to ship to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippingZone {
    /// What the merchant calls it.
    pub name: String,
    /// ISO 3166 codes of two letters, or `*` for every country no other zone names.
    pub countries: Vec<String>,
    /// The ways there.
    pub rates: Vec<ShippingRate>,
}

/// A way to ship, and what it costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShippingRate {
    /// What the merchant calls it.
    pub name: String,
    /// What it costs.
    pub price_minor: i64,
    /// Offered from this subtotal on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_subtotal_minor: Option<i64>,
    /// The quickest delivery, in days.
    pub days_min: i32,
    /// The slowest delivery, in days.
    pub days_max: i32,
}

/// A tax, and what it applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaxRate {
    /// Where the goods go: an ISO 3166 code of two letters.
    pub country: String,
    /// A part of the country; none: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// A category of goods; none: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// How much, in hundredths of a percent.
    pub rate_basis_points: i32,
    /// Whether prices already hold it.
    pub included: bool,
}

/// Something that is cheaper for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promotion {
    /// The merchant's own identifier.
    pub id: String,
    /// What the merchant calls it.
    pub name: String,
    /// What it gives.
    pub benefit: Benefit,
    /// What a buyer has to type; none: it applies by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Applies from this subtotal on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_subtotal_minor: Option<i64>,
    /// When it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Timestamp>,
    /// When it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// The categories it is about; none: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
}

/// What a promotion gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Benefit {
    /// So much less, in hundredths of a percent.
    Percent {
        /// From 1 to 10,000.
        basis_points: i32,
    },
    /// So much less.
    Amount {
        /// In minor units of the store's currency.
        minor: i64,
    },
    /// Shipping costs nothing.
    FreeShipping,
}

#[cfg(test)]
mod tests;
