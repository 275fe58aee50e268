//! `list_promotions`: what is cheaper at the moment.

use merchants::Benefit;
use primitives::{Failure, Money, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct ListPromotions;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// What runs now.
    promotions: Vec<PromotionRecord>,
}

/// Something that is cheaper for a while.
#[derive(Serialize, JsonSchema)]
pub(super) struct PromotionRecord {
    /// The merchant's own identifier.
    id: String,
    /// What the merchant calls it.
    name: String,
    /// What it gives.
    benefit: BenefitKind,
    /// How much, for `percent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<f64>,
    /// How much, for `amount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<f64>,
    /// Currency of all amounts.
    currency: String,
    /// What a buyer has to give; left out: it applies by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// Applies from this subtotal on.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_subtotal: Option<f64>,
    /// The categories it is about; left out: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    categories: Vec<String>,
    /// When it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<Timestamp>,
}

/// A kind of benefit.
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
    const PURPOSE: &'static str =
        "List this store's running promotions and discount codes with their conditions.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, Arguments {}: Arguments) -> Result<Output, Failure> {
        let running = merchants::running_promotions(&call.reading()?, call.store.merchant).await?;
        let currency = call.store.currency;
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
