//! Stores that cannot be scored, for operators. The others are.

use database::{Database, Reading, Work};
use primitives::{MerchantId, Timestamp};

use crate::{Epoch, TrustError, table};

primitives::text_enum! {
    /// What failed.
    #[strum(serialize_all = "lowercase")]
    pub enum FailureStage {
        /// The facts of before the first epoch could not be counted: the store is not scored until `souk trust rebuild` does.
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
    table::failure::put(&mut work, merchant, stage, &error.to_string()).await?;
    Ok(work.commit().await?)
}
