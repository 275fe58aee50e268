//! An order with everything that belongs to it.

use primitives::Timestamp;

use crate::{Dispute, Fulfillment, HistoryEntry, Order, OrderReturn, OrderStatus, Refund};

/// An order with its shipments, refunds, returns, disputes and history, as one transaction saw them. Disputes and history are
/// empty if a list was read without them, and disputes have their statements only where they are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderDetails {
    pub order: Order,
    /// The oldest first, as all lists here.
    pub fulfillments: Vec<Fulfillment>,
    pub refunds: Vec<Refund>,
    pub returns: Vec<OrderReturn>,
    pub disputes: Vec<Dispute>,
    pub history: Vec<HistoryEntry>,
}

/// The next status of an order that takes the usual path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedStatus {
    pub status: OrderStatus,
    /// When it is expected; `None` if nobody named a time.
    pub by: Option<Timestamp>,
}

impl OrderDetails {
    /// Returns the next status of an order that takes the usual path, or `None` once the order has ended. A delivery is expected
    /// by the latest time that was announced for a shipment under way, otherwise by the time that the terms promised.
    #[must_use]
    pub fn expected_status(&self) -> Option<ExpectedStatus> {
        let order = &self.order;
        let (status, by) = match order.status {
            OrderStatus::Pending | OrderStatus::ManualReview => (OrderStatus::Confirmed, None),
            OrderStatus::Confirmed | OrderStatus::Processing | OrderStatus::PartiallyShipped => {
                (OrderStatus::Shipped, None)
            }
            OrderStatus::Shipped => {
                let under_way = self.fulfillments.iter().filter(|it| it.delivered_at.is_none());
                let announced = under_way.filter_map(|it| it.expected_by).max();
                (OrderStatus::Delivered, announced.or(order.promised_by))
            }
            OrderStatus::Delivered => (OrderStatus::Completed, order.returnable_until),
            OrderStatus::Completed | OrderStatus::Canceled | OrderStatus::Failed => return None,
        };
        Some(ExpectedStatus { status, by })
    }
}

/// What a list of orders reads of what belongs to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderParts {
    /// Everything but the statements of disputes.
    All,
    /// Shipments, refunds and returns: neither disputes nor the history, which grows with everything that happens.
    Items,
}
