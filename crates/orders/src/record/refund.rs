//! Refunds as every door returns them.

use primitives::{Currency, Money, OrderId, RefundId, ReturnId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Refund, RefundReason};

/// A refund. The merchant moves the money.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RefundRecord {
    /// Refund identifier.
    pub refund_id: RefundId,
    /// Order identifier.
    pub order_id: OrderId,
    /// Return that the refund settles; absent if it settles none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_id: Option<ReturnId>,
    /// Amount.
    pub amount: f64,
    /// Currency of the amount.
    pub currency: String,
    /// Reason.
    pub reason: RefundReason,
    /// Note of the merchant for the buyer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The merchant's own reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// When the refund was recorded.
    pub created_at: Timestamp,
}

impl Refund {
    /// Returns the record of a refund of this order.
    #[must_use]
    pub fn record(&self, order: OrderId, currency: Currency) -> RefundRecord {
        RefundRecord {
            refund_id: self.id,
            order_id: order,
            return_id: self.return_id,
            amount: Money::new(self.amount_minor, currency).to_decimal(),
            currency: currency.to_string(),
            reason: self.reason,
            note: self.note.clone(),
            reference: self.reference.clone(),
            created_at: self.created_at,
        }
    }
}
