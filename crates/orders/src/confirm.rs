//! Verbs: what a merchant decides before it ships an order. The agent and the buyer cannot.

use primitives::OrderId;

use crate::change::{Change, Opened};
use crate::{Changed, OrderContext, OrderError, OrderStatus, OrderTransition};

/// Confirms an order. One that is confirmed, or further, stays as it is.
pub async fn confirm(
    context: &OrderContext<'_>,
    id: OrderId,
    version: Option<i32>,
) -> Result<Changed, OrderError> {
    context.actor.kind.check_merchant_side()?;
    let mut change = match Change::open(context, id, version).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    if !is_confirmed(change.order.status) {
        change.apply(OrderTransition::Confirm, None, None).await?;
    }
    change.finish(None).await
}

/// Holds an order for review by a person at the merchant. One that is held stays as it is.
pub async fn hold_for_review(
    context: &OrderContext<'_>,
    id: OrderId,
    version: Option<i32>,
) -> Result<Changed, OrderError> {
    context.actor.kind.check_merchant_side()?;
    let mut change = match Change::open(context, id, version).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    if change.order.status != OrderStatus::ManualReview {
        change.apply(OrderTransition::Review, None, None).await?;
    }
    change.finish(None).await
}

/// Starts to process an order, and confirms it before if it is pending. One that is processed, or further, stays as it is. An
/// order under review has to be confirmed first.
pub async fn start_processing(
    context: &OrderContext<'_>,
    id: OrderId,
    version: Option<i32>,
) -> Result<Changed, OrderError> {
    context.actor.kind.check_merchant_side()?;
    let mut change = match Change::open(context, id, version).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    walk_to_processing(&mut change).await?;
    if !is_confirmed(change.order.status) {
        return Err(OrderError::InvalidTransition { from: change.order.status });
    }
    change.finish(None).await
}

/// Applies the transitions from `pending` or `confirmed` to `processing`. An order of another status stays as it is.
pub(crate) async fn walk_to_processing(change: &mut Change<'_>) -> Result<(), OrderError> {
    if change.order.status == OrderStatus::Pending {
        change.apply(OrderTransition::Confirm, None, None).await?;
    }
    if change.order.status == OrderStatus::Confirmed {
        change.apply(OrderTransition::Process, None, None).await?;
    }
    Ok(())
}

/// Returns whether the merchant has accepted the order and did not give it up.
const fn is_confirmed(status: OrderStatus) -> bool {
    match status {
        OrderStatus::Confirmed
        | OrderStatus::Processing
        | OrderStatus::PartiallyShipped
        | OrderStatus::Shipped
        | OrderStatus::Delivered
        | OrderStatus::Completed => true,
        OrderStatus::Pending
        | OrderStatus::ManualReview
        | OrderStatus::Canceled
        | OrderStatus::Failed => false,
    }
}
