//! Records completed runs: successful ones in one statement, failed ones one by one.

use database::{Database, Work};
use rand::RngExt;
use uuid::Uuid;

use crate::context::Lease;
use crate::job::{Removal, backoff};
use crate::runner::{CompletedJob, StartedJob};
use crate::{DeadReason, JobError, QueueError, table};

/// Records all of them in one transaction.
pub(crate) async fn record(
    database: &Database,
    completed: &[CompletedJob],
) -> Result<(), QueueError> {
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for CompletedJob { job, result } in completed {
        match result {
            Ok(Removal::Pending) => done.push(job.lease),
            Ok(Removal::Done) | Err(JobError::LeaseLost) => {}
            Err(error) => failed.push((job, error)),
        }
    }
    if done.is_empty() && failed.is_empty() {
        return Ok(());
    }
    let mut work = Work::for_platform(database).await?;
    if !done.is_empty() {
        let (jobs, tokens) = columns(&done);
        table::finish_all(&mut work, &jobs, &tokens).await?;
    }
    for (job, error) in failed {
        record_failure(&mut work, job, error).await?;
    }
    work.commit().await?;
    Ok(())
}

/// Schedules the next attempt, or moves the job to the dead letters.
async fn record_failure(
    work: &mut Work,
    job: &StartedJob,
    error: &JobError,
) -> Result<(), QueueError> {
    let attempts = u32::try_from(job.attempts).unwrap_or(u32::MAX).saturating_add(1);
    let is_final = matches!(error, JobError::Permanent(_)) || attempts >= job.attempts_max;
    let text = error.text();
    let next = if is_final { "it is a dead letter now" } else { "it is retried later" };
    tracing::warn!(job = %job.lease.job, kind = job.kind, attempts, error = text, "job failed; {next}");
    if is_final {
        table::move_to_dead_letters(work, job.lease, DeadReason::Failed, Some(&text)).await?;
    } else {
        let jitter = work.random().random::<f64>();
        let at = work.now().plus(backoff(attempts - 1, jitter));
        table::retry(work, job.lease, at, &text).await?;
    }
    Ok(())
}

/// Returns the job ids and tokens of leases as two arrays, for `unnest`.
pub(crate) fn columns(leases: &[Lease]) -> (Vec<Uuid>, Vec<Uuid>) {
    leases.iter().map(|lease| (lease.job.uuid(), lease.token)).unzip()
}

/// Records the metrics of a run.
pub(crate) fn count(job: &StartedJob, result: &Result<Removal, JobError>) {
    let outcome = match result {
        Ok(_) => "done",
        Err(JobError::LeaseLost) => "lease_lost",
        Err(_) => "failed",
    };
    metrics::counter!("souk_jobs_completed_total", "kind" => job.kind.clone(), "outcome" => outcome)
        .increment(1);
    metrics::histogram!("souk_job_duration_seconds", "kind" => job.kind.clone())
        .record(job.since.elapsed().as_secs_f64());
}
