//! The schedule: computes the scores that are due, of all stores in the order of their epoch (`slots.rs`).
//!
//! A score has an epoch and a revision, and is appended once: a run that is killed, or two at the same time, append what is
//! missing and nothing twice. `trust_epoch` says how far an epoch is done. The newest epoch is computed first: after an outage
//! the standing of a store does not wait for its history. An epoch waits until the facts of before are counted: those of an
//! outage come late, and the scores of a former epoch are never corrected. Stores whose catalog figures were never computed are left out: nothing
//! is known about them. So are stores that an operator closed.

use std::time::{Duration, Instant};

use database::{Database, Reading, Work};
use jobs::{Job, JobContext, JobError, Outcome, Scheduled};
use primitives::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backfill::backfill;
use crate::follow;
use crate::recompute::{Run, StoreRange};
use crate::slots::{due_slots, last_position};
use crate::table::epoch::OpenEpoch;
use crate::{Cause, Epoch, MethodologyVersion, TrustError, table};

/// Longest time of a run, without that for stores that are counted again, after which it starts no more batches: a worker that stops
/// waits for it.
const RUN_MAX: Duration = Duration::from_secs(20);
/// Epochs before the current one that are still computed: seven days.
pub(crate) const LATE_EPOCHS_MAX: i64 = 28;
/// Epochs for which partitions exist ahead: a year.
const EPOCHS_AHEAD: i64 = 4 * 365;
/// How far the counts of facts may be behind. In each moment something has just happened.
const LAG_MAX: Duration = Duration::from_mins(2);
/// How long an epoch waits for facts to be counted after a worker saw it first. It does not wait for single days that cannot be
/// counted ([`follow::is_counted`]). A score of the current epoch is corrected later, one of a former epoch is not.
const CURRENT_WAITS_MAX: Duration = Duration::from_mins(30);
const LATE_WAITS_MAX: Duration = Duration::from_hours(24);

/// Computes the scores that are due. Scheduled every few seconds; the newest epoch comes first.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecomputeScores {}

impl Scheduled for RecomputeScores {
    fn for_epoch(_: jobs::Epoch) -> Self {
        Self {}
    }
}

impl Job for RecomputeScores {
    const NAME: &'static str = "trust.score";
    /// The methodology in force.
    type Dependencies = MethodologyVersion;

    async fn run(
        self,
        context: JobContext,
        in_force: MethodologyVersion,
    ) -> Result<Outcome, JobError> {
        let database = context.database().clone();
        compute_open(database, Some(context), in_force).await?;
        Ok(Outcome::DONE)
    }
}

/// Computes the scores that are due and not computed, the newest epoch first, for some seconds. Returns whether none is
/// left that can be computed now. The job does the same; this is for tests and measurements.
pub async fn compute_due(
    database: &Database,
    in_force: MethodologyVersion,
) -> Result<bool, TrustError> {
    compute_open(database.clone(), None, in_force).await
}

async fn compute_open(
    database: Database,
    job: Option<JobContext>,
    in_force: MethodologyVersion,
) -> Result<bool, TrustError> {
    let until = Instant::now() + RUN_MAX;
    if !backfill(&database, job.as_ref(), Some(until)).await? {
        return Ok(false);
    }
    let (now, open) = open_epochs(&database).await?;
    let is_counted = follow::is_counted(&database, LAG_MAX).await?;
    for OpenEpoch { epoch, order, opened_at, position } in open {
        let due = due_slots(epoch, now);
        if due == 0 || (!is_counted && !has_waited(epoch, opened_at, now)) {
            continue;
        }
        let last = last_position(due);
        if position.is_some_and(|position| position >= last) {
            continue;
        }
        let (database, job, cause) = (database.clone(), job.clone(), Cause::Scheduled);
        let run = Run { database, job, epoch, cause, in_force };
        let range = StoreRange { order, after: position, last, existed_at: epoch.as_of() };
        if !run.compute(range, Some(until)).await?.is_complete {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether an epoch has waited long enough for facts to be counted.
fn has_waited(epoch: Epoch, opened_at: Option<Timestamp>, now: Timestamp) -> bool {
    let longest = if epoch == Epoch::of(now) { CURRENT_WAITS_MAX } else { LATE_WAITS_MAX };
    opened_at.is_some_and(|opened_at| now.since(opened_at) >= longest)
}

/// Returns the time, and the epochs that are not done, the newest first. Creates what they need.
async fn open_epochs(database: &Database) -> Result<(Timestamp, Vec<OpenEpoch>), TrustError> {
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    let current = Epoch::of(now);
    let oldest = Epoch(current.0 - LATE_EPOCHS_MAX);
    let missing = table::epoch::missing(work.sql(), oldest, current).await?;
    if !missing.is_empty() {
        table::epoch::add(&mut work, &missing).await?;
    }
    let open = table::epoch::open(work.sql(), oldest, current).await?;
    work.commit().await?;
    ensure_partitions(database, open.last().map_or(current, |open| open.epoch), current).await?;
    Ok((now, open))
}

/// Creates the partitions from one epoch to a year after the current one. Only those up to the current one are needed now.
pub(crate) async fn ensure_partitions(
    database: &Database,
    first: Epoch,
    current: Epoch,
) -> Result<(), TrustError> {
    let last = Epoch(current.0 + EPOCHS_AHEAD);
    let missing: Vec<i64> = Reading::for_platform(database)
        .run(async |sql| -> Result<_, TrustError> {
            Ok(table::score::missing_partitions(sql, first, last).await?)
        })
        .await?;
    for partition in missing {
        let created = create_partition(database, partition).await;
        // One that is needed later is created later.
        if partition <= table::score::partition_of(current) {
            created?;
        } else if let Err(error) = created {
            tracing::warn!(partition, %error, "a partition of scores cannot be created; retrying in the next run");
            break;
        }
    }
    Ok(())
}

async fn create_partition(database: &Database, partition: i64) -> Result<(), TrustError> {
    let mut work = Work::for_platform(database).await?;
    table::score::create_partition(&mut work, partition).await?;
    Ok(work.commit().await?)
}
