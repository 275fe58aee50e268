//! `get_store_policies`: what the merchant promises, one by one.

use primitives::{Failure, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetStorePolicies;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Only these; all if left out.
    #[schemars(length(max = 5))]
    types: Option<Vec<PolicyType>>,
}

/// A kind of promise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum PolicyType {
    Returns,
    Shipping,
    Warranty,
    Privacy,
    Terms,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// What the merchant promises. What it does not promise is left out.
    policies: Vec<Promise>,
    /// Days to return in.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_window_days: Option<i64>,
    /// Order amount above which shipping is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    free_shipping_threshold: Option<f64>,
    /// A range of days, `<min>-<max>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_estimate_days: Option<String>,
    /// Currency of all amounts.
    currency: String,
}

/// One promise.
#[derive(Serialize, JsonSchema)]
pub(super) struct Promise {
    /// What it is about.
    r#type: PolicyType,
    /// In the merchant's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Where all of it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// How many days it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<i64>,
    /// How many months it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    months: Option<i64>,
    /// What shipping costs, by country.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    zones: Vec<Zone>,
}

/// Countries that cost the same to ship to.
#[derive(Serialize, JsonSchema)]
pub(super) struct Zone {
    /// ISO 3166 codes; `*` is every country no other zone names.
    countries: Vec<String>,
    /// The ways there.
    rates: Vec<Rate>,
}

/// A way to ship.
#[derive(Serialize, JsonSchema)]
pub(super) struct Rate {
    /// What the merchant calls it.
    name: String,
    /// What it costs.
    price: f64,
    /// Offered from this subtotal on.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_subtotal: Option<f64>,
    /// A range of days, `<min>-<max>`.
    days: String,
}

impl Tool for GetStorePolicies {
    const NAME: &'static str = "get_store_policies";
    const TITLE: &'static str = "Store policies";
    const PURPOSE: &'static str =
        "Read what this store promises about returns, shipping costs, warranty, privacy and terms.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let current = merchants::settings(&call.reading()?, call.store.merchant).await?;
        let record = call.store.policy_record();
        let promise = |kind, description, url| Promise {
            r#type: kind,
            description,
            url,
            days: None,
            months: None,
            zones: Vec::new(),
        };
        let returns = Promise {
            days: record.return_window_days,
            ..promise(PolicyType::Returns, record.return_summary, None)
        };
        let shipping = Promise {
            zones: zones(call, current.settings.shipping),
            ..promise(PolicyType::Shipping, record.shipping_summary, None)
        };
        let warranty =
            Promise { months: record.warranty_months, ..promise(PolicyType::Warranty, None, None) };
        let privacy = promise(PolicyType::Privacy, None, record.privacy_url);
        let terms = promise(PolicyType::Terms, None, record.terms_url);
        let wanted = |kind| arguments.types.as_ref().is_none_or(|types| types.contains(&kind));
        let mut policies = vec![returns, shipping, warranty, privacy, terms];
        policies.retain(|promise| promise.is_made() && wanted(promise.r#type));
        Ok(Output {
            policies,
            return_window_days: record.return_window_days,
            free_shipping_threshold: record.free_shipping_threshold,
            shipping_estimate_days: record.shipping_estimate_days,
            currency: call.store.currency.to_string(),
        })
    }
}

impl Promise {
    fn is_made(&self) -> bool {
        let Self { description, url, days, months, zones, .. } = self;
        description.is_some()
            || url.is_some()
            || days.is_some()
            || months.is_some()
            || !zones.is_empty()
    }
}

fn zones(call: &Call<'_>, zones: Vec<merchants::ShippingZone>) -> Vec<Zone> {
    let decimal = |minor: i64| Money::new(minor, call.store.currency).to_decimal();
    let rate = |rate: merchants::ShippingRate| Rate {
        name: rate.name,
        price: decimal(rate.price_minor),
        min_subtotal: rate.min_subtotal_minor.map(decimal),
        days: format!("{}-{}", rate.days_min, rate.days_max),
    };
    let zone = |zone: merchants::ShippingZone| Zone {
        countries: zone.countries,
        rates: zone.rates.into_iter().map(rate).collect(),
    };
    zones.into_iter().map(zone).collect()
}
