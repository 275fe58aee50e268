//! Verbs: the ends of a dispute. A decision, an agreement, or a withdrawal.

use merchants::NoticeKind;
use primitives::{DisputeId, Money, OrderId};
use serde_json::json;
use webhooks::OrderChange;

use crate::answer_dispute::PROPOSED_REFUND;
use crate::change::{Change, Changed, Opened};
use crate::dispute_change::ended;
use crate::money::{check_refundable, refund_amount};
use crate::statement::CheckedStatement;
use crate::{ActorKind, Dispute, DisputeStatus, Order, OrderContext, OrderError, Resolution};

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

/// Prepares the decision of a dispute that is under review. The caller finishes the change.
pub(crate) async fn prepare_decision<'call>(
    context: &'call OrderContext<'call>,
    order: OrderId,
    id: DisputeId,
    decision: Decision,
) -> Result<Opened<'call>, OrderError> {
    context.actor.kind.check_platform()?;
    match (decision.resolution, decision.refund) {
        (Resolution::Agreement, _) => {
            return Err(OrderError::invalid("resolution", "buyer or merchant"));
        }
        (Resolution::Merchant, Some(_)) => {
            return Err(OrderError::invalid(REFUND, "none if the resolution is merchant"));
        }
        _ => {}
    }
    let written = CheckedStatement::new("reason", &decision.reason, &[])?;
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
    context.actor.kind.check_buyer_side()?;
    let mut change = match Change::open(context, order, None).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let mut dispute = change.dispute(id).await?;
    let refund_minor = acceptable_minor(&change.order, &dispute, context.actor.kind)?;
    dispute.resolution = Some(Resolution::Agreement);
    dispute.refund_minor = Some(refund_minor);
    end(&mut change, dispute).await?;
    change.finish(Some(id.to_string())).await
}

/// Withdraws an open dispute, for the agent or the buyer; only for the buyer if the buyer opened it.
pub async fn withdraw_dispute(
    context: &OrderContext<'_>,
    order: OrderId,
    id: DisputeId,
) -> Result<Changed, OrderError> {
    context.actor.kind.check_buyer_side()?;
    let mut change = match Change::open(context, order, None).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let dispute = change.dispute(id).await?;
    check_withdrawable(&dispute, context.actor.kind)?;
    end(&mut change, dispute).await?;
    change.finish(Some(id.to_string())).await
}

/// Returns the refund of the proposal, or why this actor, the agent or the buyer, cannot accept it.
pub(crate) fn acceptable_minor(
    order: &Order,
    dispute: &Dispute,
    actor: ActorKind,
) -> Result<i64, OrderError> {
    check_withdrawable(dispute, actor)?;
    let Some(proposed) = dispute.proposed_minor else {
        let allowed = "a dispute in which the merchant proposed a refund";
        return Err(OrderError::invalid("dispute_id", allowed));
    };
    check_refundable(order, PROPOSED_REFUND, proposed)
}

/// Returns an error if this actor, the agent or the buyer, cannot withdraw the dispute.
pub(crate) fn check_withdrawable(dispute: &Dispute, actor: ActorKind) -> Result<(), OrderError> {
    dispute.check_open()?;
    dispute.check_owner(actor)
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
