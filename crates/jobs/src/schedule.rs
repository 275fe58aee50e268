//! Scheduled jobs. Each period has an epoch. The first worker that finds an epoch due enqueues its job, unless the job of
//! an earlier epoch is queued, running or a dead letter: a schedule that fails never adds more than one dead letter.

use std::time::Duration;

use database::Work;
use primitives::Timestamp;

use crate::enqueue::enqueue_scheduled;
use crate::{Job, QueueError, table};

/// The number of a period: whole periods since the Unix epoch, shifted by the offset of the schedule.
pub type Epoch = i64;

/// A job that runs once per period. It covers everything that is due, because epochs are skipped while no worker runs or
/// an earlier job of the schedule is not done. A failed attempt is repeated in the next period, without a maximum.
pub trait Scheduled: Job {
    /// Creates the job of an epoch.
    fn for_epoch(epoch: Epoch) -> Self;
}

/// Time after which a schedule whose job is a dead letter tries again, unless an operator revives or discards the dead
/// letter before. It does so whatever the reason: stock is held and payments are pending until it runs.
const SUSPENSION: Duration = Duration::from_hours(1);

/// Returns the epoch of a timestamp. Schedules are shifted by a hash of their name, so that they do not all start on the
/// hour.
pub(crate) fn epoch_at(name: &str, period: Duration, at: Timestamp) -> Epoch {
    let period = i64::try_from(period.as_micros()).unwrap_or(i64::MAX).max(1);
    let hash = name.bytes().fold(0_i64, |hash, byte| (hash * 31 + i64::from(byte)) % 1_000_003);
    let offset = hash * (period / 1_000_003);
    (at.unix_micros() - offset).div_euclid(period)
}

/// Enqueues the job of an epoch that is due. The conditional update locks the row of the schedule, so that two workers
/// never enqueue the same epoch.
pub(crate) async fn tick<J: Scheduled>(
    work: &mut Work,
    period: Duration,
) -> Result<(), QueueError> {
    let now = work.now();
    let due = epoch_at(J::NAME, period, now);
    if !table::advance_schedule(work, J::NAME, due).await? {
        return Ok(());
    }
    if let Some((dead, died_at)) = table::newest_dead_of_kind(work, J::NAME).await? {
        if now < died_at.plus(SUSPENSION) {
            tracing::warn!(kind = J::NAME, job = %dead, "schedule suspended: its last job is a dead letter");
            return Ok(());
        }
        table::delete_dead(work, dead).await?;
    }
    enqueue_scheduled(work, &J::for_epoch(due)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_lasts_one_period() {
        let hour = Duration::from_hours(1);
        let start = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let epoch = epoch_at("recompute", hour, start);
        assert_eq!(epoch_at("recompute", hour, start.plus(hour)), epoch + 1);
        assert_ne!(
            (0..60).map(|m| epoch_at("recompute", hour, start.plus(Duration::from_mins(m)))).max(),
            Some(epoch + 2)
        );
    }

    #[test]
    fn schedules_do_not_start_together() {
        let hour = Duration::from_hours(1);
        let start = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let first_change = |name: &str| {
            let at = |m: u64| epoch_at(name, hour, start.plus(Duration::from_secs(m)));
            (1..3_600).find(|m| at(*m) != at(*m - 1))
        };
        assert_ne!(first_change("recompute_scores"), first_change("notice_abandoned"));
    }
}
