//! A verb: adding a statement to a dispute. The merchant's first one is the answer.

use primitives::{DisputeId, Money, OrderId, Timestamp};
use serde_json::json;

use crate::change::{Change, Changed, Opened};
use crate::dispute_change::ended;
use crate::money::{refund_amount, refundable_minor};
use crate::statement::CheckedStatement;
use crate::{ActorKind, Dispute, HistoryKind, Order, OrderContext, OrderError, table};

/// Statements of each actor: the agent, the buyer, the merchant, the platform. None can use up those of another, and the
/// decision is one more.
const STATEMENTS_MAX: usize = 33;

/// The name of the proposal in the request and in the record.
pub(crate) const PROPOSED_REFUND: &str = "proposed_refund";

/// A statement that is to be added. The text is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStatement {
    pub text: String,
    /// https URLs; they are stored and never requested.
    pub evidence: Vec<String>,
    /// Only of the merchant: the refund that would settle the dispute. It replaces a lower one, and one that exceeds what is
    /// left of the payment.
    pub proposed_refund: Option<Money>,
}

/// Adds a statement to an open dispute. With the merchant's first one the dispute is under review. A merchant that did not
/// answer in time cannot any more.
pub async fn answer_dispute(
    context: &OrderContext<'_>,
    order: OrderId,
    id: DisputeId,
    statement: NewStatement,
) -> Result<Changed, OrderError> {
    let actor = context.actor.kind;
    if actor == ActorKind::System {
        return Err(OrderError::invalid("actor", "a party or an administrator"));
    }
    if statement.proposed_refund.is_some() && actor != ActorKind::Merchant {
        return Err(OrderError::invalid(PROPOSED_REFUND, "only the merchant proposes a refund"));
    }
    let written = CheckedStatement::new("statement", &statement.text, &statement.evidence)?;
    let mut change = match Change::open(context, order, None).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let now = change.now();
    let mut dispute = change.dispute(id).await?;
    let earlier = table::count_statements(&mut change.work, context.merchant, (order, id), actor);
    check_possible(&dispute, actor, earlier.await?, now)?;
    if let Some(refund) = statement.proposed_refund {
        dispute.proposed_minor = Some(proposal(&change.order, &dispute, refund)?);
    }
    change.add_statement(&mut dispute, written).await?;
    change.record(HistoryKind::DisputeAnswered, None, json!({ "dispute_id": id })).await?;
    if actor == ActorKind::Merchant && dispute.answered_at.is_none() {
        dispute.answered_at = Some(now);
        dispute.review(now);
        change.record_dispute(&dispute, Some("answered")).await?;
    }
    change.put_dispute(&dispute).await?;
    change.finish(Some(id.to_string())).await
}

/// Returns an error if a statement of this actor, who made this many before, cannot be added to the dispute at `now`.
pub(crate) fn check_possible(
    dispute: &Dispute,
    actor: ActorKind,
    earlier: usize,
    now: Timestamp,
) -> Result<(), OrderError> {
    dispute.check_open()?;
    let is_late = dispute.answered_at.is_none() && now >= dispute.respond_by;
    if actor == ActorKind::Merchant && is_late {
        return Err(ended(dispute.status_at(now)));
    }
    if earlier >= STATEMENTS_MAX {
        let allowed = "at most 33 statements of each: the agent, the buyer, the merchant";
        return Err(OrderError::invalid("statement", allowed));
    }
    Ok(())
}

/// Checks a proposed refund. It is not below an earlier proposal, so that whoever accepts one gets at least what they read,
/// unless it is everything that other refunds left.
fn proposal(order: &Order, dispute: &Dispute, refund: Money) -> Result<i64, OrderError> {
    let minor = refund_amount(order, PROPOSED_REFUND, refund)?;
    let lowest = dispute.proposed_minor.map(|earlier| earlier.min(refundable_minor(order)));
    if lowest.is_some_and(|lowest| minor < lowest) {
        return Err(OrderError::invalid(PROPOSED_REFUND, "not below the earlier proposal"));
    }
    Ok(minor)
}
