//! Jobs: the deadline for the merchant's answer to a dispute, and the reminder of it.

use std::time::Duration;

use database::{Database, DatabaseError, Reading, Snapshot};
use jobs::{JobError, Sweep, SweepRow};
use merchants::NoticeKind;
use primitives::{DisputeId, Id};

use crate::change::{Change, Opened};
use crate::context::slug_of;
use crate::{Dispute, DisputeStatus, OrderContext, OrderError, table};

/// The time before the deadline at which the merchant is reminded.
const REMINDER_TIME: Duration = Duration::from_hours(2 * 24);
/// The reason code of disputes that the merchant did not answer in time.
const NO_ANSWER: &str = "no_answer";

/// Passes disputes that merchants did not answer in time to the administrators. Scheduled every minute.
#[derive(Debug)]
pub struct EscalateDisputes;

impl Sweep for EscalateDisputes {
    const NAME: &'static str = "orders.escalate_disputes";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        Ok(table::find_unanswered(sql, now, after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        Ok(change_open(&database, row, async |change, mut dispute| {
            let now = change.now();
            // The row may have changed since it was read.
            if now < dispute.respond_by {
                return Ok(());
            }
            dispute.review(now);
            change.record_dispute(&dispute, Some(NO_ANSWER)).await?;
            change.put_dispute(&dispute).await
        })
        .await?)
    }
}

/// Reminds merchants of disputes that they have not answered, once. Scheduled every five minutes.
#[derive(Debug)]
pub struct RemindOfDisputes;

impl Sweep for RemindOfDisputes {
    const NAME: &'static str = "orders.remind_of_disputes";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        let until = now.plus(REMINDER_TIME);
        Ok(table::find_unreminded(sql, (now, until), after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        Ok(change_open(&database, row, async |change, mut dispute| {
            let now = change.now();
            if dispute.reminded_at.is_some() || now >= dispute.respond_by {
                return Ok(());
            }
            dispute.reminded_at = Some(now);
            change.put_dispute(&dispute).await?;
            let details = dispute.deadline_details(change.order.id);
            change.notify(NoticeKind::DisputeReminder, details).await
        })
        .await?)
    }
}

/// Changes the dispute of a row, unless it was answered or has ended. A dispute that was purged is no error.
async fn change_open<F>(database: &Database, row: SweepRow, edit: F) -> Result<(), OrderError>
where
    F: AsyncFnOnce(&mut Change<'_>, Dispute) -> Result<(), OrderError>,
{
    let (merchant, id) = (row.merchant, DisputeId::from_uuid(row.id));
    let reading = Reading::for_store(database, merchant)?;
    let order = reading
        .run(async |sql| -> Result<_, OrderError> {
            Ok(table::order_of_dispute(sql, merchant, id).await?)
        })
        .await?;
    let Some(order) = order else { return Ok(()) };
    let slug = slug_of(database, merchant).await?;
    let context = OrderContext::of_job(database, merchant, &slug);
    let mut change = match Change::open(&context, order, None).await {
        Ok(Opened::Fresh(change)) => change,
        Ok(Opened::Replay(_)) | Err(OrderError::NotFound) => return Ok(()),
        Err(error) => return Err(error),
    };
    let dispute = match change.dispute(id).await {
        Ok(dispute) if dispute.status == DisputeStatus::Open => dispute,
        Ok(_) | Err(OrderError::DisputeNotFound) => return Ok(()),
        Err(error) => return Err(error),
    };
    edit(&mut change, dispute).await?;
    change.finish(None).await?;
    Ok(())
}
