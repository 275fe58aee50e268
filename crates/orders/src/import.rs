//! A verb: importing orders of the past, such as those of the demo data.

use std::collections::HashSet;

use database::Work;
use primitives::{MerchantId, OrderId};

use crate::{
    HistoryEntry, HistoryKind, INITIAL_STATUSES, OrderDetails, OrderError, OrderStatus, table,
};

/// Imports orders with their shipments, refunds, disputes and history, all as they are, and without an event: nobody acts on
/// what is long past. Orders that exist stay as they are. Returns are left out. Returns the number of new orders, or
/// `InvalidTransition` if a history does not follow the state machine.
pub async fn import(
    work: &mut Work,
    merchant: MerchantId,
    orders: &[OrderDetails],
) -> Result<usize, OrderError> {
    for details in orders {
        check(&details.history, details.order.status)?;
    }
    let inserted = table::import_orders(work, merchant, orders).await?;
    let inserted: HashSet<OrderId> = inserted.into_iter().collect();
    let new: Vec<&OrderDetails> =
        orders.iter().filter(|it| inserted.contains(&it.order.id)).collect();
    if !new.is_empty() {
        table::import_history(work, merchant, &new).await?;
        table::import_fulfillments(work, merchant, &new).await?;
        table::import_refunds(work, merchant, &new).await?;
        table::import_disputes(work, merchant, &new).await?;
        table::import_statements(work, merchant, &new).await?;
    }
    Ok(new.len())
}

/// Checks that a history leads from the status of a new order to that of the order, by transitions of the state machine.
fn check(history: &[HistoryEntry], end: OrderStatus) -> Result<(), OrderError> {
    let mut status = history.first().map_or(end, |first| first.previous_status);
    let is_initial = INITIAL_STATUSES.iter().any(|(initial, _)| *initial == status);
    let is_next = |from: OrderStatus, entry: &HistoryEntry| {
        let is_allowed = match entry.kind {
            HistoryKind::StatusChanged => from.successors().contains(&entry.status),
            _ => entry.status == from,
        };
        is_allowed && entry.previous_status == from
    };
    for entry in history {
        if !is_next(status, entry) {
            return Err(OrderError::InvalidTransition { from: status });
        }
        status = entry.status;
    }
    if is_initial && status == end {
        Ok(())
    } else {
        Err(OrderError::InvalidTransition { from: status })
    }
}

#[cfg(test)]
mod tests {
    use OrderStatus::{Canceled, Confirmed, Delivered, Pending, Shipped};
    use primitives::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::Actor;

    /// Returns a history of these kinds and statuses, from `pending` on.
    fn history(entries: &[(HistoryKind, OrderStatus)]) -> Vec<HistoryEntry> {
        let mut previous_status = Pending;
        let entry = |(sequence, (kind, status)): (i32, &(HistoryKind, OrderStatus))| {
            let entry = HistoryEntry {
                sequence,
                kind: *kind,
                previous_status,
                status: *status,
                actor: Actor::SYSTEM,
                reason: None,
                details: json!({}),
                occurred_at: Timestamp::from_unix_micros(0),
            };
            previous_status = *status;
            entry
        };
        (2..).zip(entries).map(entry).collect()
    }

    #[test]
    fn an_imported_history_follows_the_state_machine() {
        let (changed, updated) = (HistoryKind::StatusChanged, HistoryKind::Updated);
        let is_valid = |entries: &[(HistoryKind, OrderStatus)], end| {
            let checked = check(&history(entries), end);
            assert!(matches!(checked, Ok(()) | Err(OrderError::InvalidTransition { .. })));
            checked.is_ok()
        };
        assert!(is_valid(&[], Pending));
        let canceled = [(changed, Confirmed), (updated, Confirmed), (changed, Canceled)];
        assert!(is_valid(&canceled, Canceled));
        assert!(!is_valid(&canceled, Confirmed), "the order has another status");
        assert!(!is_valid(&[(changed, Delivered)], Delivered), "nothing was shipped");
        assert!(!is_valid(&[(changed, Pending)], Pending), "a change to the same status");
        assert!(!is_valid(&[(updated, Confirmed)], Confirmed), "no change");
        assert!(!is_valid(&[], Shipped), "no new order is shipped");
        let mut gap = history(&[(changed, Confirmed), (changed, Canceled)]);
        gap[1].previous_status = Pending;
        assert!(check(&gap, Canceled).is_err());
    }
}
