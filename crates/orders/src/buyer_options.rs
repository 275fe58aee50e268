//! A verb: what the buyer can do about an order now. The rules are those of the verbs that do it.

use database::Reading;
use primitives::{DisputeId, MerchantId, OrderId, ReturnId, Timestamp};

use crate::answer_dispute::check_possible;
use crate::cancel::can_cancel;
use crate::decide_dispute::{acceptable_minor, check_withdrawable};
use crate::eligibility::return_eligibility;
use crate::open_dispute::dispute_possible;
use crate::update_order::can_change_destination;
use crate::{
    ActorKind, Dispute, OrderDetails, OrderError, OrderReturn, ReturnEligibility, ReturnTransition,
    table,
};

/// What the buyer can do about an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuyerOptions {
    pub can_cancel: bool,
    /// Within the approved country and region.
    pub can_change_destination: bool,
    pub can_open_dispute: bool,
    /// Disputes to which the buyer can add a statement.
    pub answerable_disputes: Vec<DisputeId>,
    /// Disputes whose proposal the buyer can accept: they are open, and that much is left of the payment.
    pub acceptable_disputes: Vec<DisputeId>,
    /// Disputes that the buyer can withdraw.
    pub withdrawable_disputes: Vec<DisputeId>,
    /// Returns that the buyer can cancel.
    pub cancelable_returns: Vec<ReturnId>,
    /// Which items can be returned, and whether the buyer can request a further return.
    pub eligibility: ReturnEligibility,
}

impl BuyerOptions {
    /// Returns what the buyer can do at `now`, the time of the database. The disputes have their statements.
    #[must_use]
    pub fn of(details: &OrderDetails, now: Timestamp) -> Self {
        let is_answerable = |it: &&Dispute| {
            let actor = ActorKind::Buyer;
            let earlier = it.statements.iter().filter(|it| it.actor == actor).count();
            check_possible(it, actor, earlier, now).is_ok()
        };
        let is_cancelable = |it: &&OrderReturn| it.status.after(ReturnTransition::Cancel).is_some();
        let is_acceptable =
            |it: &&Dispute| acceptable_minor(&details.order, it, ActorKind::Buyer).is_ok();
        let is_withdrawable = |it: &&Dispute| check_withdrawable(it, ActorKind::Buyer).is_ok();
        let answerable = details.disputes.iter().filter(is_answerable);
        let acceptable = details.disputes.iter().filter(is_acceptable);
        let withdrawable = details.disputes.iter().filter(is_withdrawable);
        let cancelable = details.returns.iter().filter(is_cancelable);
        Self {
            can_cancel: can_cancel(details.order.status, true),
            can_change_destination: can_change_destination(&details.order),
            can_open_dispute: dispute_possible(details, ActorKind::Buyer, now),
            answerable_disputes: answerable.map(|it| it.id).collect(),
            acceptable_disputes: acceptable.map(|it| it.id).collect(),
            withdrawable_disputes: withdrawable.map(|it| it.id).collect(),
            cancelable_returns: cancelable.map(|it| it.id).collect(),
            eligibility: return_eligibility(details, ActorKind::Buyer, now),
        }
    }
}

/// Returns an order with the statements of its disputes, and what the buyer can do about it now. For whoever has the link to the
/// order's page.
pub async fn buyer_options(
    reading: &Reading,
    merchant: MerchantId,
    id: OrderId,
) -> Result<(OrderDetails, BuyerOptions), OrderError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            let found = table::find(sql, merchant, Some(id), None).await?;
            let order = found.ok_or(OrderError::NotFound)?;
            let mut details = table::details(sql, merchant, order).await?;
            table::read_statements(sql, merchant, id, &mut details.disputes).await?;
            let options = BuyerOptions::of(&details, now);
            Ok((details, options))
        })
        .await
}
