//! What administrators of the platform do with an order. Each action is recorded in the audit log with its actor and its
//! reason, in the transaction that performs it.

use merchants::Administration;
use primitives::{DisputeId, OrderId};

use crate::change::{Change, Changed, Opened};
use crate::decide_dispute::prepare_decision;
use crate::payment::prepare_payment_status;
use crate::{Decision, OrderContext, OrderError, PaymentStatus};

/// Sets the status of the payment to what became known outside of the platform. A pending order whose payment failed fails, and
/// its units go back into stock; any other change publishes `order.updated`. Setting the same status again changes nothing and
/// adds no entry.
pub async fn set_payment_status(
    context: &OrderContext<'_>,
    by: Administration<'_>,
    id: OrderId,
    payment: PaymentStatus,
) -> Result<Changed, OrderError> {
    let mut change = match prepare_payment_status(context, id, payment).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    if change.is_changed() {
        let merchant = context.merchant;
        let status = payment.as_str();
        audit(&mut change, async |work| {
            merchants::record_payment_status(work, by, merchant, id, status).await
        })
        .await?;
    }
    change.finish(None).await
}

/// Decides a dispute that is under review. The reason is the grounds that both parties read. No money moves: the merchant makes
/// the refund.
pub async fn decide_dispute(
    context: &OrderContext<'_>,
    by: Administration<'_>,
    order: OrderId,
    id: DisputeId,
    decision: Decision,
) -> Result<Changed, OrderError> {
    let resolution = decision.resolution.as_str();
    let mut change = match prepare_decision(context, order, id, decision).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let merchant = context.merchant;
    audit(&mut change, async |work| {
        merchants::record_decision(work, by, merchant, id, resolution).await
    })
    .await?;
    change.finish(Some(id.to_string())).await
}

/// Adds an entry to the audit log, which the role of a store may not write.
async fn audit(
    change: &mut Change<'_>,
    record: impl AsyncFnOnce(&mut database::Work) -> Result<(), merchants::StoreError>,
) -> Result<(), OrderError> {
    Ok(change.work.as_platform(record).await?)
}
