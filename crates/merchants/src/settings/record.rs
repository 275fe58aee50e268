//! Settings in the merchant API: decimal amounts in the store's currency. Request and response are the same record, so
//! that a response can be edited and sent back.
//!
//! Text is stored as it is received: the API removes markup and surrounding space from every text of a request before
//! it parses the record.

use primitives::{Currency, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::check::{
    BASIS_POINTS_MAX, CATEGORIES_MAX, CODE_LENGTH_MAX, COUNTRIES_MAX, DAYS_MAX,
    NAME_CHARACTERS_MAX, PROMOTIONS_MAX, RATES_MAX, TAXES_MAX, URL_LENGTH_MAX, ZONES_MAX,
};
use super::decimal::Decimal;
use super::{
    Benefit, CheckoutUrl, ConfirmationPolicy, CurrentSettings, GtinSource, HoldLimits,
    InvalidSetting, Promotion, Settings, ShippingRate, ShippingZone, TaxRate,
};
use crate::policies::SettingsPolicies;

type Parsed<T> = Result<T, InvalidSetting>;

/// The longest URL that a webhook endpoint has: one that was moved is returned here and must be accepted again.
const WEBHOOK_URL_LENGTH_MAX: usize = 2_048;

// Has no `Debug`, so that the secret in it cannot be logged.
/// Settings of a store. Amounts are in the store's currency.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsRecord {
    /// Version of the settings, incremented by every change. They are changed only if they still have this version. `PUT`
    /// requires it, here or as `If-Match`.
    #[serde(default)]
    pub version: Option<i64>,
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
    /// Minimum level of human confirmation for an order: `attested` or `hosted`. `mandate` is rejected until mandates can
    /// be verified.
    #[serde(default)]
    confirmation_policy: ConfirmationPolicy,
    /// URL of the page where a buyer pays. `{items}` is replaced by `sku:quantity` pairs separated by commas,
    /// `{checkout_id}` by the id of the checkout session; at least one of them is required after the host.
    #[serde(default)]
    #[schemars(length(max = URL_LENGTH_MAX))]
    checkout_url_template: Option<String>,
    /// URL to which webhook events are sent. In a request `None` leaves it as it is, and `Some(None)` removes its endpoint. It is
    /// stored as a webhook endpoint, not here: the caller of `of` and of `into_settings` reads and writes it.
    #[serde(default, deserialize_with = "named")]
    #[schemars(
        // The schema has no default: an omitted URL is not null.
        !default,
        with = "Option<String>",
        length(max = WEBHOOK_URL_LENGTH_MAX),
        description = "URL to which webhook events are sent, https on the public internet. It is a webhook endpoint that receives the default events; another URL moves it, null removes it, and if it is omitted, in `PUT` too, it stays as it is. A store key needs the scope `webhooks` to change it. `/merchant/webhooks` has all endpoints."
    )]
    pub webhook_url: Option<Option<String>>,
    /// Signing secret of the endpoint that this request created for `webhook_url`, returned only once. Ignored in requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub webhook_secret: Option<String>,
    /// Whether a checkout requires a destination. Otherwise the person may enter it on the payment page.
    #[serde(default)]
    destination_required: bool,
    /// Limits of the stock that one agent key may hold at this store; omitted: those of the agent's plan.
    #[serde(default)]
    hold_limits: Option<HoldLimitsRecord>,
    /// The field of a product that contains its GTIN: `gtin`, `sku`, `mpn`, `id` or `attribute:<name>`.
    #[serde(default = "default_gtin_source")]
    #[schemars(length(max = 110))]
    gtin_source: String,
    /// Shipping rates by country.
    #[serde(default)]
    #[schemars(length(max = ZONES_MAX))]
    shipping: Vec<ShippingZoneRecord>,
    /// Tax rates.
    #[serde(default)]
    #[schemars(length(max = TAXES_MAX))]
    taxes: Vec<TaxRateRecord>,
    /// Promotions.
    #[serde(default)]
    #[schemars(length(max = PROMOTIONS_MAX))]
    promotions: Vec<PromotionRecord>,
}

