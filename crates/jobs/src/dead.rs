//! Dead letters: jobs that failed too often, and jobs that repeatedly crashed their worker.

use database::Work;
use primitives::JobId;

use crate::{JobInfo, JobState, QueueError, table};

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

/// Moves a dead letter back to the queue. Returns the job as it was.
pub async fn revive(work: &mut Work, job: JobId) -> Result<(JobInfo, Revival), QueueError> {
    let dead = find_dead(work, job).await?;
    let revival = table::revive(work, job).await?.ok_or(QueueError::JobNotFound(job))?;
    Ok((dead, revival))
}

/// Deletes a dead letter. Returns the job as it was.
pub async fn discard(work: &mut Work, job: JobId) -> Result<JobInfo, QueueError> {
    let dead = find_dead(work, job).await?;
    if table::delete_dead(work, job).await? { Ok(dead) } else { Err(QueueError::JobNotFound(job)) }
}

async fn find_dead(work: &mut Work, job: JobId) -> Result<JobInfo, QueueError> {
    let now = work.now();
    let found = table::job(work.sql(), now, job).await?.ok_or(QueueError::JobNotFound(job))?;
    if found.state == JobState::Dead {
        Ok(found)
    } else {
        Err(QueueError::NotDead(job, found.state))
    }
}
