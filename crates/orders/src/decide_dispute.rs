//! Verbs: the ends of a dispute. A decision, an agreement, or a withdrawal.

use merchants::NoticeKind;
use primitives::{DisputeId, Money, OrderId};
use serde_json::json;
use webhooks::OrderChange;

use crate::change::{Change, Changed, Opened};
use crate::dispute_change::{check_buyer_side, check_refund, ended};
use crate::statement::Written;
use crate::{ActorKind, Dispute, DisputeStatus, OrderContext, OrderError, Resolution};

/// The decision of an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// `Buyer` or `Merchant`.
    pub resolution: Resolution,
    /// The refund that the merchant has to make; `None` for the merchant.
    pub refund: Option<Money>,
    /// The grounds, as both parties read them.
    pub note: String,
}

/// Decides a dispute that is under review, for an administrator. No money moves: the merchant makes the refund.
pub async fn decide_dispute(
    context: &OrderContext<'_>,
    order: OrderId,
    id: DisputeId,
    decision: Decision,
) -> Result<Changed, OrderError> {
    match prepare_decision(context, order, id, decision).await? {
        Opened::Fresh(change) => change.finish(Some(id.to_string())).await,
        Opened::Replay(changed) => Ok(*changed),
    }
}

/// Prepares the change, which the caller finishes.
pub(crate) async fn prepare_decision<'call>(
    context: &'call OrderContext<'call>,
    order: OrderId,
    id: DisputeId,
    decision: Decision,
) -> Result<Opened<'call>, OrderError> {
    if context.actor.kind != ActorKind::Platform {
        return Err(OrderError::invalid("actor", "an administrator"));
    }
    match (decision.resolution, decision.refund) {
        (Resolution::Agreement, _) => {
            return Err(OrderError::invalid("resolution", "buyer or merchant"));
        }
        (Resolution::Merchant, Some(_)) => {
            return Err(OrderError::invalid("refund", "none if the resolution is merchant"));
        }
        _ => {}
    }
    let written = Written::new("note", &decision.note, &[])?;
    let mut change = match Change::open(context, order, None).await? {
        Opened::Fresh(change) => change,
        replay @ Opened::Replay(_) => return Ok(replay),
    };
    let mut dispute = change.dispute(id).await?;
    let status = dispute.status_at(change.work.now());
    if status != DisputeStatus::UnderReview {
        return Err(ended(status));
    }
    let refund = decision.refund.map(|refund| check_refund(&change.order, refund)).transpose()?;
    change.add_statement(&mut dispute, written).await?;
    dispute.resolution = Some(decision.resolution);
    dispute.refund_minor = refund;
    end(&mut change, dispute).await?;
    Ok(Opened::Fresh(change))
}

/// Accepts the refund that the merchant proposed, for the agent or the buyer. No money moves: the merchant makes the refund.
pub async fn accept_proposal(
    context: &OrderContext<'_>,
    order: OrderId,
    id: DisputeId,
) -> Result<Changed, OrderError> {
    check_buyer_side(context.actor.kind)?;
    let mut change = match Change::open(context, order, None).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let mut dispute = change.dispute(id).await?;
    dispute.check_open()?;
    let Some(proposed) = dispute.proposed_minor else {
        let allowed = "a dispute in which the merchant proposed a refund";
        return Err(OrderError::invalid("dispute_id", allowed));
    };
    dispute.resolution = Some(Resolution::Agreement);
    dispute.refund_minor = Some(proposed);
    end(&mut change, dispute).await?;
    change.finish(Some(id.to_string())).await
}

/// Withdraws an open dispute, for the agent or the buyer.
pub async fn withdraw_dispute(
    context: &OrderContext<'_>,
    order: OrderId,
    id: DisputeId,
) -> Result<Changed, OrderError> {
    check_buyer_side(context.actor.kind)?;
    let mut change = match Change::open(context, order, None).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let dispute = change.dispute(id).await?;
    dispute.check_open()?;
    end(&mut change, dispute).await?;
    change.finish(Some(id.to_string())).await
}

/// Ends a dispute: resolved if it has a resolution, otherwise withdrawn. Publishes the event, and posts a notice.
async fn end(change: &mut Change<'_>, mut dispute: Dispute) -> Result<(), OrderError> {
    let now = change.work.now();
    let is_resolved = dispute.resolution.is_some();
    dispute.status = if is_resolved { DisputeStatus::Resolved } else { DisputeStatus::Withdrawn };
    (dispute.resolved_at, dispute.updated_at) = (Some(now), now);
    change.put_dispute(&dispute).await?;
    change.record_dispute(&dispute, None).await?;
    change.publish(None, OrderChange::DisputeResolved(dispute.payload())).await?;
    let resolution = dispute.resolution.map_or(dispute.status.as_str(), Resolution::as_str);
    let details = json!({
        "order_id": change.order.id, "dispute_id": dispute.id, "resolution": resolution,
    });
    change.notify(NoticeKind::DisputeResolved, details).await
}
