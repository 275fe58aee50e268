//! Jobs: emptying old partitions, deleting old events and dead letters, and the deliveries of deleted endpoints
//! (docs/retention.md).

use std::time::Duration;

use database::{DatabaseError, Work};
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use primitives::{EndpointId, MerchantId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::deliveries::RETENTION;
use crate::table::purge;

/// Rows deleted per statement.
const BATCH: i64 = 1_000;
/// Partitions of the ring, one for each day (`webhook_bucket` in the migrations).
const BUCKETS: i64 = 40;
const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// Empties the partitions of bodies and attempts that hold nothing younger than the retention, and deletes old events, dead
/// letters and deliveries that nobody can make any more. Scheduled every hour.
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
        let work = context.work_for_platform().await?;
        let (now, before) = (work.now(), work.now().minus(RETENTION));
        work.commit().await?;
        for bucket in old_buckets(now, before) {
            empty(&context, bucket, before).await?;
        }
        for expired in [Expired::Events, Expired::DeadLetters, Expired::StaleDeliveries] {
            loop {
                let mut work = context.work_for_platform().await?;
                let deleted = expired.delete(&mut work, before).await?;
                work.commit().await?;
                if deleted == 0 {
                    break;
                }
            }
        }
        Ok(Outcome::DONE)
    }
}

/// What is deleted row by row.
#[derive(Debug, Clone, Copy)]
enum Expired {
    Events,
    DeadLetters,
    /// Deliveries of events whose body is gone.
    StaleDeliveries,
}

impl Expired {
    /// Deletes a batch, and returns the number of rows.
    async fn delete(self, work: &mut Work, before: Timestamp) -> sqlx::Result<u64> {
        match self {
            Self::Events => purge::events(work, before, BATCH).await,
            Self::DeadLetters => purge::dead_letters(work, before, BATCH).await,
            Self::StaleDeliveries => purge::stale_deliveries(work, before, BATCH).await,
        }
    }
}

/// Returns the buckets of the days that have ended before a time, as far as the ring reaches back.
fn old_buckets(now: Timestamp, before: Timestamp) -> Vec<i16> {
    let day = |at: Timestamp| at.unix_micros().div_euclid(DAY_MICROS);
    // Of the day of `before` itself, some rows are younger. The bucket of today is that of the day forty days ago.
    let days = (day(now) - BUCKETS + 1)..day(before);
    days.filter_map(|day| i16::try_from(day.rem_euclid(BUCKETS)).ok()).collect()
}

/// Empties a bucket if it has rows, and none that is younger. A bucket whose rows are being read is left for the next run.
async fn empty(context: &JobContext, bucket: i16, before: Timestamp) -> Result<(), JobError> {
    let mut work = context.work_for_platform().await?;
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

/// Deletes the deliveries of a deleted endpoint, in batches. Enqueued by the deletion.
#[derive(Debug, Serialize, Deserialize)]
pub struct DeleteDeliveries {
    pub(crate) merchant: MerchantId,
    pub(crate) endpoint: EndpointId,
}

impl DeleteDeliveries {
    /// When the job is due: transactions that began before the deletion may still add deliveries.
    pub(crate) const DELAY: Duration = Duration::from_mins(1);
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
            let deleted =
                purge::deliveries_of(&mut work, self.merchant, self.endpoint, BATCH).await?;
            context.advance(work).await?;
            if deleted == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_days_that_ended_before_the_retention_are_old() {
        let now = Timestamp::from_unix_micros(20_000 * DAY_MICROS + 7);
        let buckets = old_buckets(now, now.minus(RETENTION));
        let days: Vec<i16> = (19_961..19_970).map(|day: i16| day % 40).collect();
        assert_eq!(buckets, days);
        let today = i16::try_from(20_000 % BUCKETS).unwrap();
        for recent in 0..=30 {
            assert!(!buckets.contains(&((today + 40 - recent) % 40)), "{recent} days ago");
        }
        assert!(buckets.contains(&((today + 1) % 40)), "tomorrow's is emptied in time");
    }
}
