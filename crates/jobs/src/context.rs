//! The context of a running job: opens transactions that commit only while its lease is valid.

use database::{Database, Work};
use primitives::{JobId, MerchantId};
use uuid::Uuid;

use crate::job::Removal;
use crate::{JobError, Outcome, table};

/// The lease on a claimed job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) job: JobId,
    pub(crate) token: Uuid,
}

/// Opens transactions for a running job. A job that makes outbound calls opens a short one to read, commits it, makes
/// the call, and opens another to record the result.
#[derive(Clone)]
pub struct JobContext {
    database: Database,
    lease: Lease,
    attempt: u32,
}

impl JobContext {
    pub(crate) fn new(database: Database, lease: Lease, attempt: u32) -> Self {
        Self { database, lease, attempt }
    }

    /// Returns the database, for reads.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Returns the id of the job.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.lease.job
    }

    /// Returns the number of this attempt, starting at 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Opens a transaction for one store, or returns `LeaseLost` if another run owns the job.
    pub async fn work_for_store(&self, merchant: MerchantId) -> Result<Work, JobError> {
        let mut work = Work::for_store(&self.database, merchant).await?;
        table::set_lease_token(&mut work, self.lease).await?;
        self.fence(work).await
    }

    /// Opens a transaction for the platform, or returns `LeaseLost` if another run owns the job.
    pub async fn work_for_platform(&self) -> Result<Work, JobError> {
        self.fence(Work::for_platform(&self.database).await?).await
    }

    /// Locks the job's row under the token of this run. While the transaction is open no other worker can claim the job
    /// (claims skip locked rows), and if one already has, the token has changed.
    async fn fence(&self, mut work: Work) -> Result<Work, JobError> {
        let now = work.now();
        if table::lock(&mut work, self.lease, now).await? {
            Ok(work)
        } else {
            work.rollback().await?;
            Err(JobError::LeaseLost)
        }
    }

    /// Commits a step of a long job that made progress, and resets its crash and failure counts.
    pub async fn advance(&self, mut work: Work) -> Result<(), JobError> {
        if table::reset_attempts(&mut work, self.lease).await? {
            work.commit().await?;
            Ok(())
        } else {
            work.rollback().await?;
            Err(JobError::LeaseLost)
        }
    }

    /// Commits the effect of the job and removes the job in one transaction: exactly once. Returns `LeaseLost` and
    /// commits nothing if the lease has expired.
    pub async fn finish(&self, mut work: Work) -> Result<Outcome, JobError> {
        let now = work.clock_timestamp().await?;
        if table::finish(&mut work, self.lease, now).await? {
            work.commit().await?;
            Ok(Outcome(Removal::Done))
        } else {
            work.rollback().await?;
            Err(JobError::LeaseLost)
        }
    }
}
