//! The machine of a checkout session: which step leads from which state to which. Everything that moves a session asks here,
//! and the picture in the documentation is drawn from it.

use Status::{
    Canceled, CompleteInProgress, Completed, Expired, Incomplete, ReadyForComplete,
    RequiresEscalation,
};

/// Where a session stands (decisions §8; UCP's states, and `expired`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// Something is missing.
    Incomplete,
    /// Nothing is missing.
    ReadyForComplete,
    /// A person has to pay on the merchant's page. The units are held.
    RequiresEscalation,
    /// A payment is under way.
    CompleteInProgress,
    /// It became an order.
    Completed,
    /// It was called off.
    Canceled,
    /// Nobody paid in time.
    Expired,
}

/// What can happen to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// What was missing is there.
    Fill,
    /// Something is missing again.
    Empty,
    /// Its agent asked to complete it: a person has to pay.
    Escalate,
    /// A payment began.
    Pay,
    /// The payment came.
    Paid,
    /// The payment was refused.
    Decline,
    /// Its agent or its buyer called it off.
    Cancel,
    /// Its time is over.
    Expire,
}

/// Every step there is, as from, step and to.
pub const STEPS: &[(Status, Step, Status)] = &[
    (Incomplete, Step::Fill, ReadyForComplete),
    (ReadyForComplete, Step::Empty, Incomplete),
    (RequiresEscalation, Step::Empty, Incomplete),
    (Incomplete, Step::Escalate, RequiresEscalation),
    (ReadyForComplete, Step::Escalate, RequiresEscalation),
    (ReadyForComplete, Step::Pay, CompleteInProgress),
    (RequiresEscalation, Step::Pay, CompleteInProgress),
    (CompleteInProgress, Step::Paid, Completed),
    (CompleteInProgress, Step::Decline, ReadyForComplete),
    (Incomplete, Step::Cancel, Canceled),
    (ReadyForComplete, Step::Cancel, Canceled),
    (RequiresEscalation, Step::Cancel, Canceled),
    (Incomplete, Step::Expire, Expired),
    (ReadyForComplete, Step::Expire, Expired),
    (RequiresEscalation, Step::Expire, Expired),
];

impl Status {
    /// All of them with their names, as on the wire and in PostgreSQL.
    pub const ALL: [(Self, &'static str); 7] = [
        (Incomplete, "incomplete"),
        (ReadyForComplete, "ready_for_complete"),
        (RequiresEscalation, "requires_escalation"),
        (CompleteInProgress, "complete_in_progress"),
        (Completed, "completed"),
        (Canceled, "canceled"),
        (Expired, "expired"),
    ];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("incomplete", |(_, name)| name)
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(status, _)| *status)
    }

    /// Where a step leads; none if there is no such step from here.
    #[must_use]
    pub fn after(self, step: Step) -> Option<Self> {
        STEPS.iter().find(|(from, by, _)| (*from, *by) == (self, step)).map(|(.., to)| *to)
    }

    /// Whether nothing can happen to it any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        !STEPS.iter().any(|(from, ..)| *from == self)
    }
}

impl Step {
    /// All of them, with what they are called in the picture.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Fill, "all data there"),
        (Self::Empty, "data, price or stock changed"),
        (Self::Escalate, "complete_checkout"),
        (Self::Pay, "payment begins"),
        (Self::Paid, "paid: order"),
        (Self::Decline, "payment declined"),
        (Self::Cancel, "cancel"),
        (Self::Expire, "30 minutes over"),
    ];

    /// What it is called in the picture.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(step, _)| *step == self).map_or("", |(_, name)| name)
    }
}

/// The machine as a picture, for the documentation (Mermaid).
#[must_use]
pub fn picture() -> String {
    let mut lines = vec![String::from("stateDiagram-v2")];
    lines.push(format!("    [*] --> {}: create_checkout", Incomplete.name()));
    lines.push(format!("    [*] --> {}: create_checkout", ReadyForComplete.name()));
    lines.push(format!("    [*] --> {}: complete_checkout", RequiresEscalation.name()));
    for (from, step, to) in STEPS {
        lines.push(format!("    {} --> {}: {}", from.name(), to.name(), step.name()));
    }
    for (status, name) in Status::ALL {
        if status.is_final() {
            lines.push(format!("    {name} --> [*]"));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The table of decisions §8, written out once more and by another hand than the code's.
    const DOCUMENTED: &str = "
        incomplete            > ready_for_complete   : all data there
        ready_for_complete    > incomplete           : data, price or stock changed
        requires_escalation   > incomplete           : data, price or stock changed
        incomplete            > requires_escalation  : complete_checkout
        ready_for_complete    > requires_escalation  : complete_checkout
        ready_for_complete    > complete_in_progress : payment begins
        requires_escalation   > complete_in_progress : payment begins
        complete_in_progress  > completed            : paid: order
        complete_in_progress  > ready_for_complete   : payment declined
        incomplete            > canceled             : cancel
        ready_for_complete    > canceled             : cancel
        requires_escalation   > canceled             : cancel
        incomplete            > expired              : 30 minutes over
        ready_for_complete    > expired              : 30 minutes over
        requires_escalation   > expired              : 30 minutes over";

    #[test]
    fn the_machine_takes_exactly_the_documented_steps() {
        let documented: BTreeSet<(String, String, String)> = DOCUMENTED
            .lines()
            .filter_map(|line| {
                let (from, rest) = line.trim().split_once('>')?;
                let (to, step) = rest.split_once(" : ")?;
                Some((from.trim().to_owned(), step.trim().to_owned(), to.trim().to_owned()))
            })
            .collect();
        let mut taken = BTreeSet::new();
        for (from, _) in Status::ALL {
            for (step, _) in Step::ALL {
                if let Some(to) = from.after(step) {
                    taken.insert([from.name(), step.name(), to.name()].map(str::to_owned));
                }
            }
        }
        let taken = taken.into_iter().map(|[from, step, to]| (from, step, to)).collect();
        assert_eq!(documented, taken);
    }

    proptest! {
        #[test]
        fn whatever_happens_an_end_is_an_end(steps in proptest::collection::vec(0..Step::ALL.len(), 0..30)) {
            let (mut status, mut paid) = (Incomplete, 0);
            for step in steps {
                let step = Step::ALL[step].0;
                let was_final = status.is_final();
                if let Some(next) = status.after(step) {
                    prop_assert!(!was_final);
                    paid += usize::from(next == Completed);
                    status = next;
                }
            }
            prop_assert!(paid <= 1);
        }
    }
}
