//! What operators and administrators do with dead letters: jobs that do not run again by themselves. Each change is
//! recorded in the audit log, in its own transaction.

use database::{DatabaseError, Work};
use jobs::{JobInfo, QueueError, Revival};
use primitives::JobId;
use serde_json::json;

use crate::audit::{Actor, AuditAction, Reason, record_audit};

/// Moves a dead letter back to the queue, in a platform transaction.
pub async fn revive_job(
    work: &mut Work,
    actor: Actor,
    job: JobId,
    reason: &Reason,
) -> Result<Revival, QueueError> {
    let (dead, revival) = jobs::revive(work, job).await?;
    record(work, actor, AuditAction::JobRevived, &dead, reason).await?;
    Ok(revival)
}

/// Deletes a dead letter, in a platform transaction.
pub async fn discard_job(
    work: &mut Work,
    actor: Actor,
    job: JobId,
    reason: &Reason,
) -> Result<(), QueueError> {
    let dead = jobs::discard(work, job).await?;
    Ok(record(work, actor, AuditAction::JobDiscarded, &dead, reason).await?)
}

/// Records who did what to a dead letter, and why. The entry has the payload, because the job may be deleted.
async fn record(
    work: &mut Work,
    actor: Actor,
    action: AuditAction,
    job: &JobInfo,
    reason: &Reason,
) -> Result<(), DatabaseError> {
    let details = json!({ "reason": reason.as_str(), "kind": job.kind, "payload": job.payload });
    record_audit(work, actor, action, &job.id, details).await
}