/// Limits of the stock that one agent key may hold at the store.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HoldLimits")]
struct HoldLimitsRecord {
    /// Checkout sessions that hold stock at the same time.
    #[schemars(range(min = 1, max = HoldLimits::HOLDS_MAX))]
    holds: u32,
    /// Units held in all of them.
    #[schemars(range(min = 1, max = HoldLimits::UNITS_MAX))]
    units: u32,
}

/// Deserializes a field that is sent; without it the default applies.
#[expect(clippy::option_option, reason = "an omitted field differs from null")]
fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn default_gtin_source() -> String {
    GtinSource::default().to_string()
}

impl SettingsRecord {
    /// Returns the settings with amounts in this currency.
    #[must_use]
    pub fn of(current: CurrentSettings, currency: Currency) -> Self {
        let CurrentSettings { settings, version, updated_at } = current;
        let zone = |zone| ShippingZoneRecord::of(zone, currency);
        let promotion = |promotion| PromotionRecord::of(promotion, currency);
        Self {
            version: Some(version),
            updated_at,
            currency: Some(currency.to_string()),
            policies: SettingsPolicies::of(settings.policies, currency),
            confirmation_policy: settings.confirmation,
            checkout_url_template: settings.checkout_url.map(|url| url.to_string()),
            webhook_url: None,
            webhook_secret: None,
            destination_required: settings.destination_required,
            hold_limits: settings
                .hold_limits
                .map(|HoldLimits { holds, units }| HoldLimitsRecord { holds, units }),
            gtin_source: settings.gtin_source.to_string(),
            shipping: settings.shipping.into_iter().map(zone).collect(),
            taxes: settings.taxes.into_iter().map(TaxRateRecord::of).collect(),
            promotions: settings.promotions.into_iter().map(promotion).collect(),
        }
    }

    /// Parses the settings. Amounts must have the precision of the store's currency.
    pub fn into_settings(self, currency: Currency) -> Parsed<Settings> {
        if self.currency.is_some_and(|code| code != currency.code()) {
            let invalid = InvalidSetting::new("currency", "the currency of the store, or omitted");
            return Err(invalid.suggest(Some(currency.code())));
        }
        let template = non_empty(self.checkout_url_template);
        let checkout_url = template.map(|text| text.parse::<CheckoutUrl>()).transpose();
        let gtin_source = self.gtin_source.parse::<GtinSource>();
        Ok(Settings {
            policies: self.policies.into_policies(currency)?,
            confirmation: self.confirmation_policy,
            checkout_url: checkout_url
                .map_err(|_| InvalidSetting::new("checkout_url_template", CheckoutUrl::ALLOWED))?,
            destination_required: self.destination_required,
            hold_limits: self
                .hold_limits
                .map(|HoldLimitsRecord { holds, units }| HoldLimits { holds, units }),
            gtin_source: gtin_source.map_err(|_| {
                let meant = self.gtin_source.to_ascii_lowercase().parse::<GtinSource>();
                let meant = meant.ok().filter(|it| !matches!(it, GtinSource::Attribute(_)));
                let invalid = InvalidSetting::new("gtin_source", GtinSource::ALLOWED);
                invalid.suggest(meant.map(|it| it.to_string()))
            })?,
            shipping: each("shipping", self.shipping, |at, zone| zone.into_zone(at, currency))?,
            taxes: self.taxes.into_iter().map(TaxRateRecord::into_tax_rate).collect(),
            promotions: each("promotions", self.promotions, |at, promotion| {
                promotion.into_promotion(at, currency)
            })?,
        })
    }
}

