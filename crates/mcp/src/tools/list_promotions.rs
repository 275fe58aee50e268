//! `list_promotions`: current promotions.

use merchants::Benefit;
use primitives::{Failure, Money, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct ListPromotions;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Current promotions.
    promotions: Vec<PromotionRecord>,
}

/// A promotion.
#[derive(Serialize, JsonSchema)]
pub(super) struct PromotionRecord {
    /// Merchant's identifier.
    id: String,
    /// Merchant's name for the promotion.
    name: String,
    /// Kind of benefit.
    benefit: BenefitKind,
    /// Percentage off, for `percent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<f64>,
    /// Amount off, for `amount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<f64>,
    /// Currency of all amounts.
    currency: String,
    /// Code to apply; omitted if the promotion applies automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// Minimum subtotal.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_subtotal: Option<f64>,
    /// Categories it applies to; omitted if all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
    /// End time.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<Timestamp>,
}

/// Kind of benefit.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum BenefitKind {
    Percent,
    Amount,
    FreeShipping,
}

impl Tool for ListPromotions {
    const NAME: &'static str = "list_promotions";
    const TITLE: &'static str = "Promotions";
    const PURPOSE: &'static str = "List this store's current promotions and discount codes with their conditions. To use a code on a cart, call apply_discount_code.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, Arguments {}: Arguments) -> Result<Output, Failure> {
        let running =
            merchants::active_promotions(&context.reading()?, context.store.merchant).await?;
        let currency = context.store.currency;
        let decimal = |minor: i64| Money::new(minor, currency).to_decimal();
        let record = |promotion: merchants::Promotion| {
            let (benefit, percent, amount) = match promotion.benefit {
                Benefit::Percent { basis_points } => {
                    (BenefitKind::Percent, Some(f64::from(basis_points) / 100.0), None)
                }
                Benefit::Amount { minor } => (BenefitKind::Amount, None, Some(decimal(minor))),
                Benefit::FreeShipping => (BenefitKind::FreeShipping, None, None),
            };
            PromotionRecord {
                id: promotion.id,
                name: promotion.name,
                benefit,
                percent,
                amount,
                currency: currency.to_string(),
                code: promotion.code,
                min_subtotal: promotion.min_subtotal_minor.map(decimal),
                categories: promotion.categories,
                ends_at: promotion.ends_at,
            }
        };
        Ok(Output { promotions: running.into_iter().map(record).collect() })
    }
}
