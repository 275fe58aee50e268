//! Enqueues jobs in the transaction of their cause.

use database::Work;
use primitives::{JobId, Timestamp};

use crate::job::Priority;
use crate::table::NewJob;
use crate::{Job, QueueError, table};

/// Enqueues a job that is due at once. It exists only if the transaction commits.
pub async fn enqueue<J: Job>(work: &mut Work, job: &J) -> Result<JobId, QueueError> {
    let now = work.now();
    enqueue_at(work, job, now).await
}

/// Enqueues a job that is due at a given time.
pub async fn enqueue_at<J: Job>(
    work: &mut Work,
    job: &J,
    at: Timestamp,
) -> Result<JobId, QueueError> {
    let new = new_job(work, job, at, None, Priority::of::<J>())?;
    table::insert(work, &new).await?;
    Ok(new.id)
}

/// Enqueues a job unless one of the same kind and key is queued or running. Returns `None` in that case.
pub async fn enqueue_unique<J: Job>(
    work: &mut Work,
    job: &J,
    key: &str,
    at: Timestamp,
) -> Result<Option<JobId>, QueueError> {
    let new = new_job(work, job, at, Some(key), Priority::of::<J>())?;
    let inserted = table::insert(work, &new).await?;
    Ok(inserted.then_some(new.id))
}

/// Enqueues the job of a schedule, due at once, unless one is queued or running. One that waits for its next attempt
/// becomes due.
pub(crate) async fn enqueue_scheduled<J: Job>(work: &mut Work, job: &J) -> Result<(), QueueError> {
    let now = work.now();
    let new = new_job(work, job, now, Some(J::NAME), Priority::Scheduled)?;
    if !table::insert(work, &new).await? {
        table::make_due(work, J::NAME, J::NAME).await?;
    }
    Ok(())
}

fn new_job<'key, J: Job>(
    work: &mut Work,
    job: &J,
    run_at: Timestamp,
    unique_key: Option<&'key str>,
    priority: Priority,
) -> Result<NewJob<'key>, QueueError> {
    let payload =
        serde_json::to_value(job).map_err(|error| QueueError::NotSerializable(J::NAME, error))?;
    Ok(NewJob {
        id: work.new_id(),
        kind: J::NAME,
        payload,
        merchant: job.merchant(),
        run_at,
        unique_key,
        priority,
    })
}
