//! How far the scores are, for operators and metrics.

use std::time::Duration;

use database::{DatabaseError, Reading, Snapshot};
use jobs::Sweep;
use primitives::Timestamp;

use crate::schedule::LATE_EPOCHS_MAX;
use crate::slots::{SLOTS, due_at, due_slots, slots_done};
use crate::table::epoch::OpenEpoch;
use crate::{Epoch, MethodologyVersion, RollUpDays, TrustError, table};

/// Age from which a standing is old: two epochs.
const STANDING_AGE_MAX: Duration = Duration::from_hours(12);

/// Stores by their standing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrustCounts {
    pub stores: i64,
    /// Stores with a score.
    pub scored: i64,
    /// Those of them whose score is provisional.
    pub provisional: i64,
    /// Stores that their score suspends.
    pub suspended: i64,
    /// Stores that are scored, whose standing is older than 12 hours.
    pub old_standings: i64,
}

/// How far the scores are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrustStatus {
    /// The current epoch.
    pub epoch: Epoch,
    /// Of 360 slots of the current epoch, those that are due, and those that are computed.
    pub slots_due: u32,
    pub slots_done: u32,
    /// Former epochs that are not computed and still will be.
    pub late_epochs: i64,
    /// Former epochs that are not computed and never will be: they ended more than seven days ago. Their scores are missing in the
    /// history of some stores, or of all.
    pub skipped_epochs: i64,
    /// For how long the first store that is due has waited.
    pub lag_seconds: f64,
    /// For how long the oldest day whose facts have to be counted again has waited.
    pub oldest_stale_day_seconds: f64,
    /// Days whose facts could not be counted. They are tried again, and delay no score of other stores.
    pub failed_days: i64,
    /// Whether the facts of before the first epoch are counted. Epochs begin afterwards.
    pub is_backfilled: bool,
    /// The methodology of the newest score; `None` if there is none.
    pub newest_methodology: Option<MethodologyVersion>,
    /// Stores that cannot be scored.
    pub failing_stores: i64,
    /// Days whose facts have to be counted again, up to 100,000.
    pub stale_days: i64,
    /// `None` if they could not be counted within the limit of time for a statement.
    pub counts: Option<TrustCounts>,
}

impl TrustStatus {
    /// The slots of an epoch.
    pub const SLOTS: u32 = SLOTS;
}

/// What is measured all the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrustHealth {
    /// For how long the first store whose score is due has waited.
    pub lag_seconds: f64,
    /// For how long the oldest day whose facts have to be counted again has waited.
    pub oldest_stale_day_seconds: f64,
    /// Days whose facts could not be counted. They are tried again.
    pub failed_days: i64,
    /// Stores that cannot be scored.
    pub failing_stores: i64,
    /// Former epochs that are not computed and never will be.
    pub skipped_epochs: i64,
}

/// The epochs that are not done at one time.
struct Progress {
    now: Timestamp,
    /// Whether scores are computed here: otherwise nothing is late.
    is_begun: bool,
    open: Vec<OpenEpoch>,
    /// Epochs that are not done and were left behind.
    skipped: i64,
}

impl Progress {
    /// Returns the time since which the first store that is due waits, if one does.
    fn due_since(&self) -> Option<Timestamp> {
        let waiting = self.open.iter().filter_map(|open| {
            let done = slots_done(open.position);
            (done < due_slots(open.epoch, self.now)).then(|| due_at(open.epoch, done))
        });
        waiting.min()
    }

    fn lag_seconds(&self) -> f64 {
        self.due_since().map_or(0.0, |since| self.now.since(since).as_secs_f64())
    }

    /// Returns how many slots of the current epoch are computed.
    fn slots_done(&self) -> u32 {
        let current = Epoch::of(self.now);
        match self.open.iter().find(|open| open.epoch == current) {
            Some(open) => slots_done(open.position),
            None if self.is_begun => SLOTS,
            None => 0,
        }
    }
}

async fn progress(sql: &mut Snapshot) -> Result<Progress, TrustError> {
    let now = sql.now().await?;
    let current = Epoch::of(now);
    let oldest = Epoch(current.0 - LATE_EPOCHS_MAX);
    let is_begun = table::epoch::is_any_known(sql, current).await?;
    let mut open = table::epoch::open(sql, oldest, current).await?;
    if is_begun {
        let missing = table::epoch::missing(sql, oldest, current).await?;
        open.extend(missing.into_iter().map(OpenEpoch::unseen));
    }
    let skipped = table::epoch::skipped(sql, oldest).await?;
    Ok(Progress { now, is_begun, open, skipped })
}

