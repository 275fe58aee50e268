//! Which items of an order can be returned, as every door returns it (docs/contract/orders.md#return-eligibility).

use primitives::{LineId, OrderId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{IneligibleReason, LineEligibility, Order, ReturnEligibility, ReturnOutcome};

/// Which items of an order can be returned now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EligibilityRecord {
    /// Order identifier.
    pub order_id: OrderId,
    /// Whether any unit can be returned now.
    pub eligible: bool,
    /// Length of the return window in days, as the buyer agreed to it. 0: the items cannot be returned.
    pub return_window_days: i64,
    /// End of the return window; absent until all units are delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returnable_until: Option<Timestamp>,
    /// How a return can be settled.
    pub outcomes: Vec<ReturnOutcome>,
    /// Lines of the order.
    pub items: Vec<EligibleItem>,
    /// Currency of the amounts.
    pub currency: String,
}

/// How many units of a line can be returned now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EligibleItem {
    /// Line identifier.
    pub line_id: LineId,
    /// Units that can be returned.
    pub returnable_quantity: i64,
    /// Why none can be returned; absent if some can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<IneligibleReason>,
    /// Refund of all these units, before a fee of the merchant.
    pub refund_amount: f64,
}

impl ReturnEligibility {
    /// Returns the record for this order.
    #[must_use]
    pub fn record(&self, order: &Order) -> EligibilityRecord {
        let item = |line: &LineEligibility| EligibleItem {
            line_id: line.line,
            returnable_quantity: i64::from(line.returnable),
            reason: line.reason,
            refund_amount: order.money(line.refund_minor).to_decimal(),
        };
        EligibilityRecord {
            order_id: order.id,
            eligible: self.has_room && self.lines.iter().any(|line| line.returnable > 0),
            return_window_days: i64::from(self.window_days),
            returnable_until: self.until,
            outcomes: self.outcomes.to_vec(),
            items: self.lines.iter().map(item).collect(),
            currency: order.currency().to_string(),
        }
    }
}
