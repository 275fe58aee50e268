//! A job: closing returns some time after they were settled.

use std::time::Duration;

use database::{Database, DatabaseError, Reading, Snapshot};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{Id, MerchantId, ReturnId};

use crate::context::slug_of;
use crate::{OrderContext, OrderError, ReturnAction, change_return, order_of_return, table};

/// How long a settled return stays open (docs/decisions/0031-orders.md).
const CLOSE_AFTER: Duration = Duration::from_hours(14 * 24);

/// Closes returns that were settled 14 days ago. Scheduled every 5 minutes.
#[derive(Debug)]
pub struct CloseReturns;

impl Sweep for CloseReturns {
    const NAME: &'static str = "orders.close_returns";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        Ok(table::find_settled(sql, now.minus(CLOSE_AFTER), after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        Ok(close(&database, row.merchant, ReturnId::from_uuid(row.id)).await?)
    }
}

async fn close(database: &Database, merchant: MerchantId, id: ReturnId) -> Result<(), OrderError> {
    let slug = slug_of(database, merchant).await?;
    let context = OrderContext::of_job(database, merchant, &slug);
    let reading = Reading::for_store(database, merchant)?;
    let order = match order_of_return(&reading, merchant, id).await {
        Ok(order) => order,
        // The order of a sandbox was purged since the row was read.
        Err(OrderError::ReturnNotFound) => return Ok(()),
        Err(error) => return Err(error),
    };
    match change_return(&context, order, id, None, ReturnAction::Close).await {
        Ok(_)
        // The return was closed, or the order of a sandbox purged, since the row was read.
        | Err(
            OrderError::InvalidReturnTransition { .. }
            | OrderError::NotFound
            | OrderError::ReturnNotFound,
        ) => Ok(()),
        Err(error) => Err(error),
    }
}
