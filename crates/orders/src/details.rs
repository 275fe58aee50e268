//! An order with everything that belongs to it.

use crate::{Dispute, Fulfillment, HistoryEntry, Order, OrderReturn, Refund};

/// An order with its shipments, refunds, returns, disputes and history, as one transaction saw them.
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
