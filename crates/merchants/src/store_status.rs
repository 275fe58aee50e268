//! Who may set which status of a store.

use crate::{Store, StoreError, StoreStatus};

/// Who decides about the status of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decider {
    Owner,
    Operator,
}

/// What the owners and the operators decided about a store. Neither undoes the decision of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decisions {
    pub(crate) owner: StoreStatus,
    pub(crate) operator: StoreStatus,
}

impl Decisions {
    pub(crate) fn of(store: &Store) -> Self {
        let operator = if store.status_by_owner { StoreStatus::Open } else { store.status };
        Self { owner: store.owner_status, operator }
    }

    /// Returns the status of the store: the operator's decision, or the owner's if that is `open`.
    pub(crate) fn status(self) -> StoreStatus {
        if self.operator == StoreStatus::Open { self.owner } else { self.operator }
    }

    /// Whether the store is paused or closed by an owner alone.
    pub(crate) fn is_by_owner(self) -> bool {
        self.operator == StoreStatus::Open && self.owner != StoreStatus::Open
    }

    /// Returns the decisions after another one. An owner decides nothing while an operator's decision is in force, and does
    /// not suspend.
    pub(crate) fn decide(self, by: Decider, status: StoreStatus) -> Result<Self, StoreError> {
        match (by, self.operator, status) {
            (Decider::Operator, _, operator) => Ok(Self { operator, ..self }),
            (Decider::Owner, StoreStatus::Open, StoreStatus::Suspended) => {
                Err(StoreError::StatusOfOperator)
            }
            (Decider::Owner, StoreStatus::Open, owner) => Ok(Self { owner, ..self }),
            (Decider::Owner, _, _) => Err(StoreError::StatusOfOperator),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use StoreStatus::{Closed, Open, Paused, Suspended};

    #[test]
    fn decisions_follow_the_table() {
        // Owner, operator; who decides what; status afterwards, or `None` if it is refused.
        for (owner, operator, by, decided, status) in [
            (Open, Open, Decider::Owner, Paused, Some(Paused)),
            (Open, Open, Decider::Owner, Suspended, None),
            (Paused, Open, Decider::Owner, Closed, Some(Closed)),
            (Paused, Open, Decider::Owner, Open, Some(Open)),
            (Open, Suspended, Decider::Owner, Open, None),
            (Paused, Suspended, Decider::Owner, Open, None),
            (Paused, Paused, Decider::Owner, Open, None),
            (Open, Open, Decider::Operator, Suspended, Some(Suspended)),
            (Paused, Open, Decider::Operator, Suspended, Some(Suspended)),
            (Paused, Suspended, Decider::Operator, Open, Some(Paused)),
            (Closed, Paused, Decider::Operator, Open, Some(Closed)),
            (Paused, Open, Decider::Operator, Open, Some(Paused)),
            (Open, Suspended, Decider::Operator, Open, Some(Open)),
        ] {
            let before = Decisions { owner, operator };
            let after = before.decide(by, decided).ok().map(Decisions::status);
            assert_eq!(after, status, "{before:?} {by:?} {decided}");
        }
    }
}
