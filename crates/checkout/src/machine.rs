//! The state machine of a checkout session. Every change of a status follows this table, and the diagram in the documentation
//! is generated from it.

use Status::{
    Canceled, CompleteInProgress, Completed, Expired, Incomplete, ReadyForComplete,
    RequiresEscalation,
};

primitives::text_enum! {
    /// Status of a session (decisions §8; the statuses of UCP, and `expired`).
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
        /// The session has to be completed again: its data changed, or the person declined.
        #[strum(serialize = "data, price or stock changed")]
        Invalidate,
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

/// All transitions: status before, transition, status after.
pub const TRANSITIONS: &[(Status, Transition, Status)] = &[
    (Incomplete, Transition::MarkReady, ReadyForComplete),
    (ReadyForComplete, Transition::Invalidate, Incomplete),
    (RequiresEscalation, Transition::Invalidate, Incomplete),
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
    lines.push(format!("    [*] --> {Incomplete}: create_checkout"));
    lines.push(format!("    [*] --> {ReadyForComplete}: create_checkout"));
    lines.push(format!("    [*] --> {RequiresEscalation}: complete_checkout"));
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
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The transitions of decisions §8, written down independently of the code.
    const DOCUMENTED: &str = "
        incomplete            > ready_for_complete   : required data complete
        ready_for_complete    > incomplete           : data, price or stock changed
        requires_escalation   > incomplete           : data, price or stock changed
        incomplete            > requires_escalation  : complete_checkout
        ready_for_complete    > requires_escalation  : complete_checkout
        ready_for_complete    > complete_in_progress : payment started
        requires_escalation   > complete_in_progress : payment started
        complete_in_progress  > completed            : payment succeeded
        complete_in_progress  > ready_for_complete   : payment declined
        incomplete            > canceled             : cancel
        ready_for_complete    > canceled             : cancel
        requires_escalation   > canceled             : cancel
        incomplete            > expired              : session lifetime elapsed
        ready_for_complete    > expired              : session lifetime elapsed
        requires_escalation   > expired              : session lifetime elapsed";

    #[test]
    fn the_machine_allows_exactly_the_documented_transitions() {
        let documented: BTreeSet<(String, String, String)> = DOCUMENTED
            .lines()
            .filter_map(|line| {
                let (from, rest) = line.trim().split_once('>')?;
                let (to, label) = rest.split_once(" : ")?;
                Some((from.trim().to_owned(), label.trim().to_owned(), to.trim().to_owned()))
            })
            .collect();
        let mut allowed = BTreeSet::new();
        for from in Status::ALL {
            for transition in Transition::ALL {
                if let Some(to) = from.after(*transition) {
                    allowed.insert((from.to_string(), transition.to_string(), to.to_string()));
                }
            }
        }
        assert_eq!(documented, allowed);
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
