//! Dead letters: jobs that failed too often, and jobs that kept taking their worker down.

use database::{Reading, Work};
use primitives::{JobId, MerchantId, Timestamp};

use crate::{QueueError, table};

/// Why a job is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeadReason {
    /// It failed as often as it may, or could not be helped.
    Failed,
    /// It took its worker down, alone, too often.
    Quarantined,
}

impl DeadReason {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Quarantined => "quarantined",
        }
    }
}

/// A dead letter.
#[derive(Debug, Clone)]
pub struct DeadJob {
    /// The job's id.
    pub id: JobId,
    /// The job's kind.
    pub kind: String,
    /// The merchant it is about.
    pub merchant: Option<MerchantId>,
    /// Why it is dead.
    pub reason: String,
    /// Failed attempts.
    pub attempts: i32,
    /// Workers that did not come back from it.
    pub crashes: i32,
    /// What the last attempt said.
    pub last_error: Option<String>,
    /// When it died.
    pub died_at: Timestamp,
}

/// The newest dead letters.
pub async fn dead_jobs(reading: &Reading, limit: i64) -> Result<Vec<DeadJob>, QueueError> {
    let mut snapshot = reading.open().await?;
    let found = table::dead_jobs(&mut snapshot, limit).await?;
    snapshot.close().await?;
    Ok(found)
}

/// Puts a dead letter back on the queue, due at once and with a clean record.
pub async fn revive(work: &mut Work, job: JobId) -> Result<bool, QueueError> {
    Ok(table::revive(work, job).await?)
}
