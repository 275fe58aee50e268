//! Recording how runs ended: the good ones together, the failed ones each on its own.

use database::{Database, Work};
use rand::RngExt;
use uuid::Uuid;

use crate::context::Lease;
use crate::job::{Ended, backoff};
use crate::runner::{Returned, Started};
use crate::{DeadReason, JobError, QueueError, table};

/// Records all of it in one work, or nothing.
pub(crate) async fn settle(database: &Database, returned: &[Returned]) -> Result<(), QueueError> {
    let mut done = Vec::new();
    let mut failed = Vec::new();
    for Returned { job, verdict } in returned {
        match verdict {
            Ok(Ended::Done) => done.push(job.lease),
            Ok(Ended::Finished) | Err(JobError::LeaseLost) => {}
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

/// Plans the next attempt, or gives up.
async fn record_failure(
    work: &mut Work,
    job: &Started,
    error: &JobError,
) -> Result<(), QueueError> {
    let attempts = u32::try_from(job.attempts).unwrap_or(u32::MAX).saturating_add(1);
    let hopeless = matches!(error, JobError::Hopeless(_)) || attempts >= job.attempts_max;
    let text = error.to_string();
    tracing::warn!(job = %job.lease.job, kind = job.kind, attempts, hopeless, error = text, "a job failed");
    if hopeless {
        table::bury(work, job.lease, DeadReason::Failed, Some(&text)).await?;
    } else {
        let spread = work.random().random::<f64>();
        let at = work.now().plus(backoff(attempts - 1, spread));
        table::retry(work, job.lease, at, &text).await?;
    }
    Ok(())
}

/// Leases as two columns, for statements over many of them.
pub(crate) fn columns(leases: &[Lease]) -> (Vec<Uuid>, Vec<Uuid>) {
    leases.iter().map(|lease| (lease.job.uuid(), lease.token)).unzip()
}

/// Counts how a run ended, for the metrics.
pub(crate) fn count(job: &Started, verdict: &Result<Ended, JobError>) {
    let end = match verdict {
        Ok(_) => "done",
        Err(JobError::LeaseLost) => "lease_lost",
        Err(_) => "failed",
    };
    metrics::counter!("souk_jobs_ended_total", "kind" => job.kind.clone(), "end" => end)
        .increment(1);
    metrics::histogram!("souk_job_seconds", "kind" => job.kind.clone())
        .record(job.since.elapsed().as_secs_f64());
}
