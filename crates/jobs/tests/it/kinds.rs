//! Kinds of jobs for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use database::Work;
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Runner, RunnerSettings, Scheduled};
use primitives::MerchantId;
use serde::{Deserialize, Serialize};
use testkit::TestDatabase;

/// Counts its runs; fails the first `failures` times.
#[derive(Serialize, Deserialize)]
pub(crate) struct Count {
    pub(crate) failures: u32,
}

#[derive(Clone, Default)]
pub(crate) struct Counter(pub(crate) Arc<AtomicU32>);

impl Counter {
    pub(crate) fn value(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Job for Count {
    const NAME: &'static str = "count";
    const ATTEMPTS_MAX: u32 = 3;
    type Dependencies = Counter;

    async fn run(self, context: JobContext, counter: Counter) -> Result<Outcome, JobError> {
        counter.0.fetch_add(1, Ordering::SeqCst);
        if context.attempt() <= self.failures {
            return Err(JobError::Failed(String::from("not yet")));
        }
        Ok(Outcome::DONE)
    }
}

/// Enqueues a `Count` and finishes, in one transaction.
#[derive(Serialize, Deserialize)]
pub(crate) struct Chain {
    pub(crate) advance_past_lease: bool,
}

impl Job for Chain {
    const NAME: &'static str = "chain";
    type Dependencies = database::Clock;

    async fn run(self, context: JobContext, clock: database::Clock) -> Result<Outcome, JobError> {
        let mut work = context.work_for_platform().await?;
        jobs::enqueue(&mut work, &Count { failures: 0 }).await?;
        if self.advance_past_lease && context.attempt() == 1 {
            clock.advance(std::time::Duration::from_mins(5));
        }
        context.finish(work).await
    }
}

/// Takes one step and loses its lease: like a worker that is killed after each step of a long job.
#[derive(Serialize, Deserialize)]
pub(crate) struct Interrupted {
    pub(crate) merchant: MerchantId,
    pub(crate) steps: u32,
    /// Whether a step is committed with `context.advance`.
    pub(crate) advances: bool,
}

impl Job for Interrupted {
    const NAME: &'static str = "interrupted";
    type Dependencies = (Counter, database::Clock);

    async fn run(
        self,
        context: JobContext,
        (counter, clock): (Counter, database::Clock),
    ) -> Result<Outcome, JobError> {
        let work = context.work_for_store(self.merchant).await?;
        if counter.0.fetch_add(1, Ordering::SeqCst) + 1 == self.steps {
            return context.finish(work).await;
        }
        if self.advances {
            context.advance(work).await?;
        } else {
            work.commit().await?;
        }
        clock.advance(std::time::Duration::from_mins(5));
        Err(JobError::LeaseLost)
    }
}

/// Finishes in a transaction of its store, after trying to update every job.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoreJob {
    pub(crate) merchant: MerchantId,
}

impl Job for StoreJob {
    const NAME: &'static str = "store_job";
    type Dependencies = Counter;

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, counter: Counter) -> Result<Outcome, JobError> {
        let mut work = context.work_for_store(self.merchant).await?;
        let updated = sqlx::query("UPDATE job SET run_at = run_at").execute(work.sql()).await?;
        counter.0.fetch_add(u32::try_from(updated.rows_affected()).unwrap(), Ordering::SeqCst);
        context.finish(work).await
    }
}

/// Panics each time.
#[derive(Serialize, Deserialize)]
pub(crate) struct Panic;

impl Job for Panic {
    const NAME: &'static str = "panic";
    const ATTEMPTS_MAX: u32 = 2;
    type Dependencies = ();

    async fn run(self, _: JobContext, (): ()) -> Result<Outcome, JobError> {
        panic!("this job always panics")
    }
}

/// A scheduled job that counts its runs.
#[derive(Serialize, Deserialize)]
pub(crate) struct Periodic {
    pub(crate) epoch: Epoch,
}

impl Job for Periodic {
    const NAME: &'static str = "periodic";
    type Dependencies = Counter;

    async fn run(self, _: JobContext, counter: Counter) -> Result<Outcome, JobError> {
        counter.0.fetch_add(1, Ordering::SeqCst);
        Ok(Outcome::DONE)
    }
}

impl Scheduled for Periodic {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

/// How a [`Failing`] job ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Failed,
    Permanent,
}

/// A scheduled job that always fails.
#[derive(Serialize, Deserialize)]
pub(crate) struct Failing {
    epoch: Epoch,
}

impl Job for Failing {
    const NAME: &'static str = "failing";
    const ATTEMPTS_MAX: u32 = 1;
    type Dependencies = (Counter, Fault);

    async fn run(
        self,
        _: JobContext,
        (counter, fault): (Counter, Fault),
    ) -> Result<Outcome, JobError> {
        counter.0.fetch_add(1, Ordering::SeqCst);
        match fault {
            Fault::Failed => Err(JobError::Failed(String::from("again"))),
            Fault::Permanent => Err(JobError::Permanent(String::from("for good"))),
        }
    }
}

impl Scheduled for Failing {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

pub(crate) fn runner(test: &TestDatabase, counter: &Counter) -> Runner {
    Runner::new(test.database().clone(), RunnerSettings::default())
        .register::<Count>(counter.clone())
        .register::<Chain>(test.clock().clone())
        .register::<Panic>(())
        .register::<StoreJob>(counter.clone())
        .register::<Interrupted>((counter.clone(), test.clock().clone()))
        .register::<Periodic>(counter.clone())
}

pub(crate) async fn enqueue<J: Job>(test: &TestDatabase, job: &J) {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    jobs::enqueue(&mut work, job).await.unwrap();
    work.commit().await.unwrap();
}

pub(crate) async fn rows(test: &TestDatabase, table: &str) -> i64 {
    let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(count).fetch_one(&mut test.raw().await).await.unwrap()
}
