//! The state machine of an order. Every change of a status follows this table, and the diagram in the documentation is
//! generated from it.

use OrderStatus::{
    Canceled, Completed, Confirmed, Delivered, Failed, ManualReview, PartiallyShipped, Pending,
    Processing, Shipped,
};

primitives::text_enum! {
    /// Status of an order (docs/contract/orders.md#order-statuses).
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum OrderStatus {
        /// Paid; not yet accepted by the merchant.
        Pending,
        /// Accepted by the merchant.
        Confirmed,
        /// The merchant prepares the shipment.
        Processing,
        /// Some units are shipped.
        PartiallyShipped,
        /// All units are shipped.
        Shipped,
        /// All units are delivered.
        Delivered,
        /// Delivered, and the return window has closed.
        Completed,
        /// A person at the merchant has to decide.
        ManualReview,
        /// Nothing was shipped, and nothing will be.
        Canceled,
        /// The payment failed after the order was placed.
        Failed,
    }
}

primitives::text_enum! {
    /// A transition of an order. The name is its label in the state diagram.
    pub enum OrderTransition {
        #[strum(serialize = "confirmed by the merchant")]
        Confirm,
        #[strum(serialize = "held for review")]
        Review,
        #[strum(serialize = "processing started")]
        Process,
        #[strum(serialize = "some units shipped")]
        ShipPart,
        /// The last units were shipped, or the units that were not shipped were canceled.
        #[strum(serialize = "no unit left to ship")]
        ShipRest,
        #[strum(serialize = "all units delivered")]
        Deliver,
        #[strum(serialize = "return window closed")]
        Complete,
        #[strum(serialize = "all units canceled")]
        Cancel,
        #[strum(serialize = "payment lost")]
        Fail,
    }
}

/// Statuses of a new order, and how it was paid.
pub const INITIAL_STATUSES: &[(OrderStatus, &str)] =
    &[(Pending, "payment succeeded"), (ManualReview, "late payment")];

/// All transitions: status before, transition, status after.
pub const TRANSITIONS: &[(OrderStatus, OrderTransition, OrderStatus)] = &[
    (Pending, OrderTransition::Confirm, Confirmed),
    (ManualReview, OrderTransition::Confirm, Confirmed),
    (Pending, OrderTransition::Review, ManualReview),
    (Confirmed, OrderTransition::Review, ManualReview),
    (Confirmed, OrderTransition::Process, Processing),
    (Processing, OrderTransition::ShipPart, PartiallyShipped),
    (Processing, OrderTransition::ShipRest, Shipped),
    (PartiallyShipped, OrderTransition::ShipRest, Shipped),
    (Shipped, OrderTransition::Deliver, Delivered),
    (Delivered, OrderTransition::Complete, Completed),
    (Pending, OrderTransition::Cancel, Canceled),
    (Confirmed, OrderTransition::Cancel, Canceled),
    (ManualReview, OrderTransition::Cancel, Canceled),
    (Processing, OrderTransition::Cancel, Canceled),
    (Pending, OrderTransition::Fail, Failed),
];

impl OrderStatus {
    /// Returns the status after a transition, or `None` if the transition is not allowed.
    #[must_use]
    pub fn after(self, transition: OrderTransition) -> Option<Self> {
        let is_match =
            |(from, by, _): &&(Self, OrderTransition, Self)| (*from, *by) == (self, transition);
        TRANSITIONS.iter().find(is_match).map(|(.., to)| *to)
    }

    /// Returns the statuses that a transition leads to, each once.
    #[must_use]
    pub fn successors(self) -> Vec<Self> {
        let mut successors = Vec::new();
        for (.., to) in TRANSITIONS.iter().filter(|(from, ..)| *from == self) {
            if !successors.contains(to) {
                successors.push(*to);
            }
        }
        successors
    }

    /// Returns whether no transition leads out of the status.
    #[must_use]
    pub fn is_final(self) -> bool {
        !TRANSITIONS.iter().any(|(from, ..)| *from == self)
    }

    /// Returns whether no unit has been shipped yet and units may still be.
    #[must_use]
    pub fn is_before_shipment(self) -> bool {
        self.after(OrderTransition::Cancel).is_some()
    }
}

/// Returns the state machine as a Mermaid diagram, for the documentation.
#[must_use]
pub fn state_diagram() -> String {
    let mut lines = vec![String::from("stateDiagram-v2")];
    for (status, cause) in INITIAL_STATUSES {
        lines.push(format!("    [*] --> {status}: {cause}"));
    }
    for (from, transition, to) in TRANSITIONS {
        lines.push(format!("    {from} --> {to}: {transition}"));
    }
    for status in OrderStatus::ALL.iter().filter(|status| status.is_final()) {
        lines.push(format!("    {status} --> [*]"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_can_be_reached_and_the_final_ones_are_known() {
        let mut reached: Vec<OrderStatus> =
            INITIAL_STATUSES.iter().map(|(status, _)| *status).collect();
        let mut next = 0;
        while let Some(status) = reached.get(next).copied() {
            for successor in status.successors() {
                if !reached.contains(&successor) {
                    reached.push(successor);
                }
            }
            next += 1;
        }
        assert_eq!(reached.len(), OrderStatus::ALL.len());
        let ends = OrderStatus::ALL.iter().filter(|status| status.is_final());
        assert_eq!(ends.copied().collect::<Vec<_>>(), [Completed, Canceled, Failed]);
    }

    #[test]
    fn a_transition_leads_to_one_status() {
        for (index, (from, by, _)) in TRANSITIONS.iter().enumerate() {
            let others = TRANSITIONS.iter().enumerate().filter(|(other, _)| *other != index);
            assert!(others.map(|(_, it)| it).all(|(other, with, _)| (other, with) != (from, by)));
        }
    }
}
