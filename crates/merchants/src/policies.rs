//! Policies of a store: as merchants set them, with their limits, and as agents see them. `table.rs` has their columns.

use primitives::{Currency, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::InvalidSetting;
use crate::settings::check::{
    Checked, DAYS_MAX, URL_LENGTH_MAX, amount, ensure, number, optional, text, web_url,
};
use crate::settings::decimal::Decimal;
use crate::settings::record::non_empty;

const RETURN_WINDOW_DAYS_MAX: i32 = 3650;
const WARRANTY_MONTHS_MAX: i32 = 1200;
const SUMMARY_CHARACTERS_MAX: usize = 2000;

/// Policies of a store. `None` means that the merchant has not stated the policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policies {
    pub return_window_days: Option<i32>,
    /// Orders from this amount ship for free; minor units of the store's currency.
    pub free_shipping_threshold_minor: Option<i64>,
    pub shipping_days_min: Option<i32>,
    pub shipping_days_max: Option<i32>,
    /// Merchant text.
    pub return_summary: Option<String>,
    /// Merchant text.
    pub shipping_summary: Option<String>,
    pub privacy_url: Option<String>,
    pub terms_url: Option<String>,
    pub warranty_months: Option<i32>,
}

impl Policies {
    /// Returns the first error, if any. Fields are named as in the API.
    pub(crate) fn check_change(&self, former: &Self) -> Checked {
        // Without `..`, so that every policy has its limit here.
        let Self {
            return_window_days,
            free_shipping_threshold_minor,
            shipping_days_min,
            shipping_days_max,
            return_summary,
            shipping_summary,
            privacy_url,
            terms_url,
            warranty_months,
        } = self;
        let integer = |field: &str, value: &Option<i32>, max: i32| {
            optional(*value, |value| number(&format!("policies.{field}"), value, 0..=max))
        };
        integer("return_window_days", return_window_days, RETURN_WINDOW_DAYS_MAX)?;
        integer("shipping_days_min", shipping_days_min, DAYS_MAX)?;
        integer("shipping_days_max", shipping_days_max, DAYS_MAX)?;
        integer("warranty_months", warranty_months, WARRANTY_MONTHS_MAX)?;
        let is_range = shipping_days_min.is_some() == shipping_days_max.is_some()
            && shipping_days_min <= shipping_days_max;
        let allowed = "given together with shipping_days_min and not below it";
        ensure(is_range, "policies.shipping_days_max", allowed)?;
        optional(*free_shipping_threshold_minor, |minor| {
            amount("policies.free_shipping_threshold", minor)
        })?;
        let summary = |field: &str, value: &Option<String>| {
            optional(value.as_deref(), |it| text(field, it, SUMMARY_CHARACTERS_MAX))
        };
        summary("policies.return_summary", return_summary)?;
        summary("policies.shipping_summary", shipping_summary)?;
        let url = |field: &str, value: &Option<String>, former: &Option<String>| {
            if value == former {
                return Ok(());
            }
            optional(value.as_deref(), |it| web_url(field, it))
        };
        url("policies.privacy_url", privacy_url, &former.privacy_url)?;
        url("policies.terms_url", terms_url, &former.terms_url)
    }

    /// Returns the policies as agents see them, with amounts in this currency.
    #[must_use]
    pub fn record(&self, currency: Currency) -> PolicyRecord {
        let threshold = self.free_shipping_threshold_minor;
        let shipping_days = self.shipping_days_min.zip(self.shipping_days_max);
        PolicyRecord {
            return_window_days: self.return_window_days.map(i64::from),
            free_shipping_threshold: threshold
                .map(|minor| Money::new(minor, currency).to_decimal()),
            shipping_estimate_days: shipping_days.map(|(min, max)| format!("{min}-{max}")),
            return_summary: self.return_summary.clone(),
            shipping_summary: self.shipping_summary.clone(),
            privacy_url: self.privacy_url.clone(),
            terms_url: self.terms_url.clone(),
            warranty_months: self.warranty_months.map(i64::from),
        }
    }
}

// docs/contract/stores.md#policies
/// Policies of a store or product. Policies that the merchant has not stated are absent.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct PolicyRecord {
    /// Days within which products can be returned; 0 if they cannot be returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i64>,
    /// Order amount above which shipping is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_shipping_threshold: Option<f64>,
    /// Delivery time in days, `<min>-<max>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping_estimate_days: Option<String>,
    /// Return policy by the merchant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_summary: Option<String>,
    /// Shipping policy by the merchant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping_summary: Option<String>,
    /// URL of the privacy policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy_url: Option<String>,
    /// URL of the terms of sale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms_url: Option<String>,
    /// Warranty in months.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warranty_months: Option<i64>,
}

/// Policies of a store. Omitted fields are unspecified.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SettingsPolicies {
    /// Days within which an order may be returned; 0: no returns.
    #[schemars(range(min = 0, max = RETURN_WINDOW_DAYS_MAX))]
    return_window_days: Option<i32>,
    /// Minimum order amount for free shipping.
    free_shipping_threshold: Option<Decimal>,
    /// Shortest delivery time, in days.
    #[schemars(range(min = 0, max = DAYS_MAX))]
    shipping_days_min: Option<i32>,
    /// Longest delivery time, in days.
    #[schemars(range(min = 0, max = DAYS_MAX))]
    shipping_days_max: Option<i32>,
    /// Return policy, in the merchant's words.
    #[schemars(length(max = SUMMARY_CHARACTERS_MAX))]
    return_summary: Option<String>,
    /// Shipping policy, in the merchant's words.
    #[schemars(length(max = SUMMARY_CHARACTERS_MAX))]
    shipping_summary: Option<String>,
    /// URL of the privacy policy.
    #[schemars(length(max = URL_LENGTH_MAX))]
    privacy_url: Option<String>,
    /// URL of the terms of sale.
    #[schemars(length(max = URL_LENGTH_MAX))]
    terms_url: Option<String>,
    /// Warranty period, in months.
    #[schemars(range(min = 0, max = WARRANTY_MONTHS_MAX))]
    warranty_months: Option<i32>,
}

impl SettingsPolicies {
    /// Returns the policies with amounts in this currency.
    pub(crate) fn of(policies: Policies, currency: Currency) -> Self {
        let threshold = policies.free_shipping_threshold_minor;
        Self {
            return_window_days: policies.return_window_days,
            free_shipping_threshold: threshold.map(|minor| Decimal::of(minor, currency)),
            shipping_days_min: policies.shipping_days_min,
            shipping_days_max: policies.shipping_days_max,
            return_summary: policies.return_summary,
            shipping_summary: policies.shipping_summary,
            privacy_url: policies.privacy_url,
            terms_url: policies.terms_url,
            warranty_months: policies.warranty_months,
        }
    }

    /// Parses the policies. Amounts must have the precision of the currency.
    pub(crate) fn into_policies(self, currency: Currency) -> Result<Policies, InvalidSetting> {
        let threshold = self.free_shipping_threshold;
        Ok(Policies {
            return_window_days: self.return_window_days,
            free_shipping_threshold_minor: threshold
                .map(|amount| amount.minor("policies.free_shipping_threshold", currency))
                .transpose()?,
            shipping_days_min: self.shipping_days_min,
            shipping_days_max: self.shipping_days_max,
            return_summary: non_empty(self.return_summary),
            shipping_summary: non_empty(self.shipping_summary),
            privacy_url: non_empty(self.privacy_url),
            terms_url: non_empty(self.terms_url),
            warranty_months: self.warranty_months,
        })
    }
}