/// Parses a list, passing each item its path.
fn each<R, T>(field: &str, items: Vec<R>, parse: impl Fn(&str, R) -> Parsed<T>) -> Parsed<Vec<T>> {
    let numbered = items.into_iter().enumerate();
    numbered.map(|(index, item)| parse(&format!("{field}[{index}]"), item)).collect()
}

/// Returns optional text; empty text counts as absent.
pub(crate) fn non_empty(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}

fn minor(amount: Option<&Decimal>, field: &str, currency: Currency) -> Parsed<Option<i64>> {
    amount.map(|amount| amount.minor(field, currency)).transpose()
}

/// Countries with the same shipping rates.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ShippingZone")]
struct ShippingZoneRecord {
    /// Name.
    #[schemars(length(min = 1, max = NAME_CHARACTERS_MAX))]
    name: String,
    /// ISO 3166 two-letter codes, or `*` for every country in no other zone.
    #[schemars(length(min = 1, max = COUNTRIES_MAX))]
    countries: Vec<String>,
    /// Shipping rates of the zone.
    #[schemars(length(min = 1, max = RATES_MAX))]
    rates: Vec<ShippingRateRecord>,
}

impl ShippingZoneRecord {
    fn of(zone: ShippingZone, currency: Currency) -> Self {
        let rate = |rate| ShippingRateRecord::of(rate, currency);
        Self {
            name: zone.name,
            countries: zone.countries,
            rates: zone.rates.into_iter().map(rate).collect(),
        }
    }

    fn into_zone(self, at: &str, currency: Currency) -> Parsed<ShippingZone> {
        let rate = |at: &str, rate: ShippingRateRecord| rate.into_rate(at, currency);
        Ok(ShippingZone {
            name: self.name,
            countries: self.countries,
            rates: each(&format!("{at}.rates"), self.rates, rate)?,
        })
    }
}

/// A shipping rate.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ShippingRate")]
struct ShippingRateRecord {
    /// Name.
    #[schemars(length(min = 1, max = NAME_CHARACTERS_MAX))]
    name: String,
    /// Price.
    price: Decimal,
    /// Minimum subtotal for this rate.
    #[serde(default)]
    min_subtotal: Option<Decimal>,
    /// Shortest delivery time, in days.
    #[schemars(range(min = 0, max = DAYS_MAX))]
    days_min: i32,
    /// Longest delivery time, in days.
    #[schemars(range(min = 0, max = DAYS_MAX))]
    days_max: i32,
}

impl ShippingRateRecord {
    fn of(rate: ShippingRate, currency: Currency) -> Self {
        Self {
            name: rate.name,
            price: Decimal::of(rate.price_minor, currency),
            min_subtotal: rate.min_subtotal_minor.map(|minor| Decimal::of(minor, currency)),
            days_min: rate.days_min,
            days_max: rate.days_max,
        }
    }

    fn into_rate(self, at: &str, currency: Currency) -> Parsed<ShippingRate> {
        let min_subtotal = self.min_subtotal.as_ref();
        Ok(ShippingRate {
            name: self.name,
            price_minor: self.price.minor(&format!("{at}.price"), currency)?,
            min_subtotal_minor: minor(min_subtotal, &format!("{at}.min_subtotal"), currency)?,
            days_min: self.days_min,
            days_max: self.days_max,
        })
    }
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
    #[schemars(length(max = NAME_CHARACTERS_MAX))]
    region: Option<String>,
    /// Path of a category of the store, such as `home-kitchen/coffee`; it includes those below. Omitted: all categories.
    #[serde(default)]
    #[schemars(length(max = NAME_CHARACTERS_MAX))]
    category: Option<String>,
    /// Rate in basis points (hundredths of a percent): 2300 is 23 %.
    #[schemars(range(min = 0, max = BASIS_POINTS_MAX))]
    rate_basis_points: i32,
    /// Whether prices include this tax.
    #[serde(default)]
    included: bool,
}

