//! Settings on the wire: decimal amounts in the store's currency. The same record goes both ways, so
//! that what was read can be changed and sent back.

mod given;
mod taken;

use catalog::Amount;
use merchants::{
    Benefit, CheckoutUrl, ConfirmationPolicy, CurrentSettings, GtinSource, Policies, Promotion,
    Settings, SettingsFault, ShippingRate, ShippingZone, TaxRate,
};
use primitives::{Currency, Money, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a store has set. Amounts are in the store's currency.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingsRecord {
    /// How often the settings were changed. Sent back, it guards against replacing what somebody
    /// else changed meanwhile; left out, whatever is there is replaced.
    #[serde(default)]
    pub(super) version: Option<i64>,
    /// When they were last changed. Ignored when sent.
    #[serde(default)]
    updated_at: Option<Timestamp>,
    /// The currency of all amounts. May be left out; if sent, it must be the store's.
    #[serde(default)]
    #[schemars(length(max = 4))]
    currency: Option<String>,
    /// What the store promises.
    #[serde(default)]
    policies: SettingsPolicies,
    /// The least proof that a person agreed to an order.
    #[serde(default)]
    confirmation_policy: ConfirmationName,
    /// Where a buyer pays. `{items}` becomes `sku:quantity` pairs joined by commas, `{checkout_id}`
    /// the id of the checkout session; at least one of them stands behind the host.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    checkout_url_template: Option<String>,
    /// Which field of a product holds its GTIN: `gtin`, `sku`, `mpn`, `id` or `attribute:<name>`.
    #[serde(default = "gtin")]
    #[schemars(length(max = 110))]
    gtin_source: String,
    /// What shipping costs, by country.
    #[serde(default)]
    #[schemars(length(max = 100))]
    shipping: Vec<ShippingZoneRecord>,
    /// What taxes apply.
    #[serde(default)]
    #[schemars(length(max = 500))]
    taxes: Vec<TaxRateRecord>,
    /// What is cheaper for a while.
    #[serde(default)]
    #[schemars(length(max = 200))]
    promotions: Vec<PromotionRecord>,
}

fn gtin() -> String {
    GtinSource::Gtin.to_string()
}

/// What a store promises. What it does not promise is left out.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SettingsPolicies {
    /// Days to return in; 0 means never.
    #[schemars(range(min = 0, max = 3650))]
    return_window_days: Option<i32>,
    /// Orders from this amount ship free.
    free_shipping_threshold: Option<Decimal>,
    /// The quickest delivery, in days.
    #[schemars(range(min = 0, max = 365))]
    shipping_days_min: Option<i32>,
    /// The slowest delivery, in days.
    #[schemars(range(min = 0, max = 365))]
    shipping_days_max: Option<i32>,
    /// How returns work, in the merchant's words.
    #[schemars(length(max = 2000))]
    return_summary: Option<String>,
    /// How shipping works, in the merchant's words.
    #[schemars(length(max = 2000))]
    shipping_summary: Option<String>,
    /// The privacy policy.
    #[schemars(length(max = 2000))]
    privacy_url: Option<String>,
    /// The terms of sale.
    #[schemars(length(max = 2000))]
    terms_url: Option<String>,
    /// The warranty.
    #[schemars(range(min = 0, max = 1200))]
    warranty_months: Option<i32>,
}

/// The least proof that a person agreed to an order.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ConfirmationPolicy")]
enum ConfirmationName {
    /// The agent says so; the person still pays on the merchant's page.
    #[default]
    Attested,
    /// A person pressed Confirm on our page.
    Hosted,
    /// A verified mandate.
    Mandate,
}

/// Countries that cost the same to ship to.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ShippingZone")]
struct ShippingZoneRecord {
    /// What the merchant calls it.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// ISO 3166 codes of two letters, or `*` for every country no other zone names.
    #[schemars(length(min = 1, max = 300))]
    countries: Vec<String>,
    /// The ways there.
    #[schemars(length(min = 1, max = 20))]
    rates: Vec<ShippingRateRecord>,
}

