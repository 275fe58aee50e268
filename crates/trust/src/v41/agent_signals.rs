//! Signals of `agenticEvidence`.

use super::data_quality::DataQuality;
use super::dimension::Dimension;
use super::readiness_signals::share_valid;
use super::reliability_signals::FAULT_FACTOR;
use super::signal::{Definition, share};
use super::window::{AccountTotals, OUTCOMES_MIN, Window};
use crate::Component;

/// Share of returning accounts at which the repetition is complete, as a factor: a half.
const REPEAT_FACTOR: f64 = 2.0;

const fn definition(
    weight_hundredths: u8,
    data_quality: DataQuality,
    rule: &'static str,
    value: fn(&Window<'_>) -> Option<f64>,
) -> Definition {
    let dimension = Dimension::AgenticEvidence;
    Definition { dimension, weight_hundredths, data_quality, has_source: true, rule, value }
}

pub(super) const AGENT_CHECKOUT_SUCCESS_RATE: Definition = definition(
    25,
    DataQuality::Measured,
    "rate of kept against completed - kept + min(started - completed, lasting), with lasting of days whose matured phase is above 0: an account's abandoned checkouts count at most as often as its purchases that have matured",
    agent_checkout_success_rate,
);

/// An account that bought nothing has no effect, and each abandoned checkout that counts costs a purchase that was not canceled.
fn agent_checkout_success_rate(window: &Window<'_>) -> Option<f64> {
    window.rate(|account| {
        let AccountTotals { started, completed, lasting, kept, .. } = *account;
        let abandoned = started.saturating_sub(completed).min(lasting);
        (kept, completed.saturating_sub(kept).saturating_add(abandoned))
    })
}

pub(super) const AGENT_FULFILLMENT_ON_TIME_RATE: Definition = definition(
    25,
    DataQuality::Measured,
    "rate of on_time against late",
    agent_fulfillment_on_time_rate,
);

fn agent_fulfillment_on_time_rate(window: &Window<'_>) -> Option<f64> {
    window.rate(|account| (account.on_time, account.late))
}

pub(super) const AGENT_DISPUTE_REFUND_HEALTH: Definition = definition(
    20,
    DataQuality::Measured,
    "max(0, 1 - 4 * (1 - r)), where r is the rate of max(0, orders - disputes_lost) against disputes_lost",
    agent_dispute_refund_health,
);

fn agent_dispute_refund_health(window: &Window<'_>) -> Option<f64> {
    let rate = window.rate(|account| {
        (account.orders.saturating_sub(account.disputes_lost), account.disputes_lost)
    });
    rate.map(|undisputed| 1.0 - FAULT_FACTOR * (1.0 - undisputed))
}

pub(super) const RECEIPT_INTEGRITY: Definition = Definition {
    has_source: false,
    ..definition(
        15,
        DataQuality::Verified,
        "receipts.valid / (receipts.valid + receipts.invalid): signed receipts of purchases; not applicable without any",
        receipt_integrity,
    )
};

fn receipt_integrity(window: &Window<'_>) -> Option<f64> {
    share_valid(window.evidence.v41.receipts)
}

pub(super) const AGENT_LATENCY_AND_TOOL_RELIABILITY: Definition = Definition {
    has_source: false,
    ..definition(
        5,
        DataQuality::Measured,
        "response_latency of methodology 2.0",
        agent_latency_and_tool_reliability,
    )
};

fn agent_latency_and_tool_reliability(window: &Window<'_>) -> Option<f64> {
    Component::ResponseLatency.figure(window.evidence).map(|figure| figure.value)
}

pub(super) const REPEAT_AGENT_SUCCESS: Definition = definition(
    10,
    DataQuality::Measured,
    "min(1, 2 * share of the accounts with an order that have orders on at least two days); not applicable below 5 accounts with an order",
    repeat_agent_success,
);

fn repeat_agent_success(window: &Window<'_>) -> Option<f64> {
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let buyers = count(window.buyers().count());
    let returning = count(window.buyers().filter(|account| account.order_days > 1).count());
    let returned = share(returning, buyers).filter(|_| buyers >= i64::from(OUTCOMES_MIN));
    returned.map(|share| REPEAT_FACTOR * share)
}
