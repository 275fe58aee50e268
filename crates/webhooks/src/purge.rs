//! Jobs: emptying old partitions, deleting old events and deliveries, and ending the deliveries of disabled and
//! deleted endpoints (docs/retention.md).

use std::time::Duration;

use database::{DatabaseError, Work};
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use primitives::{EndpointId, MerchantId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::bucket;
use crate::table::delivery::EndpointKey;
use crate::table::{self, purge, settlement};

/// For how long events, their bodies and their deliveries are kept and can be sent again (docs/retention.md). A delivery ends
/// that long after its event, whatever its status: it is neither listed nor counted any more, and is deleted.
pub const RETENTION: Duration = Duration::from_hours(30 * 24);
/// When a job is due that finds what transactions have added which began before its cause, and did not see it.
const AFTER_OTHERS: Duration = Duration::from_mins(1);
/// Rows that a statement deletes or moves.
const BATCH: i64 = 1_000;

/// Empties the partitions of bodies and attempts that hold nothing younger than the retention, and deletes older events and
/// their deliveries, whatever their status. Scheduled every hour.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeWebhooks {}

impl Scheduled for PurgeWebhooks {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}

impl Job for PurgeWebhooks {
    const NAME: &'static str = "webhooks.purge";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let mut work = context.work_for_platform().await?;
        let (now, before) = (work.now(), work.now().minus(RETENTION));
        purge::former_secrets(&mut work).await?;
        work.commit().await?;
        let mut failed = None;
        // Deliveries first: none is attempted whose body is gone.
        for expired in [Expired::Deliveries, Expired::Events] {
            if let Err(error) = delete_all(&context, expired, before).await {
                tracing::error!(?expired, %error, "expired webhooks were not deleted");
                failed = Some(error);
            }
        }
        for bucket in bucket::before(now, before) {
            if let Err(error) = empty(&context, bucket, before).await {
                tracing::error!(bucket, %error, "a partition of webhooks was not emptied");
                failed = Some(error);
            }
        }
        failed.map_or(Ok(Outcome::DONE), Err)
    }
}

/// Deletes what is older, in batches.
async fn delete_all(
    context: &JobContext,
    expired: Expired,
    before: Timestamp,
) -> Result<(), JobError> {
    loop {
        let mut work = context.work_for_platform().await?;
        table::plan_anew(work.sql()).await?;
        let deleted = expired.delete(&mut work, before).await?;
        work.commit().await?;
        if deleted == 0 {
            return Ok(());
        }
    }
}

/// What is deleted row by row.
#[derive(Debug, Clone, Copy)]
enum Expired {
    Events,
    Deliveries,
}

impl Expired {
    /// Deletes a batch, and returns the number of rows.
    async fn delete(self, work: &mut Work, before: Timestamp) -> sqlx::Result<u64> {
        match self {
            Self::Events => purge::events(work, before, BATCH).await,
            Self::Deliveries => purge::deliveries(work, before, BATCH).await,
        }
    }
}

/// Empties a bucket if it has rows, and none that is younger. A bucket whose rows are being read is left for the next run.
async fn empty(context: &JobContext, bucket: i16, before: Timestamp) -> Result<(), JobError> {
    let mut work = context.work_for_platform().await?;
    table::plan_anew(work.sql()).await?;
    let age = purge::bucket(&mut work, bucket, before).await?;
    if age.has_rows && age.has_younger {
        tracing::error!(
            bucket,
            "a partition of webhooks holds old and new rows; it is not emptied"
        );
    }
    if !age.has_rows || age.has_younger {
        return Ok(work.rollback().await?);
    }
    match purge::empty_bucket(&mut work, bucket).await.map_err(DatabaseError::from) {
        Ok(()) => Ok(work.commit().await?),
        Err(DatabaseError::Contended(error)) => {
            tracing::warn!(bucket, %error, "an old partition of webhooks is in use; the next run empties it");
            Ok(work.rollback().await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Moves the pending deliveries of an endpoint that was disabled, because it is gone or has failed for days, to the
/// dead letters, in batches: there may be millions. Enqueued with the disabling, at once and a second time.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeadLetterDeliveries {
    pub(crate) merchant: MerchantId,
    pub(crate) endpoint: EndpointId,
}

impl DeadLetterDeliveries {
    /// When the job is due the second time: transactions that began before the disabling may still add deliveries, and attempts that
    /// were in flight have ended.
    pub(crate) const DELAY: Duration = AFTER_OTHERS;
}

impl Job for DeadLetterDeliveries {
    const NAME: &'static str = "webhooks.dead_letter_deliveries";
    type Dependencies = ();

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        loop {
            let mut work = context.work_for_platform().await?;
            table::plan_anew(work.sql()).await?;
            let key = EndpointKey { merchant: self.merchant, endpoint: self.endpoint };
            let in_flight_since = work.now().minus(Self::DELAY);
            let moved = settlement::dead_letter(&mut work, key, in_flight_since, BATCH).await?;
            context.advance(work).await?;
            if moved == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}

/// Deletes the deliveries of a deleted endpoint, in batches. Enqueued by the deletion.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteDeliveries {
    pub(crate) merchant: MerchantId,
    pub(crate) endpoint: EndpointId,
}

impl DeleteDeliveries {
    /// When the job is due: transactions that began before the deletion may still add deliveries.
    pub(crate) const DELAY: Duration = AFTER_OTHERS;
}

impl Job for DeleteDeliveries {
    const NAME: &'static str = "webhooks.delete_deliveries";
    type Dependencies = ();

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        loop {
            let mut work = context.work_for_platform().await?;
            table::plan_anew(work.sql()).await?;
            let deleted =
                purge::deliveries_of(&mut work, self.merchant, self.endpoint, BATCH).await?;
            context.advance(work).await?;
            if deleted == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}