impl TaxRateRecord {
    fn of(tax: TaxRate) -> Self {
        Self {
            country: tax.country,
            region: tax.region,
            category: tax.category,
            rate_basis_points: tax.rate_basis_points,
            included: tax.included,
        }
    }

    fn into_tax_rate(self) -> TaxRate {
        TaxRate {
            country: self.country,
            region: non_empty(self.region),
            category: non_empty(self.category),
            rate_basis_points: self.rate_basis_points,
            included: self.included,
        }
    }
}

/// A promotion.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Promotion")]
struct PromotionRecord {
    /// The merchant's own identifier.
    #[schemars(length(min = 1, max = NAME_CHARACTERS_MAX))]
    id: String,
    /// Name.
    #[schemars(length(min = 1, max = NAME_CHARACTERS_MAX))]
    name: String,
    /// Kind of discount.
    kind: PromotionKind,
    /// The percentage, with at most two decimal places, or the amount. Omitted for `free_shipping`.
    #[serde(default)]
    value: Option<Decimal>,
    /// Discount code that the buyer enters; omitted: the promotion applies automatically.
    #[serde(default)]
    #[schemars(length(min = 1, max = CODE_LENGTH_MAX))]
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
    /// Paths of the categories to which the promotion applies, such as `home-kitchen/coffee`; each includes those below.
    /// Empty: all.
    #[serde(default)]
    #[schemars(length(max = CATEGORIES_MAX))]
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

/// Percentages have two decimal places, as euros do, so the same parser serves both.
const PERCENT: Currency = Currency::EUR;

impl PromotionRecord {
    fn of(promotion: Promotion, currency: Currency) -> Self {
        let (kind, value) = match promotion.benefit {
            Benefit::Percent { basis_points } => {
                (PromotionKind::Percent, Some(Decimal::of(basis_points.into(), PERCENT)))
            }
            Benefit::Amount { minor } => {
                (PromotionKind::Amount, Some(Decimal::of(minor, currency)))
            }
            Benefit::FreeShipping => (PromotionKind::FreeShipping, None),
        };
        Self {
            id: promotion.id,
            name: promotion.name,
            kind,
            value,
            code: promotion.code,
            min_subtotal: promotion.min_subtotal_minor.map(|minor| Decimal::of(minor, currency)),
            starts_at: promotion.starts_at,
            ends_at: promotion.ends_at,
            categories: promotion.categories,
        }
    }

    fn into_promotion(self, at: &str, currency: Currency) -> Parsed<Promotion> {
        let min_subtotal = self.min_subtotal.as_ref();
        Ok(Promotion {
            benefit: self.benefit(&format!("{at}.value"), currency)?,
            min_subtotal_minor: minor(min_subtotal, &format!("{at}.min_subtotal"), currency)?,
            id: self.id,
            name: self.name,
            code: non_empty(self.code),
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            categories: self.categories,
        })
    }

    fn benefit(&self, field: &str, currency: Currency) -> Parsed<Benefit> {
        let percentage = "a percentage above 0 and up to 100, with at most two decimal places";
        match (self.kind, &self.value) {
            (PromotionKind::FreeShipping, None) => Ok(Benefit::FreeShipping),
            (PromotionKind::FreeShipping, Some(_)) => {
                Err(InvalidSetting::new(field, "omitted for free_shipping"))
            }
            (PromotionKind::Percent, Some(value)) => {
                let points = value.minor(field, PERCENT).ok().and_then(|it| i32::try_from(it).ok());
                let basis_points = points.ok_or_else(|| InvalidSetting::new(field, percentage))?;
                Ok(Benefit::Percent { basis_points })
            }
            (PromotionKind::Amount, Some(value)) => {
                Ok(Benefit::Amount { minor: value.minor(field, currency)? })
            }
            (PromotionKind::Percent, None) => Err(InvalidSetting::new(field, percentage)),
            (PromotionKind::Amount, None) => Err(InvalidSetting::new(field, "an amount above 0")),
        }
    }
}