/// Returns what is measured all the time.
pub async fn health(reading: &Reading) -> Result<TrustHealth, TrustError> {
    reading
        .run(async |sql| {
            let progress = progress(sql).await?;
            Ok(TrustHealth {
                lag_seconds: progress.lag_seconds(),
                oldest_stale_day_seconds: table::rollup::oldest_due_seconds(sql, progress.now)
                    .await?,
                failed_days: table::rollup::failed_days(sql, RollUpDays::NAME).await?,
                failing_stores: table::failure::count(sql).await?,
                skipped_epochs: progress.skipped,
            })
        })
        .await
}

/// Counts the stores that are scored, whose standing is older than 12 hours. Reads all standings.
pub async fn old_standings(reading: &Reading) -> Result<i64, TrustError> {
    reading
        .run(async |sql| {
            let before = sql.now().await?.minus(STANDING_AGE_MAX);
            Ok(table::status::old_standings(sql, before).await?)
        })
        .await
}

/// Returns how far the scores are. Counts all stores, if that is possible in time.
pub async fn status(reading: &Reading) -> Result<TrustStatus, TrustError> {
    let status = status_without_counts(reading).await?;
    let counted: Result<TrustCounts, TrustError> = reading
        .run(async |sql| {
            let before = sql.now().await?.minus(STANDING_AGE_MAX);
            Ok(table::status::counts(sql, before).await?)
        })
        .await;
    match counted {
        Ok(counts) => Ok(TrustStatus { counts: Some(counts), ..status }),
        Err(TrustError::Database(DatabaseError::Contended(_))) => Ok(status),
        Err(error) => Err(error),
    }
}

async fn status_without_counts(reading: &Reading) -> Result<TrustStatus, TrustError> {
    reading
        .run(async |sql| {
            let progress = progress(sql).await?;
            let (now, epoch) = (progress.now, Epoch::of(progress.now));
            let late = progress.open.iter().filter(|open| open.epoch < epoch).count();
            Ok(TrustStatus {
                epoch,
                slots_due: due_slots(epoch, now),
                slots_done: progress.slots_done(),
                late_epochs: i64::try_from(late).unwrap_or(i64::MAX),
                skipped_epochs: progress.skipped,
                lag_seconds: progress.lag_seconds(),
                oldest_stale_day_seconds: table::rollup::oldest_due_seconds(sql, now).await?,
                failed_days: table::rollup::failed_days(sql, RollUpDays::NAME).await?,
                is_backfilled: table::backfill::backfill(sql).await?.is_complete,
                newest_methodology: table::status::newest_methodology(sql, epoch).await?,
                failing_stores: table::failure::count(sql).await?,
                stale_days: table::status::stale_days(sql, now).await?,
                counts: None,
            })
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::last_position;

    fn lag(open: &[(i64, u32)], now: Timestamp) -> f64 {
        let position = |slots: u32| (slots > 0).then(|| last_position(slots));
        let open = open.iter().map(|(epoch, slots)| OpenEpoch {
            position: position(*slots),
            ..OpenEpoch::unseen(Epoch(*epoch))
        });
        Progress { now, is_begun: true, open: open.collect(), skipped: 0 }.lag_seconds()
    }

    #[test]
    fn the_lag_is_that_of_the_first_slot_that_is_due() {
        let now = Epoch(100).as_of().plus(Duration::from_mins(10));
        let is = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
        assert!(is(lag(&[], now), 0.0));
        assert!(is(lag(&[(100, 9)], now), 0.0));
        // A slot takes 59 1/3 seconds: the first is due after two minutes, the fourth three slots later.
        assert!(is(lag(&[(100, 3)], now), 600.0 - 120.0 - 178.0));
        assert!(is(lag(&[(100, 0)], now), 480.0));
        assert!(
            is(lag(&[(100, 0), (99, 300)], now), 480.0 + 60.0 * 60.0 + 200.0),
            "in whatever order"
        );
    }
}
