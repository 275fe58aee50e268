//! A verb: opening a dispute.

use std::time::Duration;

use merchants::NoticeKind;
use primitives::{OrderId, Timestamp};
use serde_json::json;
use webhooks::OrderChange;

use crate::change::{Change, Changed, Opened};
use crate::statement::CheckedStatement;
use crate::{
    ActorKind, Dispute, DisputeReason, DisputeStatus, HistoryKind, Order, OrderContext,
    OrderDetails, OrderError,
};

/// The time in which the merchant answers.
const RESPONSE_TIME: Duration = Duration::from_hours(7 * 24);
/// The time after delivery in which a dispute can be opened; after the placement if the order was not delivered.
const OPENING_TIME: Duration = Duration::from_hours(120 * 24);
/// Most disputes that each of agent and buyer opens about one order, one after the other: neither can use up those of the
/// other.
const DISPUTES_MAX: usize = 5;

/// A dispute that is to be opened. The text is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDispute {
    pub reason: DisputeReason,
    pub statement: String,
    /// https URLs; they are stored and never requested.
    pub evidence: Vec<String>,
}

/// Opens a dispute about an order in any status, for the agent or the buyer, and posts a notice to the merchant. An order has
/// one open dispute at a time.
pub async fn open_dispute(
    context: &OrderContext<'_>,
    id: OrderId,
    dispute: NewDispute,
) -> Result<Changed, OrderError> {
    context.actor.kind.check_buyer_side()?;
    let written = CheckedStatement::new("statement", &dispute.statement, &dispute.evidence)?;
    let mut change = match Change::open(context, id, None).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let now = change.now();
    let earlier = change.disputes().await?;
    check_possible(&change.order, &earlier, context.actor.kind, now)?;
    let mut dispute = Dispute {
        id: change.work.new_id(),
        status: DisputeStatus::Open,
        reason: dispute.reason,
        opened_by: context.actor.kind,
        respond_by: now.plus(RESPONSE_TIME),
        decide_by: None,
        reminded_at: None,
        answered_at: None,
        proposed_minor: None,
        resolution: None,
        refund_minor: None,
        statement_count: 0,
        statements: Vec::new(),
        opened_at: now,
        updated_at: now,
        resolved_at: None,
    };
    change.put_dispute(&dispute).await?;
    change.add_statement(&mut dispute, written).await?;
    let reason = Some(dispute.reason.as_str());
    let payload = dispute.payload(change.order.currency());
    let details = json!({ "dispute_id": dispute.id });
    change.record(HistoryKind::DisputeOpened, reason, details).await?;
    change.publish(reason, OrderChange::DisputeOpened(payload)).await?;
    change.notify(NoticeKind::DisputeOpened, dispute.deadline_details(id)).await?;
    change.finish(Some(dispute.id.to_string())).await
}

/// Returns whether this actor, the agent or the buyer, can open a dispute about an order at `now`, the time of the database.
pub(crate) fn dispute_possible(details: &OrderDetails, actor: ActorKind, now: Timestamp) -> bool {
    check_possible(&details.order, &details.disputes, actor, now).is_ok()
}

fn check_possible(
    order: &Order,
    earlier: &[Dispute],
    actor: ActorKind,
    now: Timestamp,
) -> Result<(), OrderError> {
    // The order is locked, so that no other one is opened until this one is stored.
    if let Some(open) = earlier.iter().find(|it| it.status.is_open()) {
        return Err(OrderError::DisputeAlreadyOpen { id: open.id, from: open.status_at(now) });
    }
    if earlier.iter().filter(|it| it.opened_by == actor).count() >= DISPUTES_MAX {
        let allowed = "an order about which you opened fewer than 5 disputes";
        return Err(OrderError::invalid("order_id", allowed));
    }
    let since = order.delivered_at.unwrap_or(order.created_at);
    if now >= since.plus(OPENING_TIME) {
        let allowed = "an order within 120 days of its delivery or, if it was not delivered, of its placement";
        return Err(OrderError::invalid("order_id", allowed));
    }
    Ok(())
}
