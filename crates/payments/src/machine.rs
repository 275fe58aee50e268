//! The state machine of a payment attempt. Every change of a status follows this table, and the diagram in the documentation is
//! generated from it.

use PaymentStatus::{Begun, Declined, Expired, Open, Paid, Processing};

primitives::text_enum! {
    /// Status of a payment attempt.
    #[strum(serialize_all = "snake_case")]
    pub enum PaymentStatus {
        /// The provider was asked, or will be, and has not answered.
        Begun,
        /// The buyer can pay on the provider's page.
        Open,
        /// The buyer has done everything, and the outcome is not known yet.
        Processing,
        /// Money was taken.
        Paid,
        /// The provider refused to charge the buyer.
        Declined,
        /// The attempt was closed before the buyer paid.
        Expired,
    }
}

primitives::text_enum! {
    /// A transition of a payment attempt. The name is its label in the state diagram.
    pub enum PaymentTransition {
        #[strum(serialize = "page opened")]
        Open,
        #[strum(serialize = "buyer done, or money about to be taken")]
        Process,
        #[strum(serialize = "money taken")]
        Pay,
        #[strum(serialize = "declined")]
        Decline,
        #[strum(serialize = "closed without payment")]
        Expire,
        /// The provider took money for an attempt that had ended, and an order was placed for it.
        #[strum(serialize = "money taken late")]
        PayLate,
    }
}

/// All transitions: status before, transition, status after. An attempt whose money is about to be taken cannot be closed.
pub const PAYMENT_TRANSITIONS: &[(PaymentStatus, PaymentTransition, PaymentStatus)] = &[
    (Begun, PaymentTransition::Open, Open),
    (Begun, PaymentTransition::Process, Processing),
    (Open, PaymentTransition::Process, Processing),
    (Begun, PaymentTransition::Pay, Paid),
    (Open, PaymentTransition::Pay, Paid),
    (Processing, PaymentTransition::Pay, Paid),
    (Begun, PaymentTransition::Decline, Declined),
    (Open, PaymentTransition::Decline, Declined),
    (Processing, PaymentTransition::Decline, Declined),
    (Begun, PaymentTransition::Expire, Expired),
    (Open, PaymentTransition::Expire, Expired),
    (Declined, PaymentTransition::PayLate, Paid),
    (Expired, PaymentTransition::PayLate, Paid),
];

impl PaymentStatus {
    /// Returns the status after a transition, or `None` if the transition is not allowed.
    #[must_use]
    pub fn after(self, transition: PaymentTransition) -> Option<Self> {
        let is_match =
            |(from, by, _): &&(Self, PaymentTransition, Self)| (*from, *by) == (self, transition);
        PAYMENT_TRANSITIONS.iter().find(is_match).map(|(.., to)| *to)
    }

    /// Returns whether the outcome is not known yet.
    #[must_use]
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Begun | Self::Open | Self::Processing)
    }
}

impl PaymentTransition {
    /// Returns the names of the statuses in which the transition is allowed.
    pub(crate) fn sources(self) -> Vec<String> {
        let allowed = PAYMENT_TRANSITIONS.iter().filter(|(_, by, _)| *by == self);
        allowed.map(|(from, ..)| from.as_str().to_owned()).collect()
    }

    /// Returns the status that the transition leads to.
    pub(crate) fn target(self) -> PaymentStatus {
        match self {
            Self::Open => Open,
            Self::Process => Processing,
            Self::Pay | Self::PayLate => Paid,
            Self::Decline => Declined,
            Self::Expire => Expired,
        }
    }
}

/// Returns the state machine as a Mermaid diagram, for the documentation.
#[must_use]
pub fn payment_state_diagram() -> String {
    let mut lines = vec![String::from("stateDiagram-v2"), format!("    [*] --> {Begun}: pay")];
    for (from, transition, to) in PAYMENT_TRANSITIONS {
        lines.push(format!("    {from} --> {to}: {transition}"));
    }
    lines.push(format!("    {Paid} --> [*]"));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_leads_to_one_status() {
        for (_, transition, to) in PAYMENT_TRANSITIONS {
            assert_eq!(transition.target(), *to, "{transition}");
        }
    }

    #[test]
    fn paid_is_for_ever_and_an_ended_attempt_changes_only_by_money() {
        for transition in PaymentTransition::ALL {
            assert_eq!(Paid.after(*transition), None);
            for ended in [Declined, Expired] {
                assert!(matches!(ended.after(*transition), None | Some(Paid)));
            }
        }
    }

    #[test]
    fn money_that_is_being_taken_is_not_given_up() {
        assert_eq!(Processing.after(PaymentTransition::Expire), None);
        let pending = PaymentStatus::ALL.iter().filter(|status| status.is_pending());
        // The indexes `payment_of_session` and `payment_pending` name the statuses as literals.
        assert_eq!(pending.copied().collect::<Vec<_>>(), [Begun, Open, Processing]);
    }
}
