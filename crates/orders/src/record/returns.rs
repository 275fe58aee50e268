//! Returns as every door returns them (docs/contract/orders.md#returns).

use primitives::{Currency, LineId, Money, OrderId, ReturnId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{OrderReturn, ReturnCondition, ReturnItem, ReturnOutcome, ReturnReason, ReturnStatus};

/// A return.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReturnRecord {
    /// Return identifier.
    pub return_id: ReturnId,
    /// Order identifier.
    pub order_id: OrderId,
    /// Status of the return.
    pub status: ReturnStatus,
    /// How the return is to be settled.
    pub outcome: ReturnOutcome,
    /// Units of the return.
    pub items: Vec<ReturnItemRecord>,
    /// Note of the buyer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_note: Option<String>,
    /// How to send the items back, as the merchant says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Why the return was declined or rejected: a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decline_reason: Option<String>,
    /// Carrier of the items on their way back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    /// Tracking number of the items on their way back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking_number: Option<String>,
    /// Fee that the merchant kept; absent until the return is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restocking_fee: Option<f64>,
    /// Amount refunded for the return; absent until the return is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refund_amount: Option<f64>,
    /// Currency of the amounts.
    pub currency: String,
    /// When the return was requested.
    pub requested_at: Timestamp,
    /// When the return last changed.
    pub updated_at: Timestamp,
    /// When the merchant received the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_at: Option<Timestamp>,
    /// When the return was refunded, exchanged or rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
}

/// Units of a return.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct ReturnItemRecord {
    /// Line identifier.
    pub line_id: LineId,
    /// Units.
    pub quantity: i64,
    /// Why they are returned.
    pub reason: ReturnReason,
    /// Condition that the inspection found; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<ReturnCondition>,
}

impl ReturnItemRecord {
    const fn of(item: &ReturnItem) -> Self {
        Self {
            line_id: item.line,
            quantity: item.quantity as i64,
            reason: item.reason,
            condition: item.condition,
        }
    }
}

impl OrderReturn {
    /// Returns the record of a return of this order.
    #[must_use]
    pub fn record(&self, order: OrderId, currency: Currency) -> ReturnRecord {
        let money = |minor: i64| Money::new(minor, currency).to_decimal();
        ReturnRecord {
            return_id: self.id,
            order_id: order,
            status: self.status,
            outcome: self.outcome,
            items: self.items.iter().map(ReturnItemRecord::of).collect(),
            customer_note: self.customer_note.clone(),
            instructions: self.instructions.clone(),
            decline_reason: self.decline_reason.map(|reason| reason.to_string()),
            carrier: self.carrier.clone(),
            tracking_number: self.tracking_number.clone(),
            restocking_fee: self.restocking_fee_minor.map(money),
            refund_amount: self.refund_minor.map(money),
            currency: currency.to_string(),
            requested_at: self.requested_at,
            updated_at: self.updated_at,
            received_at: self.received_at,
            settled_at: self.settled_at,
        }
    }
}
