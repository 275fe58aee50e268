//! Settings on the wire: decimal amounts in the store's currency. Request and response are the same record, so that
//! a response can be edited and sent back.

mod parse;
mod serialize;

use catalog::Amount;
use merchants::{
    Benefit, CheckoutUrl, ConfirmationPolicy, CurrentSettings, GtinSource, InvalidSetting,
    Policies, Promotion, Settings, ShippingRate, ShippingZone, TaxRate,
};
use primitives::{Currency, Money, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of a store. Amounts are in the store's currency.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingsRecord {
    /// Version of the settings, incremented by every change. If sent, the settings are replaced only if they still
    /// have this version; omitted: they are replaced unconditionally.
    #[serde(default)]
    pub(super) version: Option<i64>,
    /// Time of the last change. Ignored in requests.
    #[serde(default)]
    updated_at: Option<Timestamp>,
    /// Currency of all amounts. Optional in requests; must equal the store's currency.
    #[serde(default)]
    #[schemars(length(max = 4))]
    currency: Option<String>,
    /// Policies of the store.
    #[serde(default)]
    policies: SettingsPolicies,
    /// Minimum level of human confirmation for an order.
    #[serde(default)]
    confirmation_policy: ConfirmationName,
    /// URL of the page where a buyer pays. `{items}` is replaced by `sku:quantity` pairs separated by commas,
    /// `{checkout_id}` by the id of the checkout session; at least one of them is required after the host.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    checkout_url_template: Option<String>,
    /// The field of a product that contains its GTIN: `gtin`, `sku`, `mpn`, `id` or `attribute:<name>`.
    #[serde(default = "gtin")]
    #[schemars(length(max = 110))]
    gtin_source: String,
    /// Shipping rates by country.
    #[serde(default)]
    #[schemars(length(max = 100))]
    shipping: Vec<ShippingZoneRecord>,
    /// Tax rates.
    #[serde(default)]
    #[schemars(length(max = 500))]
    taxes: Vec<TaxRateRecord>,
    /// Promotions.
    #[serde(default)]
    #[schemars(length(max = 200))]
    promotions: Vec<PromotionRecord>,
}

fn gtin() -> String {
    GtinSource::Gtin.to_string()
}

/// Policies of a store. Omitted fields are unspecified.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SettingsPolicies {
    /// Days within which an order may be returned; 0: no returns.
    #[schemars(range(min = 0, max = 3650))]
    return_window_days: Option<i32>,
    /// Minimum order amount for free shipping.
    free_shipping_threshold: Option<Decimal>,
    /// Shortest delivery time, in days.
    #[schemars(range(min = 0, max = 365))]
    shipping_days_min: Option<i32>,
    /// Longest delivery time, in days.
    #[schemars(range(min = 0, max = 365))]
    shipping_days_max: Option<i32>,
    /// Return policy, in the merchant's words.
    #[schemars(length(max = 2000))]
    return_summary: Option<String>,
    /// Shipping policy, in the merchant's words.
    #[schemars(length(max = 2000))]
    shipping_summary: Option<String>,
    /// URL of the privacy policy.
    #[schemars(length(max = 2000))]
    privacy_url: Option<String>,
    /// URL of the terms of sale.
    #[schemars(length(max = 2000))]
    terms_url: Option<String>,
    /// Warranty period, in months.
    #[schemars(range(min = 0, max = 1200))]
    warranty_months: Option<i32>,
}

/// Minimum level of human confirmation for an order.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ConfirmationPolicy")]
enum ConfirmationName {
    /// The agent states that the person agreed; the person still pays on the merchant's page.
    #[default]
    Attested,
    /// The person approved the purchase on Souk's confirmation page.
    Hosted,
    /// A verified mandate.
    Mandate,
}

/// Countries with the same shipping rates.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ShippingZone")]
struct ShippingZoneRecord {
    /// Name.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// ISO 3166 two-letter codes, or `*` for every country in no other zone.
    #[schemars(length(min = 1, max = 300))]
    countries: Vec<String>,
    /// Shipping rates of the zone.
    #[schemars(length(min = 1, max = 20))]
    rates: Vec<ShippingRateRecord>,
}

