//! Dead letters: jobs that failed too often, and jobs that repeatedly crashed their worker.

use database::{Reading, Work};
use primitives::{JobId, MerchantId, Timestamp};

use crate::{QueueError, table};

primitives::text_enum! {
    /// Why a job became a dead letter.
    #[strum(serialize_all = "snake_case")]
    pub enum DeadReason {
        /// All attempts failed, or the failure was permanent.
        Failed,
        /// The job crashed its worker in every exclusive run.
        Quarantined,
    }
}

/// A dead letter.
#[derive(Debug, Clone)]
pub struct DeadJob {
    pub id: JobId,
    pub kind: String,
    pub merchant: Option<MerchantId>,
    pub reason: DeadReason,
    /// Failed attempts.
    pub attempts: i32,
    /// Runs that ended with the crash of the worker.
    pub crashes: i32,
    /// Error message of the last failed attempt.
    pub last_error: Option<String>,
    pub died_at: Timestamp,
}

/// Returns dead letters, the oldest first.
pub async fn dead_jobs(reading: &Reading, limit: i64) -> Result<Vec<DeadJob>, QueueError> {
    reading.run(async |sql| Ok(table::dead_jobs(sql, limit).await?)).await
}

/// Moves a dead letter back to the queue, due at once and with its counts reset. Returns `false` if there is no dead
/// letter with this id.
pub async fn requeue(work: &mut Work, job: JobId) -> Result<bool, QueueError> {
    Ok(table::requeue(work, job).await?)
}
