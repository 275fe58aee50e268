//! The state machine of a return.

use ReturnStatus::{
    Approved, Canceled, Closed, Declined, Exchanged, InTransit, Inspected, Received, Refunded,
    Rejected, Requested,
};

primitives::text_enum! {
    /// Status of a return (docs/contract/orders.md#return-states).
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum ReturnStatus {
        /// The merchant has not decided yet.
        Requested,
        /// The buyer may send the items back.
        Approved,
        /// The merchant does not take the items back.
        Declined,
        /// The items are on their way to the merchant.
        InTransit,
        /// The merchant has the items.
        Received,
        /// The merchant has inspected the items.
        Inspected,
        /// Settled by a refund or store credit.
        Refunded,
        /// Settled by other items.
        Exchanged,
        /// Not accepted after the items arrived.
        Rejected,
        /// Settled, and nothing can change any more.
        Closed,
        /// Withdrawn before the items were sent.
        Canceled,
    }
}

primitives::text_enum! {
    /// A transition of a return. The name is its label in the state diagram.
    pub enum ReturnTransition {
        #[strum(serialize = "approved")]
        Approve,
        #[strum(serialize = "declined")]
        Decline,
        #[strum(serialize = "sent back")]
        Send,
        #[strum(serialize = "received")]
        Receive,
        #[strum(serialize = "inspected")]
        Inspect,
        #[strum(serialize = "refunded")]
        Refund,
        #[strum(serialize = "exchanged")]
        Exchange,
        #[strum(serialize = "rejected")]
        Reject,
        #[strum(serialize = "closed")]
        Close,
        #[strum(serialize = "canceled by the buyer")]
        Cancel,
    }
}

/// All transitions: status before, transition, status after.
pub const RETURN_TRANSITIONS: &[(ReturnStatus, ReturnTransition, ReturnStatus)] = &[
    (Requested, ReturnTransition::Approve, Approved),
    (Requested, ReturnTransition::Decline, Declined),
    (Approved, ReturnTransition::Send, InTransit),
    (InTransit, ReturnTransition::Receive, Received),
    (Received, ReturnTransition::Inspect, Inspected),
    (Inspected, ReturnTransition::Refund, Refunded),
    (Inspected, ReturnTransition::Exchange, Exchanged),
    (Inspected, ReturnTransition::Reject, Rejected),
    (Refunded, ReturnTransition::Close, Closed),
    (Exchanged, ReturnTransition::Close, Closed),
    (Rejected, ReturnTransition::Close, Closed),
    (Requested, ReturnTransition::Cancel, Canceled),
    (Approved, ReturnTransition::Cancel, Canceled),
];

impl ReturnStatus {
    /// Returns the status after a transition, or `None` if the transition is not allowed.
    #[must_use]
    pub fn after(self, transition: ReturnTransition) -> Option<Self> {
        let is_match =
            |(from, by, _): &&(Self, ReturnTransition, Self)| (*from, *by) == (self, transition);
        RETURN_TRANSITIONS.iter().find(is_match).map(|(.., to)| *to)
    }

    /// Returns the statuses that a transition leads to.
    #[must_use]
    pub fn successors(self) -> Vec<Self> {
        let leads = RETURN_TRANSITIONS.iter().filter(|(from, ..)| *from == self);
        leads.map(|(.., to)| *to).collect()
    }

    /// Returns whether no transition leads out of the status.
    #[must_use]
    pub fn is_final(self) -> bool {
        !RETURN_TRANSITIONS.iter().any(|(from, ..)| *from == self)
    }
}

/// Returns the state machine as a Mermaid diagram, for the documentation.
#[must_use]
pub fn return_state_diagram() -> String {
    let mut lines =
        vec![String::from("stateDiagram-v2"), format!("    [*] --> {Requested}: requested")];
    for (from, transition, to) in RETURN_TRANSITIONS {
        lines.push(format!("    {from} --> {to}: {transition}"));
    }
    for status in ReturnStatus::ALL.iter().filter(|status| status.is_final()) {
        lines.push(format!("    {status} --> [*]"));
    }
    lines.join("\n")
}
