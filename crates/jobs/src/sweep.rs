//! Sweeps: scheduled jobs over rows of many merchants. Each row is processed by itself: a row that fails, panics or takes
//! too long is logged, counted and skipped, and retried in a later run. It never stops the other rows.

mod run;

use std::marker::PhantomData;
use std::time::Duration;

use database::{Database, DatabaseError, Snapshot, Work};
use primitives::{MerchantId, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::enqueue::enqueue_scheduled;
use crate::{Epoch, Job, JobContext, JobError, Outcome, QueueError, Scheduled};

/// Delay before a row is retried that failed twice; it doubles with each attempt. A row that failed once is retried in
/// the next run.
const RETRY_AFTER: Duration = Duration::from_mins(1);
const RETRY_AFTER_MAX: Duration = Duration::from_hours(6);

/// A row of a sweep. Rows are ordered by `due_at` and `id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepRow {
    pub merchant: MerchantId,
    pub id: Uuid,
    pub due_at: Timestamp,
}

impl SweepRow {
    /// The position in the order of the sweep.
    fn position(&self) -> (Timestamp, Uuid) {
        (self.due_at, self.id)
    }
}

/// A scheduled job over rows of many merchants.
pub trait Sweep: Send + Sync + 'static {
    /// The stored name of the job. It must not change, because failures of rows are stored under it.
    const NAME: &'static str;

    /// Dependencies passed at registration, such as clients and settings.
    type Dependencies: Clone + Send + Sync + 'static;

    /// Returns the due rows after a row, ordered by `due_at` and `id`; at most `limit`. A row that was processed is
    /// no longer returned.
    fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> impl Future<Output = Result<Vec<SweepRow>, DatabaseError>> + Send;

    /// Processes one row, in transactions of its own. Runs can overlap, so that it checks the row again under a lock.
    /// A row that no longer exists is no error.
    fn process(
        database: Database,
        row: SweepRow,
        dependencies: Self::Dependencies,
    ) -> impl Future<Output = Result<(), JobError>> + Send;
}

/// Enqueues a run of a sweep, due at once, unless one is queued or running: for tests and commands. In production the
/// schedule does.
pub async fn enqueue_sweep<S: Sweep>(work: &mut Work) -> Result<(), QueueError> {
    enqueue_scheduled(work, &SweepJob::<S>::for_epoch(0)).await
}

/// The job of a sweep.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct SweepJob<S> {
    epoch: Epoch,
    #[serde(skip)]
    sweep: PhantomData<fn() -> S>,
}

impl<S: Sweep> Scheduled for SweepJob<S> {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch, sweep: PhantomData }
    }
}

impl<S: Sweep> Job for SweepJob<S> {
    const NAME: &'static str = S::NAME;
    type Dependencies = S::Dependencies;

    async fn run(
        self,
        context: JobContext,
        dependencies: S::Dependencies,
    ) -> Result<Outcome, JobError> {
        run::run::<S>(context.database(), dependencies).await?;
        Ok(Outcome::DONE)
    }
}

/// The failures of a row so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowFailure {
    pub(crate) attempts: i32,
    pub(crate) retry_at: Timestamp,
}

impl RowFailure {
    /// Returns the failure after one more failed attempt.
    fn next(previous: Option<Self>, now: Timestamp) -> Self {
        let attempts = previous.map_or(0, |failure| failure.attempts).saturating_add(1);
        let delay = match u32::try_from(attempts).unwrap_or(u32::MAX) {
            0 | 1 => Duration::ZERO,
            more => RETRY_AFTER.saturating_mul(1 << (more - 2).min(16)).min(RETRY_AFTER_MAX),
        };
        Self { attempts, retry_at: now.plus(delay) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_between_attempts_doubles_up_to_six_hours() {
        let now = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let delay = |attempts| {
            let previous = RowFailure { attempts, retry_at: now };
            RowFailure::next(Some(previous), now).retry_at.since(now)
        };
        assert_eq!(RowFailure::next(None, now).retry_at, now);
        assert_eq!(delay(1), Duration::from_mins(1));
        assert_eq!(delay(3), Duration::from_mins(4));
        assert_eq!(delay(40), Duration::from_hours(6));
        assert_eq!(delay(i32::MAX), Duration::from_hours(6));
    }
}
