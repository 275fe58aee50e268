//! Verbs: the ends of a dispute. A decision, an agreement, or a withdrawal.

use merchants::NoticeKind;
use primitives::{DisputeId, Money, OrderId};
use serde_json::json;
use webhooks::OrderChange;

use crate::answer_dispute::PROPOSED_REFUND;
use crate::change::{Change, Changed, Opened};
use crate::dispute_change::{check_buyer_side, ended};
use crate::money::{check_refundable, refund_amount};
use crate::statement::Written;
use crate::{ActorKind, Dispute, DisputeStatus, OrderContext, OrderError, Resolution};

/// The name of the refund in the request.
const REFUND: &str = "refund";

/// The decision of an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// `Buyer` or `Merchant`.
    pub resolution: Resolution,
    /// The refund that the merchant has to make; `None` for the merchant.
    pub refund: Option<Money>,
    /// The grounds, as both parties read them.
    pub reason: String,
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
            return Err(OrderError::invalid(REFUND, "none if the resolution is merchant"));
        }
        _ => {}
    }
    let written = Written::new("reason", &decision.reason, &[])?;
    let mut change = match Change::open(context, order, None).await? {
        Opened::Fresh(change) => change,
        replay @ Opened::Replay(_) => return Ok(replay),
    };
    let mut dispute = change.dispute(id).await?;
    let status = dispute.status_at(change.now());
    if status != DisputeStatus::UnderReview {
        return Err(ended(status));
    }
    let refund = decision.refund.map(|refund| refund_amount(&change.order, REFUND, refund));
    let refund = refund.transpose()?;
    change.add_statement(&mut dispute, written).await?;
    dispute.resolution = Some(decision.resolution);
    dispute.refund_minor = refund;
    end(&mut change, dispute).await?;
    Ok(Opened::Fresh(change))
}

/// Accepts the refund that the merchant proposed, for the agent or the buyer; only for the buyer if the buyer opened the
/// dispute. Returns `RefundExceeded` if other refunds left less than was proposed. No money moves: the merchant makes the
/// refund.
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
    dispute.check_owner(context.actor.kind)?;
    let Some(proposed) = dispute.proposed_minor else {
        let allowed = "a dispute in which the merchant proposed a refund";
        return Err(OrderError::invalid("dispute_id", allowed));
    };
    dispute.resolution = Some(Resolution::Agreement);
    dispute.refund_minor = Some(check_refundable(&change.order, PROPOSED_REFUND, proposed)?);
    end(&mut change, dispute).await?;
    change.finish(Some(id.to_string())).await
}

/// Withdraws an open dispute, for the agent or the buyer; only for the buyer if the buyer opened it.
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
    dispute.check_owner(context.actor.kind)?;
    end(&mut change, dispute).await?;
    change.finish(Some(id.to_string())).await
}

/// Ends a dispute: resolved if it has a resolution, otherwise withdrawn. Publishes the event, and posts a notice.
async fn end(change: &mut Change<'_>, mut dispute: Dispute) -> Result<(), OrderError> {
    let now = change.now();
    let is_resolved = dispute.resolution.is_some();
    dispute.status = if is_resolved { DisputeStatus::Resolved } else { DisputeStatus::Withdrawn };
    (dispute.resolved_at, dispute.updated_at) = (Some(now), now);
    change.put_dispute(&dispute).await?;
    change.record_dispute(&dispute, None).await?;
    let payload = dispute.payload(change.order.currency());
    let refund = payload.refund_amount;
    change.publish(None, OrderChange::DisputeResolved(payload)).await?;
    let resolution = dispute.resolution.map_or(dispute.status.as_str(), Resolution::as_str);
    let mut details = json!({
        "order_id": change.order.id, "dispute_id": dispute.id, "resolution": resolution,
    });
    if let Some(refund) = refund {
        details["refund_amount"] = json!(refund);
        details["currency"] = json!(change.order.currency().code());
    }
    change.notify(NoticeKind::DisputeResolved, details).await
}