/// A shipping rate.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ShippingRate")]
struct ShippingRateRecord {
    /// Name.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// Price.
    price: Decimal,
    /// Minimum subtotal for this rate.
    #[serde(default)]
    min_subtotal: Option<Decimal>,
    /// Shortest delivery time, in days.
    #[schemars(range(min = 0, max = 365))]
    days_min: i32,
    /// Longest delivery time, in days.
    #[schemars(range(min = 0, max = 365))]
    days_max: i32,
}

/// A tax rate.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TaxRate")]
struct TaxRateRecord {
    /// Destination country: ISO 3166 two-letter code.
    #[schemars(length(min = 2, max = 2))]
    country: String,
    /// Region of the country; omitted: the whole country.
    #[serde(default)]
    #[schemars(length(max = 100))]
    region: Option<String>,
    /// Product category; omitted: all categories.
    #[serde(default)]
    #[schemars(length(max = 100))]
    category: Option<String>,
    /// Rate in basis points (hundredths of a percent): 2300 is 23 %.
    #[schemars(range(min = 0, max = 10_000))]
    rate_basis_points: i32,
    /// Whether prices include this tax.
    #[serde(default)]
    included: bool,
}

/// A promotion.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Promotion")]
struct PromotionRecord {
    /// The merchant's own identifier.
    #[schemars(length(min = 1, max = 100))]
    id: String,
    /// Name.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// Kind of discount.
    kind: PromotionKind,
    /// The percentage, with at most two decimal places, or the amount. Omitted for `free_shipping`.
    #[serde(default)]
    value: Option<Decimal>,
    /// Discount code that the buyer enters; omitted: the promotion applies automatically.
    #[serde(default)]
    #[schemars(length(min = 1, max = 50))]
    code: Option<String>,
    /// Minimum subtotal for the promotion.
    #[serde(default)]
    min_subtotal: Option<Decimal>,
    /// Start of the promotion.
    #[serde(default)]
    starts_at: Option<Timestamp>,
    /// End of the promotion.
    #[serde(default)]
    ends_at: Option<Timestamp>,
    /// Categories to which the promotion applies; empty: all.
    #[serde(default)]
    #[schemars(length(max = 50))]
    categories: Vec<String>,
}

/// Kind of discount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PromotionKind {
    /// A percentage off.
    Percent,
    /// A fixed amount off.
    Amount,
    /// Free shipping.
    FreeShipping,
}

/// A decimal amount: a number or a string in requests, never rounded; a number in responses.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
struct Decimal(Amount);

impl Serialize for Decimal {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0.as_str().parse().unwrap_or(f64::NAN))
    }
}

impl JsonSchema for Decimal {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        Amount::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Amount::json_schema(generator)
    }
}

/// Percentages have two decimal places, as euros do, so the same parser serves both.
const PERCENT: Currency = Currency::EUR;

impl Decimal {
    fn of(minor: i64, currency: Currency) -> Self {
        Self(Amount::new(Money::new(minor, currency).to_decimal_text()))
    }

    fn minor(&self, field: &str, currency: Currency) -> Result<i64, InvalidSetting> {
        let money = Money::from_decimal_text(self.0.as_str(), currency);
        let allowed = || {
            let digits = currency.decimals();
            format!("a decimal amount with at most {digits} decimal places")
        };
        money.map(Money::minor).map_err(|_| InvalidSetting::new(field, allowed()))
    }
}

fn minor(
    amount: Option<&Decimal>,
    field: &str,
    currency: Currency,
) -> Result<Option<i64>, InvalidSetting> {
    amount.map(|amount| amount.minor(field, currency)).transpose()
}

/// Cleans text of a merchant; all of it enters settings through here. `Settings::check` checks the length, because it
/// knows the field.
fn cleaned(text: &str) -> String {
    catalog::one_line(text, usize::MAX).into_owned()
}

/// Cleans optional text; empty text counts as none.
fn cleaned_option(text: Option<&String>) -> Option<String> {
    text.map(|text| cleaned(text)).filter(|text| !text.is_empty())
}