/// A way to ship, and what it costs.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ShippingRate")]
struct ShippingRateRecord {
    /// What the merchant calls it.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// What it costs.
    price: Decimal,
    /// Offered from this subtotal on.
    #[serde(default)]
    min_subtotal: Option<Decimal>,
    /// The quickest delivery, in days.
    #[schemars(range(min = 0, max = 365))]
    days_min: i32,
    /// The slowest delivery, in days.
    #[schemars(range(min = 0, max = 365))]
    days_max: i32,
}

/// A tax, and what it applies to.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TaxRate")]
struct TaxRateRecord {
    /// Where the goods go: an ISO 3166 code of two letters.
    #[schemars(length(min = 2, max = 2))]
    country: String,
    /// A part of the country; left out: all of it.
    #[serde(default)]
    #[schemars(length(max = 100))]
    region: Option<String>,
    /// A category of goods; left out: all of them.
    #[serde(default)]
    #[schemars(length(max = 100))]
    category: Option<String>,
    /// How much, in hundredths of a percent: 2300 is 23 %.
    #[schemars(range(min = 0, max = 10_000))]
    rate_basis_points: i32,
    /// Whether prices already hold it.
    #[serde(default)]
    included: bool,
}

/// Something that is cheaper for a while.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Promotion")]
struct PromotionRecord {
    /// The merchant's own identifier.
    #[schemars(length(min = 1, max = 100))]
    id: String,
    /// What the merchant calls it.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// What it gives.
    kind: PromotionKind,
    /// The percentage, with at most two digits behind the point, or the amount. Left out when
    /// shipping is free.
    #[serde(default)]
    value: Option<Decimal>,
    /// What a buyer has to type; left out: it applies by itself.
    #[serde(default)]
    #[schemars(length(min = 1, max = 50))]
    code: Option<String>,
    /// Applies from this subtotal on.
    #[serde(default)]
    min_subtotal: Option<Decimal>,
    /// When it begins.
    #[serde(default)]
    starts_at: Option<Timestamp>,
    /// When it is over.
    #[serde(default)]
    ends_at: Option<Timestamp>,
    /// The categories it is about; empty: all.
    #[serde(default)]
    #[schemars(length(max = 50))]
    categories: Vec<String>,
}

/// What a promotion gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PromotionKind {
    /// So many percent less.
    Percent,
    /// So much less.
    Amount,
    /// Shipping costs nothing.
    FreeShipping,
}

/// A decimal amount. It comes as a number or a text and is never rounded; it goes as a number.
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

/// Percentages have two digits behind the point, as euros do, so they are read as such.
const PERCENT: Currency = Currency::EUR;

impl Decimal {
    fn of(minor: i64, currency: Currency) -> Self {
        Self(Amount::new(Money::new(minor, currency).to_decimal_text()))
    }

    fn minor(&self, field: &str, currency: Currency) -> Result<i64, SettingsFault> {
        let money = Money::from_decimal_text(self.0.as_str(), currency);
        let allowed = || {
            let digits = currency.decimals();
            format!("a decimal amount with at most {digits} digits behind the point")
        };
        money.map(Money::minor).map_err(|_| SettingsFault::new(field, allowed()))
    }
}

fn minor(
    amount: Option<&Decimal>,
    field: &str,
    currency: Currency,
) -> Result<Option<i64>, SettingsFault> {
    amount.map(|amount| amount.minor(field, currency)).transpose()
}

/// The one place where the text of a merchant enters settings, and where it is cleaned. Whether it is
/// too long is for `Settings::check` to say, which names the field.
fn cleaned(text: &str) -> String {
    catalog::one_line(text, usize::MAX).into_owned()
}

/// An empty text says as little as none.
fn cleaned_option(text: Option<&String>) -> Option<String> {
    text.map(|text| cleaned(text)).filter(|text| !text.is_empty())
}
