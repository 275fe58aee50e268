//! Signals of `merchantReliabilityBase`.

use super::data_quality::DataQuality;
use super::dimension::Dimension;
use super::signal::{Definition, share};
use super::window::{OUTCOMES_MIN, Window};
use crate::Component;

/// Age at which a store has full confidence.
const FULL_AGE_DAYS: i64 = 365;
/// humanOrders at which the volume has full confidence.
const FULL_HUMAN_ORDERS: i64 = 50;
/// How many times a refund or a lost dispute counts against an order without one: a quarter of the orders makes 0.
pub(super) const FAULT_FACTOR: f64 = 4.0;

const fn definition(
    weight_hundredths: u8,
    data_quality: DataQuality,
    rule: &'static str,
    value: fn(&Window<'_>) -> Option<f64>,
) -> Definition {
    let dimension = Dimension::MerchantReliabilityBase;
    Definition { dimension, weight_hundredths, data_quality, has_source: true, rule, value }
}

pub(super) const FULFILLMENT_PERFORMANCE: Definition = definition(
    30,
    DataQuality::Measured,
    "rate of in_stock (orders that were shipped and of which the merchant canceled nothing) against out_of_stock (orders of which it canceled product units as out of stock)",
    fulfillment_performance,
);

fn fulfillment_performance(window: &Window<'_>) -> Option<f64> {
    window.rate(|account| (account.in_stock, account.out_of_stock))
}

pub(super) const DISPUTE_AND_REFUND_HEALTH: Definition = definition(
    20,
    DataQuality::Proxy,
    "max(0, 1 - 4 * refunds.orders / orders); not applicable below 5 orders in the window. A refund is related to a fault and does not prove it",
    dispute_and_refund_health,
);

fn dispute_and_refund_health(window: &Window<'_>) -> Option<f64> {
    let orders = window.orders();
    let is_sample = orders >= i64::from(OUTCOMES_MIN);
    let refunded = share(window.evidence.v41.refunds.orders, orders).filter(|_| is_sample);
    refunded.map(|share| 1.0 - FAULT_FACTOR * share)
}

pub(super) const ORDER_COMPLETION_HEALTH: Definition = definition(
    10,
    DataQuality::SelfDeclared,
    "human.fulfilled / (human.fulfilled + human.canceled); not applicable below 5 of both together",
    order_completion_health,
);

fn order_completion_health(window: &Window<'_>) -> Option<f64> {
    let human = window.evidence.v41.human;
    let ended = human.fulfilled.saturating_add(human.canceled);
    share(human.fulfilled, ended).filter(|_| ended >= i64::from(OUTCOMES_MIN))
}

pub(super) const CATALOG_OPERATIONAL_QUALITY: Definition = definition(
    20,
    DataQuality::Measured,
    "mean of catalog_completeness and data_consistency of methodology 2.0",
    catalog_operational_quality,
);

fn catalog_operational_quality(window: &Window<'_>) -> Option<f64> {
    let complete = Component::CatalogCompleteness.figure(window.evidence)?;
    let consistent = Component::DataConsistency.figure(window.evidence)?;
    Some(f64::midpoint(complete.value, consistent.value))
}

pub(super) const STORE_AGE_CONFIDENCE: Definition =
    definition(10, DataQuality::Measured, "min(1, store_age_days / 365)", store_age_confidence);

fn store_age_confidence(window: &Window<'_>) -> Option<f64> {
    share(window.evidence.v41.store_age_days, FULL_AGE_DAYS)
}

pub(super) const HUMAN_ORDER_VOLUME_CONFIDENCE: Definition = definition(
    10,
    DataQuality::SelfDeclared,
    "min(1, human.fulfilled / 50); not applicable if human.fulfilled is 0",
    human_order_volume_confidence,
);

fn human_order_volume_confidence(window: &Window<'_>) -> Option<f64> {
    let fulfilled = window.evidence.v41.human.fulfilled;
    share(fulfilled, FULL_HUMAN_ORDERS).filter(|_| fulfilled > 0)
}
