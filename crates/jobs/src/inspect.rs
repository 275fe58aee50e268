//! Jobs and rows of sweeps as operators see them.

use std::fmt;
use std::str::FromStr;

use database::Reading;
use primitives::{JobId, MerchantId, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use crate::{QueueError, table};

primitives::text_enum! {
    /// The state of a job.
    #[strum(serialize_all = "snake_case")]
    pub enum JobState {
        /// Due later, and no attempt has failed.
        Waiting,
        /// Due, and no attempt has failed.
        Due,
        /// An attempt has failed; the job is retried.
        Failing,
        Running,
        /// Started and never completed; it waits for an exclusive run, or, if it is scheduled, for any.
        Suspect,
        /// A dead letter: it does not run again by itself.
        Dead,
    }
}

/// A job of the queue, or a dead letter.
#[derive(Debug, Clone)]
pub struct JobInfo {
    pub id: JobId,
    pub kind: String,
    pub merchant: Option<MerchantId>,
    pub state: JobState,
    /// Failed attempts.
    pub attempts: i32,
    /// Runs that ended with the crash of the worker.
    pub crashes: i32,
    /// Error message of the last failed attempt.
    pub last_error: Option<String>,
    pub enqueued_at: Timestamp,
    /// When it is due, when its lease expires, or when it became a dead letter.
    pub at: Timestamp,
    pub payload: Value,
}

/// Which jobs are listed.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// `None`: every state.
    pub state: Option<JobState>,
    /// `None`: every kind.
    pub kind: Option<String>,
    /// Where the page begins; `None`: with the earliest job.
    pub after: Option<JobCursor>,
}

/// The position of a job in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobCursor {
    pub(crate) at: Timestamp,
    pub(crate) id: JobId,
}

impl JobCursor {
    /// Returns the position of a job.
    #[must_use]
    pub fn of(job: &JobInfo) -> Self {
        Self { at: job.at, id: job.id }
    }
}

impl fmt::Display for JobCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.at.unix_micros(), self.id)
    }
}

/// The text is not the position of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position in a list of jobs")]
pub struct InvalidJobCursor;

impl FromStr for JobCursor {
    type Err = InvalidJobCursor;

    fn from_str(text: &str) -> Result<Self, InvalidJobCursor> {
        let (at, id) = text.split_once('.').ok_or(InvalidJobCursor)?;
        let at: i64 = at.parse().map_err(|_| InvalidJobCursor)?;
        let id = id.parse().map_err(|_| InvalidJobCursor)?;
        Ok(Self { at: Timestamp::from_unix_micros(at), id })
    }
}

/// A row that a sweep could not process.
#[derive(Debug, Clone)]
pub struct FailedRow {
    /// Name of the sweep.
    pub sweep: String,
    pub row: Uuid,
    pub merchant: MerchantId,
    /// Failed attempts.
    pub attempts: i32,
    /// The next attempt is in the first run after this time.
    pub retry_at: Timestamp,
    pub last_error: String,
    pub failed_at: Timestamp,
}

/// Returns jobs, the earliest `at` first.
pub async fn list(
    reading: &Reading,
    filter: &JobFilter,
    limit: i64,
) -> Result<Vec<JobInfo>, QueueError> {
    let now = reading.local_now();
    reading.run(async |sql| Ok(table::jobs(sql, now, filter, None, limit).await?)).await
}

/// Returns the number of jobs that a filter selects, wherever the page begins; at most `limit`.
pub async fn count(reading: &Reading, filter: &JobFilter, limit: i64) -> Result<i64, QueueError> {
    let now = reading.local_now();
    reading.run(async |sql| Ok(table::count_jobs(sql, now, filter, limit).await?)).await
}

/// Returns a job of the queue, or a dead letter.
pub async fn find(reading: &Reading, job: JobId) -> Result<Option<JobInfo>, QueueError> {
    let now = reading.local_now();
    reading.run(async |sql| Ok(table::job(sql, now, job).await?)).await
}

/// Returns rows that sweeps could not process, those with the most attempts first.
pub async fn failed_rows(reading: &Reading, limit: i64) -> Result<Vec<FailedRow>, QueueError> {
    reading.run(async |sql| Ok(table::failed_rows(sql, limit).await?)).await
}
