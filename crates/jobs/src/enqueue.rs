//! Putting a job on the queue, in the transaction of its cause.

use database::Work;
use primitives::{JobId, Timestamp};

use crate::table::NewJob;
use crate::{Job, QueueError, table};

/// Enqueues a job, due at once. It exists only if the work commits.
pub async fn enqueue<J: Job>(work: &mut Work, job: &J) -> Result<JobId, QueueError> {
    let now = work.now();
    enqueue_at(work, job, now).await
}

/// Enqueues a job, due at a moment.
pub async fn enqueue_at<J: Job>(
    work: &mut Work,
    job: &J,
    at: Timestamp,
) -> Result<JobId, QueueError> {
    let new = describe(work, job, at, None)?;
    table::insert(work, &new).await?;
    Ok(new.id)
}

/// Enqueues a job unless one of its kind with the same key is queued or running.
pub async fn enqueue_once<J: Job>(
    work: &mut Work,
    job: &J,
    key: &str,
    at: Timestamp,
) -> Result<Option<JobId>, QueueError> {
    let new = describe(work, job, at, Some(key))?;
    let inserted = table::insert(work, &new).await?;
    Ok(inserted.then_some(new.id))
}

fn describe<'key, J: Job>(
    work: &mut Work,
    job: &J,
    run_at: Timestamp,
    once_key: Option<&'key str>,
) -> Result<NewJob<'key>, QueueError> {
    let payload = serde_json::to_value(job).map_err(|error| QueueError::NotJson(J::NAME, error))?;
    Ok(NewJob {
        id: work.new_id(),
        kind: J::NAME,
        payload,
        merchant: job.merchant(),
        run_at,
        once_key,
    })
}
