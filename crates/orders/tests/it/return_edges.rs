//! The state machine of returns: the verb reaches every edge and no other.

use orders::{
    DeclineReason, HistoryKind, Order, OrderError, RETURN_TRANSITIONS, ReturnAction,
    ReturnCondition, ReturnOutcome, ReturnStatus,
};
use primitives::{LineId, ReturnId};
use serde_json::json;

use crate::desk::{Desk, item, priced, settle};

/// All actions, with a name for messages.
pub(crate) fn actions(line: LineId) -> [(&'static str, ReturnAction); 9] {
    let reason = DeclineReason::Damaged;
    [
        (
            "approve",
            ReturnAction::Approve { instructions: Some(String::from("Ring <b>twice</b>")) },
        ),
        ("decline", ReturnAction::Decline { reason }),
        (
            "mark in transit",
            ReturnAction::MarkInTransit {
                carrier: Some(String::from(" Post ")),
                tracking_number: Some(String::from("T-1")),
            },
        ),
        ("receive", ReturnAction::Receive),
        ("inspect", ReturnAction::Inspect { conditions: vec![(line, ReturnCondition::Opened)] }),
        ("settle", settle(None, None)),
        ("reject", ReturnAction::Reject { reason }),
        ("close", ReturnAction::Close),
        ("cancel", ReturnAction::Cancel),
    ]
}

/// The statuses through which an action leads, by hand and not by the table of the machine. Empty if it is refused.
fn path(from: ReturnStatus, action: &str, is_exchange: bool) -> Vec<ReturnStatus> {
    use ReturnStatus::{
        Approved, Canceled, Closed, Declined, Exchanged, InTransit, Inspected, Received, Refunded,
        Rejected, Requested,
    };
    let settled = if is_exchange { Exchanged } else { Refunded };
    match (from, action) {
        (Requested, "approve") => vec![Approved],
        (Requested, "decline") => vec![Declined],
        (Requested | Approved, "cancel") => vec![Canceled],
        (Approved, "mark in transit") => vec![InTransit],
        (Approved, "receive") => vec![InTransit, Received],
        (InTransit, "receive") => vec![Received],
        (Received, "inspect") => vec![Inspected],
        (Received, "settle") => vec![Inspected, settled],
        (Inspected, "settle") => vec![settled],
        (Received, "reject") => vec![Inspected, Rejected],
        (Inspected, "reject") => vec![Rejected],
        (Refunded | Exchanged | Rejected, "close") => vec![Closed],
        _ => Vec::new(),
    }
}

/// The actions that lead to a status.
fn steps(to: ReturnStatus) -> &'static [&'static str] {
    match to {
        ReturnStatus::Requested => &[],
        ReturnStatus::Approved => &["approve"],
        ReturnStatus::Declined => &["decline"],
        ReturnStatus::InTransit => &["approve", "mark in transit"],
        ReturnStatus::Received => &["approve", "mark in transit", "receive"],
        ReturnStatus::Inspected => &["approve", "receive", "inspect"],
        ReturnStatus::Refunded | ReturnStatus::Exchanged => &["approve", "receive", "settle"],
        ReturnStatus::Rejected => &["approve", "receive", "inspect", "reject"],
        ReturnStatus::Closed => &["approve", "receive", "settle", "close"],
        ReturnStatus::Canceled => &["cancel"],
    }
}

impl Desk {
    /// Brings a return of a new order to a status.
    pub(crate) async fn return_in(&self, number: u128, status: ReturnStatus) -> (Order, ReturnId) {
        let order = priced(number);
        self.deliver(&order).await;
        let outcome = match status {
            ReturnStatus::Exchanged => ReturnOutcome::Exchange,
            _ => ReturnOutcome::Refund,
        };
        let items = vec![item(order.lines[0].line, 1)];
        let id = self.request(&order, items, outcome).await.unwrap();
        let actions = actions(order.lines[0].line);
        for step in steps(status) {
            let (_, action) = actions.iter().find(|(name, _)| name == step).unwrap();
            self.change(&order, id, action.clone()).await.unwrap();
        }
        assert_eq!(self.only_return(order.id).await.status, status);
        (order, id)
    }
}

#[tokio::test]
async fn the_verb_reaches_every_edge_of_the_machine_and_no_other() {
    let desk = Desk::open().await;
    let (mut number, mut edges) = (0, Vec::new());
    for from in ReturnStatus::ALL.iter().copied() {
        number += 1;
        let (order, id) = desk.return_in(number, from).await;
        let before = desk.details(order.id).await;
        let mut allowed = Vec::new();
        for (name, action) in actions(order.lines[0].line) {
            let path = path(from, name, from == ReturnStatus::Exchanged);
            if !path.is_empty() {
                allowed.push((name, path));
                continue;
            }
            let refused = desk.change(&order, id, action).await;
            let Err(OrderError::InvalidReturnTransition { from: named }) = refused else {
                panic!("{from} {name}: {refused:?}")
            };
            assert_eq!(named, from);
        }
        assert_eq!(desk.details(order.id).await, before, "{from}");
        for (name, path) in allowed {
            number += 1;
            let (order, id) = desk.return_in(number, from).await;
            edges.extend(desk.follow(&order, id, name, from, &path).await);
        }
    }
    // An exchange is settled from the same statuses as a refund.
    edges.push((ReturnStatus::Inspected, ReturnStatus::Exchanged));
    edges.sort();
    edges.dedup();
    let mut documented: Vec<_> =
        RETURN_TRANSITIONS.iter().map(|(from, _, to)| (*from, *to)).collect();
    documented.sort();
    assert_eq!(edges, documented);
}

impl Desk {
    /// Acts on a return, asserts that each transition has one entry and one event, and returns the edges.
    async fn follow(
        &self,
        order: &Order,
        id: ReturnId,
        name: &str,
        from: ReturnStatus,
        path: &[ReturnStatus],
    ) -> Vec<(ReturnStatus, ReturnStatus)> {
        let (before, events) = (self.details(order.id).await, self.events("return.updated").await);
        let actions = actions(order.lines[0].line);
        let (_, action) = actions.into_iter().find(|(it, _)| *it == name).unwrap();
        let changed = self.change(order, id, action).await.unwrap();
        assert_eq!(changed.subject, Some(id.to_string()));
        assert_eq!(changed.details.returns[0].status, *path.last().unwrap());
        let new = &changed.details.history[before.history.len()..];
        let named = |entry: &&orders::HistoryEntry| entry.kind == HistoryKind::ReturnChanged;
        let entries: Vec<_> = new.iter().filter(named).collect();
        let published: Vec<_> = self
            .events("return.updated")
            .await
            .into_iter()
            .filter(|event| !events.contains(event))
            .collect();
        assert_eq!((entries.len(), published.len()), (path.len(), path.len()), "{from} {name}");
        let mut edges = Vec::new();
        let mut previous = from;
        for (to, (entry, event)) in path.iter().zip(entries.iter().zip(&published)) {
            assert_eq!(entry.details["return_id"], json!(id));
            assert_eq!(entry.details["return_status"], json!(to));
            assert_eq!(entry.details["previous_return_status"], json!(previous));
            assert_eq!(
                (&event["returnStatus"], &event["sequence"]),
                (&json!(to), &json!(entry.sequence))
            );
            assert_eq!(event["previousReturnStatus"], json!(previous));
            assert_eq!(event["reason"], json!(entry.reason));
            edges.push((previous, *to));
            previous = *to;
        }
        edges
    }
}
