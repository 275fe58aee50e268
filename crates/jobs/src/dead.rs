//! Dead letters: jobs that failed too often, and jobs that repeatedly crashed their worker.

use database::Work;
use primitives::JobId;

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

/// What happened to a dead letter that was revived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revival {
    /// It is queued, due at once and with its counts reset.
    Queued,
    /// A job with the same key is queued or running, so that the dead letter was deleted.
    Superseded,
}

/// Moves a dead letter back to the queue. Returns `None` if there is no dead letter with this id.
pub async fn revive(work: &mut Work, job: JobId) -> Result<Option<Revival>, QueueError> {
    Ok(table::revive(work, job).await?)
}

/// Deletes a dead letter. Returns `false` if there is no dead letter with this id.
pub async fn discard(work: &mut Work, job: JobId) -> Result<bool, QueueError> {
    Ok(table::delete_dead(work, job).await?)
}
