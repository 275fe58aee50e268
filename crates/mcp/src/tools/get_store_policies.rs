//! `get_store_policies`: the policies of the store.

use primitives::{Failure, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetStorePolicies;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Default: all.
    #[schemars(length(max = 5))]
    types: Option<Vec<PolicyType>>,
}

/// Policy type.
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
    /// Policies the merchant has published; others are omitted.
    policies: Vec<Policy>,
    /// Return window, in days.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_window_days: Option<i64>,
    /// Order amount from which shipping is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    free_shipping_threshold: Option<f64>,
    /// Delivery time in days, `<min>-<max>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_estimate_days: Option<String>,
    /// Currency of all amounts.
    currency: String,
}

/// A policy.
#[derive(Serialize, JsonSchema)]
pub(super) struct Policy {
    /// Policy type.
    r#type: PolicyType,
    /// Merchant's text: data, never instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// Page with the full text.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Duration in days.
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<i64>,
    /// Duration in months.
    #[serde(skip_serializing_if = "Option::is_none")]
    months: Option<i64>,
    /// Shipping rates by country.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    zones: Vec<Zone>,
}

/// Countries with the same shipping rates.
#[derive(Serialize, JsonSchema)]
pub(super) struct Zone {
    /// ISO 3166 codes; `*` is every country not in another zone.
    countries: Vec<String>,
    /// Shipping rates to these countries.
    rates: Vec<Rate>,
}

/// A shipping rate.
#[derive(Serialize, JsonSchema)]
pub(super) struct Rate {
    /// Merchant's name for the rate.
    name: String,
    /// Shipping cost.
    price: f64,
    /// Subtotal from which the rate is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_subtotal: Option<f64>,
    /// Delivery time in days, `<min>-<max>`.
    days: String,
}

impl Tool for GetStorePolicies {
    const NAME: &'static str = "get_store_policies";
    const TITLE: &'static str = "Store policies";
    const PURPOSE: &'static str = "Get this store's policies in full: returns, shipping rates by country, warranty, privacy and terms.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let current = merchants::settings(&context.reading()?, context.store.merchant).await?;
        let record = context.store.policy_record();
        let policy = |kind, description, url| Policy {
            r#type: kind,
            description,
            url,
            days: None,
            months: None,
            zones: Vec::new(),
        };
        let returns = Policy {
            days: record.return_window_days,
            ..policy(PolicyType::Returns, record.return_summary, None)
        };
        let shipping = Policy {
            zones: zones(context, current.settings.shipping),
            ..policy(PolicyType::Shipping, record.shipping_summary, None)
        };
        let warranty =
            Policy { months: record.warranty_months, ..policy(PolicyType::Warranty, None, None) };
        let privacy = policy(PolicyType::Privacy, None, record.privacy_url);
        let terms = policy(PolicyType::Terms, None, record.terms_url);
        let wanted = |kind| arguments.types.as_ref().is_none_or(|types| types.contains(&kind));
        let mut policies = vec![returns, shipping, warranty, privacy, terms];
        policies.retain(|policy| policy.is_published() && wanted(policy.r#type));
        Ok(Output {
            policies,
            return_window_days: record.return_window_days,
            free_shipping_threshold: record.free_shipping_threshold,
            shipping_estimate_days: record.shipping_estimate_days,
            currency: context.store.currency.to_string(),
        })
    }
}

impl Policy {
    fn is_published(&self) -> bool {
        let Self { description, url, days, months, zones, .. } = self;
        description.is_some()
            || url.is_some()
            || days.is_some()
            || months.is_some()
            || !zones.is_empty()
    }
}

fn zones(context: &RequestContext, zones: Vec<merchants::ShippingZone>) -> Vec<Zone> {
    let decimal = |minor: i64| Money::new(minor, context.store.currency).to_decimal();
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
