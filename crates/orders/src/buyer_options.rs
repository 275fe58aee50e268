//! A verb: what the buyer can do about an order now. The rules are those of the verbs that do it.

use database::Reading;
use primitives::{DisputeId, MerchantId, OrderId, ReturnId, Timestamp};

use crate::answer_dispute::check_possible;
use crate::cancel::can_cancel;
use crate::update_order::can_change_destination;
use crate::{
    ActorKind, Dispute, OrderDetails, OrderError, OrderReturn, ReturnEligibility, ReturnTransition,
    dispute_possible, return_eligibility, table,
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
    /// Returns that the buyer can cancel.
    pub cancelable_returns: Vec<ReturnId>,
    /// Which items can be returned.
    pub eligibility: ReturnEligibility,
}

impl BuyerOptions {
    /// Returns what the buyer can do at `now`, the time of the database.
    #[must_use]
    pub fn of(details: &OrderDetails, now: Timestamp) -> Self {
        let is_answerable = |it: &&Dispute| check_possible(it, ActorKind::Buyer, now).is_ok();
        let is_cancelable = |it: &&OrderReturn| it.status.after(ReturnTransition::Cancel).is_some();
        let answerable = details.disputes.iter().filter(is_answerable);
        let cancelable = details.returns.iter().filter(is_cancelable);
        Self {
            can_cancel: can_cancel(details.order.status, true),
            can_change_destination: can_change_destination(&details.order),
            can_open_dispute: dispute_possible(details, now),
            answerable_disputes: answerable.map(|it| it.id).collect(),
            cancelable_returns: cancelable.map(|it| it.id).collect(),
            eligibility: return_eligibility(details, now),
        }
    }
}

/// Returns an order, and what the buyer can do about it now. For whoever has the link to the order's page.
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
            let details = table::details(sql, merchant, order).await?;
            let options = BuyerOptions::of(&details, now);
            Ok((details, options))
        })
        .await
}
