//! What a running job is given: the right to open works that count only while its lease holds.

use database::{Database, Work};
use primitives::{JobId, MerchantId};
use uuid::Uuid;

use crate::job::Ended;
use crate::{JobError, Outcome, table};

/// A claimed job's hold on the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) job: JobId,
    pub(crate) token: Uuid,
}

/// Opens works for a running job. A job that calls the outside opens a short work to read, commits
/// it, calls, and opens another to record.
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

    /// The database, for readings.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The job's own id.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.lease.job
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Opens a work for one store, if the job still belongs to this run.
    pub async fn work_for_store(&self, merchant: MerchantId) -> Result<Work, JobError> {
        let mut work = Work::for_store(&self.database, merchant).await?;
        table::show_lease(&mut work, self.lease).await?;
        self.fence(work).await
    }

    /// Opens a work for the platform, if the job still belongs to this run.
    pub async fn work_for_platform(&self) -> Result<Work, JobError> {
        self.fence(Work::for_platform(&self.database).await?).await
    }

    /// Locks the job's row under this run's token. While the work is open nobody else can claim the
    /// job (claims skip locked rows), and if somebody already did, the token is no longer ours.
    async fn fence(&self, mut work: Work) -> Result<Work, JobError> {
        let now = work.now();
        if table::hold(&mut work, self.lease, now).await? {
            Ok(work)
        } else {
            work.abandon().await?;
            Err(JobError::LeaseLost)
        }
    }

    /// Commits a step of a long job that brought it further than it ever was. Crashes and failures
    /// from before the step are forgotten: a job that goes on after each of them is no culprit.
    pub async fn advance(&self, mut work: Work) -> Result<(), JobError> {
        if table::forgive(&mut work, self.lease).await? {
            work.commit().await?;
            Ok(())
        } else {
            work.abandon().await?;
            Err(JobError::LeaseLost)
        }
    }

    /// Commits the job's effect and takes it off the queue in one transaction: exactly once. A run
    /// whose lease has ended meanwhile commits nothing.
    pub async fn finish(&self, mut work: Work) -> Result<Outcome, JobError> {
        let moment = work.moment().await?;
        if table::finish(&mut work, self.lease, moment).await? {
            work.commit().await?;
            Ok(Outcome(Ended::Finished))
        } else {
            work.abandon().await?;
            Err(JobError::LeaseLost)
        }
    }
}
