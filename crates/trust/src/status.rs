//! How far the scores are, for operators and metrics.

use database::Reading;
use primitives::Timestamp;

use crate::recompute::LATE_EPOCHS_MAX;
use crate::slots::{SLOTS, due_at, due_slots, slots_done};
use crate::table::epoch::OpenEpoch;
use crate::{Epoch, TrustError, table};

/// Stores by their standing, and what waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrustCounts {
    pub stores: i64,
    /// Stores with a score.
    pub scored: i64,
    /// Those of them whose score is provisional.
    pub provisional: i64,
    /// Stores that their score suspends.
    pub suspended: i64,
    /// Days whose facts have to be counted again, up to 100,000.
    pub stale_days: i64,
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
    /// For how long the first store that is due has waited.
    pub lag_seconds: f64,
    pub counts: TrustCounts,
}

impl TrustStatus {
    /// The slots of an epoch.
    pub const SLOTS: u32 = SLOTS;
}

/// The epochs that are not done at one time.
struct Progress {
    now: Timestamp,
    open: Vec<OpenEpoch>,
}

impl Progress {
    /// Returns the time since which the first store that is due waits, if one does.
    fn due_since(&self) -> Option<Timestamp> {
        self.open.iter().find_map(|open| {
            let done = slots_done(open.position);
            (done < due_slots(open.epoch, self.now)).then(|| due_at(open.epoch, done))
        })
    }

    fn lag_seconds(&self) -> f64 {
        self.due_since().map_or(0.0, |since| self.now.since(since).as_secs_f64())
    }
}

async fn progress(sql: &mut database::Snapshot) -> Result<Progress, TrustError> {
    let now = sql.now().await?;
    let current = Epoch::of(now);
    let oldest = Epoch(current.0 - LATE_EPOCHS_MAX);
    let mut open = table::epoch::open(sql, oldest).await?;
    // Epochs that no worker has seen yet. Without any, scores were never computed here, and nothing is late.
    if let Some(newest) = table::epoch::newest(sql).await? {
        let unseen = newest.next().max(oldest).0..=current.0;
        open.extend(unseen.map(|epoch| OpenEpoch { epoch: Epoch(epoch), position: None }));
    }
    Ok(Progress { now, open })
}

/// Returns for how long the first store whose score is due has waited, in seconds.
pub async fn lag_seconds(reading: &Reading) -> Result<f64, TrustError> {
    reading.run(async |sql| Ok(progress(sql).await?.lag_seconds())).await
}

/// Returns how far the scores are. Counts all stores.
pub async fn status(reading: &Reading) -> Result<TrustStatus, TrustError> {
    reading
        .run(async |sql| {
            let progress = progress(sql).await?;
            let counts = table::status::counts(sql, progress.now).await?;
            let epoch = Epoch::of(progress.now);
            let current = progress.open.iter().find(|open| open.epoch == epoch);
            let late = progress.open.iter().filter(|open| open.epoch < epoch).count();
            Ok(TrustStatus {
                epoch,
                slots_due: due_slots(epoch, progress.now),
                slots_done: current.map_or(SLOTS, |open| slots_done(open.position)),
                late_epochs: i64::try_from(late).unwrap_or(i64::MAX),
                lag_seconds: progress.lag_seconds(),
                counts,
            })
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::slots::last_id;

    fn lag(open: &[(i64, u32)], now: Timestamp) -> f64 {
        let position = |slots: u32| (slots > 0).then(|| last_id(slots));
        let open = open
            .iter()
            .map(|(epoch, slots)| OpenEpoch { epoch: Epoch(*epoch), position: position(*slots) });
        Progress { now, open: open.collect() }.lag_seconds()
    }

    #[test]
    fn the_lag_is_that_of_the_first_slot_that_is_due() {
        let now = Epoch(100).as_of().plus(Duration::from_mins(10));
        let is = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
        assert!(is(lag(&[], now), 0.0));
        assert!(is(lag(&[(100, 11)], now), 0.0));
        assert!(is(lag(&[(100, 10)], now), 0.0), "due at this moment");
        assert!(is(lag(&[(100, 4)], now), 360.0));
        assert!(is(lag(&[(99, 350), (100, 0)], now), 1_200.0));
    }
}
