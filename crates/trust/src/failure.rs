//! Stores that cannot be scored, for operators. The others are.

use std::time::Duration;

use database::{Database, Reading, Work};
use primitives::{MerchantId, Timestamp};

use crate::{Epoch, TrustError, table};

/// Time until facts are counted again that could not be counted. It doubles with each failure.
const RETRY_AFTER: Duration = Duration::from_mins(1);
const RETRY_AFTER_MAX: Duration = Duration::from_hours(6);

primitives::text_enum! {
    /// What failed.
    #[strum(serialize_all = "lowercase")]
    pub enum FailureStage {
        /// The facts of before the first epoch could not be counted: the store is not scored until they are. They are counted
        /// again, after an ever longer time.
        Count,
        /// The score could not be computed. The next epoch tries again.
        Score,
    }
}

/// A store that cannot be scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub merchant: MerchantId,
    pub slug: String,
    pub stage: FailureStage,
    /// The epoch in which it failed.
    pub epoch: Epoch,
    pub failed_at: Timestamp,
    pub error: String,
    /// Failures of this stage without a success.
    pub attempts: i32,
    /// When the facts are counted again; `None` for a score.
    pub retry_at: Option<Timestamp>,
}

/// Returns stores that cannot be scored, the newest failure first.
pub async fn failures(reading: &Reading, limit: u16) -> Result<Vec<Failure>, TrustError> {
    reading.run(async |sql| Ok(table::failure::list(sql, i64::from(limit)).await?)).await
}

/// Records that a store cannot be scored, logs and counts it.
pub(crate) async fn record(
    database: &Database,
    merchant: MerchantId,
    stage: FailureStage,
    error: &TrustError,
) -> Result<(), TrustError> {
    metrics::counter!("souk_trust_failures_total").increment(1);
    tracing::error!(%merchant, %stage, %error, "a store cannot be scored; the others are");
    let mut work = Work::for_platform(database).await?;
    let former = table::failure::attempts(work.sql(), merchant, stage).await?;
    let attempts = former.saturating_add(1);
    let retry_at = match stage {
        FailureStage::Count => Some(work.now().plus(retry_delay(attempts))),
        FailureStage::Score => None,
    };
    let error = error.to_string();
    table::failure::put(&mut work, merchant, stage, &error, (attempts, retry_at)).await?;
    Ok(work.commit().await?)
}

/// Returns the time until facts are counted again that could not be counted so many times.
fn retry_delay(attempts: i32) -> Duration {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(16);
    RETRY_AFTER.saturating_mul(1 << doublings).min(RETRY_AFTER_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_counted_again_after_a_time_that_doubles_up_to_six_hours() {
        let minutes = [1, 2, 3, 9, 10, i32::MAX].map(|it| retry_delay(it).as_secs() / 60);
        assert_eq!(minutes, [1, 2, 4, 256, 360, 360]);
    }
}
