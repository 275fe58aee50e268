//! The state machine of a checkout session. Every change of a status follows this table, and the diagram in the documentation
//! is generated from it.

use Status::{
    Canceled, CompleteInProgress, Completed, Expired, Incomplete, ReadyForComplete,
    RequiresEscalation,
};

primitives::text_enum! {
    /// Status of a session (docs/contract/checkout.md#session-states): the statuses of UCP, and `expired`.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename = "CheckoutStatus", rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Status {
        /// Required data is missing.
        Incomplete,
        /// No data is missing.
        ReadyForComplete,
        /// A person has to pay at the checkout URL. The units are held.
        RequiresEscalation,
        /// A payment is pending.
        CompleteInProgress,
        /// The session became an order.
        Completed,
        /// The session was canceled.
        Canceled,
        /// The session was not paid before it expired.
        Expired,
    }
}

primitives::text_enum! {
    /// A transition of a session. The name is its label in the state diagram.
    pub enum Transition {
        /// All required data is present.
        #[strum(serialize = "required data complete")]
        MarkReady,
        /// Required data is missing, or an item is not available.
        #[strum(serialize = "required data missing")]
        MarkIncomplete,
        /// The person declined to pay. The agent cannot buy the same items for a while.
        #[strum(serialize = "declined by the person")]
        Decline,
        /// The agent completed the session: the units are held and a person has to pay.
        #[strum(serialize = "complete_checkout")]
        Escalate,
        #[strum(serialize = "payment started")]
        StartPayment,
        #[strum(serialize = "payment succeeded")]
        SettlePayment,
        #[strum(serialize = "payment declined")]
        DeclinePayment,
        #[strum(serialize = "cancel")]
        Cancel,
        #[strum(serialize = "session lifetime elapsed")]
        Expire,
    }
}

/// Statuses of a session when it is stored first, and the tool that stores it.
pub const INITIAL_STATUSES: &[(Status, &str)] = &[
    (Incomplete, "create_checkout"),
    (ReadyForComplete, "create_checkout"),
    (RequiresEscalation, "complete_checkout"),
];

/// All transitions: status before, transition, status after.
pub const TRANSITIONS: &[(Status, Transition, Status)] = &[
    (Incomplete, Transition::MarkReady, ReadyForComplete),
    (RequiresEscalation, Transition::MarkReady, ReadyForComplete),
    (ReadyForComplete, Transition::MarkIncomplete, Incomplete),
    (RequiresEscalation, Transition::MarkIncomplete, Incomplete),
    (ReadyForComplete, Transition::Decline, Incomplete),
    (RequiresEscalation, Transition::Decline, Incomplete),
    (Incomplete, Transition::Escalate, RequiresEscalation),
    (ReadyForComplete, Transition::Escalate, RequiresEscalation),
    (ReadyForComplete, Transition::StartPayment, CompleteInProgress),
    (RequiresEscalation, Transition::StartPayment, CompleteInProgress),
    (CompleteInProgress, Transition::SettlePayment, Completed),
    (CompleteInProgress, Transition::DeclinePayment, ReadyForComplete),
    (Incomplete, Transition::Cancel, Canceled),
    (ReadyForComplete, Transition::Cancel, Canceled),
    (RequiresEscalation, Transition::Cancel, Canceled),
    (Incomplete, Transition::Expire, Expired),
    (ReadyForComplete, Transition::Expire, Expired),
    (RequiresEscalation, Transition::Expire, Expired),
];

impl Status {
    /// Returns the status after a transition, or `None` if the transition is not allowed.
    #[must_use]
    pub fn after(self, transition: Transition) -> Option<Self> {
        let is_match =
            |(from, by, _): &&(Self, Transition, Self)| (*from, *by) == (self, transition);
        TRANSITIONS.iter().find(is_match).map(|(.., to)| *to)
    }

    /// Returns the statuses in which a transition is allowed.
    #[must_use]
    pub fn before(transition: Transition) -> Vec<Self> {
        let allowed = TRANSITIONS.iter().filter(|(_, by, _)| *by == transition);
        allowed.map(|(from, ..)| *from).collect()
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
}

/// Returns the state machine as a Mermaid diagram, for the documentation.
#[must_use]
pub fn state_diagram() -> String {
    let mut lines = vec![String::from("stateDiagram-v2")];
    for (status, tool) in INITIAL_STATUSES {
        lines.push(format!("    [*] --> {status}: {tool}"));
    }
    for (from, transition, to) in TRANSITIONS {
        lines.push(format!("    {from} --> {to}: {transition}"));
    }
    for status in Status::ALL.iter().filter(|status| status.is_final()) {
        lines.push(format!("    {status} --> [*]"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_partial_index_names_the_statuses_that_expire() {
        // `table::find_expired` and the index `checkout_session_end` name them as literals.
        let named = [Incomplete, ReadyForComplete, RequiresEscalation];
        assert_eq!(Status::before(Transition::Expire), named);
    }

    proptest! {
        #[test]
        fn a_final_status_never_changes(steps in proptest::collection::vec(0..Transition::ALL.len(), 0..30)) {
            let (mut status, mut paid) = (Incomplete, 0);
            for step in steps {
                let was_final = status.is_final();
                if let Some(next) = status.after(Transition::ALL[step]) {
                    prop_assert!(!was_final);
                    paid += usize::from(next == Completed);
                    status = next;
                }
            }
            prop_assert!(paid <= 1);
        }
    }
}
