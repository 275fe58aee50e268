//! A job: completing delivered orders whose return window has ended.

use database::{Database, DatabaseError, Snapshot};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{Id, MerchantId, OrderId};

use crate::change::{Change, Opened};
use crate::context::slug_of;
use crate::{OrderContext, OrderError, OrderStatus, OrderTransition, ReturnStatus, table};

/// The reason of the transition.
const WINDOW_CLOSED: &str = "return_window_closed";

/// Completes delivered orders when their return window ends. One with an open return or dispute is left to a later run.
/// Scheduled every five minutes.
#[derive(Debug)]
pub struct CompleteOrders;

impl Sweep for CompleteOrders {
    const NAME: &'static str = "orders.complete";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        Ok(table::find_completable(sql, now, after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        match complete(&database, row.merchant, OrderId::from_uuid(row.id)).await {
            // Purged with its sandbox.
            Err(OrderError::NotFound) => Ok(()),
            result => Ok(result?),
        }
    }
}

async fn complete(
    database: &Database,
    merchant: MerchantId,
    id: OrderId,
) -> Result<(), OrderError> {
    let slug = slug_of(database, merchant).await?;
    let context = OrderContext::of_job(database, merchant, &slug);
    let Opened::Fresh(mut change) = Change::open(&context, id, None).await? else { return Ok(()) };
    let now = change.work.now();
    // The order may have changed since it was read.
    let is_due = change.order.returnable_until.is_some_and(|until| until <= now);
    let is_delivered = change.order.status == OrderStatus::Delivered;
    if !is_due || !is_delivered || has_open_return_or_dispute(&mut change).await? {
        return Ok(change.work.rollback().await?);
    }
    change.apply(OrderTransition::Complete, Some(WINDOW_CLOSED), None).await?;
    change.finish(None).await?;
    Ok(())
}

/// Returns whether a return of the order is not settled, or a dispute is open.
async fn has_open_return_or_dispute(change: &mut Change<'_>) -> Result<bool, OrderError> {
    let (merchant, id) = (change.context.merchant, change.order.id);
    let returns = table::returns_of(change.work.sql(), merchant, &[id]).await?;
    if returns.values().flatten().any(|it| is_open(it.status)) {
        return Ok(true);
    }
    let disputes = table::disputes_of(change.work.sql(), merchant, &[id]).await?;
    Ok(disputes.values().flatten().any(|it| it.status.is_open()))
}

/// Returns whether a return is not settled.
pub(crate) const fn is_open(status: ReturnStatus) -> bool {
    match status {
        ReturnStatus::Requested
        | ReturnStatus::Approved
        | ReturnStatus::InTransit
        | ReturnStatus::Received
        | ReturnStatus::Inspected => true,
        ReturnStatus::Declined
        | ReturnStatus::Refunded
        | ReturnStatus::Exchanged
        | ReturnStatus::Rejected
        | ReturnStatus::Closed
        | ReturnStatus::Canceled => false,
    }
}
