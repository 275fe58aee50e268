//! An order with everything that belongs to it.

use crate::{Dispute, Fulfillment, HistoryEntry, Order, OrderReturn, Refund};

/// An order with its shipments, refunds, returns, disputes and history, as one transaction saw them. Disputes and history are
/// empty if a list was read without them.
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

/// What a list of orders reads of what belongs to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderParts {
    All,
    /// Shipments, refunds and returns: neither disputes nor the history, which grows with everything that happens.
    Items,
}
