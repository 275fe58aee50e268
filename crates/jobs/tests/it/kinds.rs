//! Jobs for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use database::Work;
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Runner, RunnerSettings, Scheduled};
use primitives::MerchantId;
use serde::{Deserialize, Serialize};
use testkit::TestDatabase;

/// Counts its runs; fails as often as it is told.
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
    type Needs = Counter;

    async fn run(self, context: JobContext, counter: Counter) -> Result<Outcome, JobError> {
        counter.0.fetch_add(1, Ordering::SeqCst);
        if context.attempt() <= self.failures {
            return Err(JobError::Failed(String::from("not yet")));
        }
        Ok(Outcome::DONE)
    }
}

/// Enqueues a `Count` and finishes, both or neither.
#[derive(Serialize, Deserialize)]
pub(crate) struct Chain {
    pub(crate) advance_past_lease: bool,
}

impl Job for Chain {
    const NAME: &'static str = "chain";
    type Needs = database::Clock;

    async fn run(self, context: JobContext, clock: database::Clock) -> Result<Outcome, JobError> {
        let mut work = context.work_for_platform().await?;
        jobs::enqueue(&mut work, &Count { failures: 0 }).await?;
        if self.advance_past_lease && context.attempt() == 1 {
            clock.advance(std::time::Duration::from_mins(5));
        }
        context.finish(work).await
    }
}

/// Takes one step and dies: as a worker that is killed each time a long job has come a bit further.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stumble {
    pub(crate) merchant: MerchantId,
    pub(crate) steps: u32,
    /// Whether a step is told to the queue.
    pub(crate) advances: bool,
}

impl Job for Stumble {
    const NAME: &'static str = "stumble";
    type Needs = (Counter, database::Clock);

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

/// Finishes in a work of its store, after trying to reach every job there is.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoreChore {
    pub(crate) merchant: MerchantId,
}

impl Job for StoreChore {
    const NAME: &'static str = "store_chore";
    type Needs = Counter;

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, counter: Counter) -> Result<Outcome, JobError> {
        let mut work = context.work_for_store(self.merchant).await?;
        let reached = sqlx::query("UPDATE job SET run_at = run_at").execute(work.sql()).await?;
        counter.0.fetch_add(u32::try_from(reached.rows_affected()).unwrap(), Ordering::SeqCst);
        context.finish(work).await
    }
}

/// Panics each time.
#[derive(Serialize, Deserialize)]
pub(crate) struct Panic;

impl Job for Panic {
    const NAME: &'static str = "panic";
    const ATTEMPTS_MAX: u32 = 2;
    type Needs = ();

    async fn run(self, _: JobContext, (): ()) -> Result<Outcome, JobError> {
        panic!("as it does")
    }
}

/// A `Count` that comes round.
#[derive(Serialize, Deserialize)]
pub(crate) struct Round {
    pub(crate) epoch: Epoch,
}

impl Job for Round {
    const NAME: &'static str = "round";
    type Needs = Counter;

    async fn run(self, _: JobContext, counter: Counter) -> Result<Outcome, JobError> {
        counter.0.fetch_add(1, Ordering::SeqCst);
        Ok(Outcome::DONE)
    }
}

impl Scheduled for Round {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

pub(crate) fn runner(test: &TestDatabase, counter: &Counter) -> Runner {
    Runner::new(test.database().clone(), RunnerSettings::default())
        .register::<Count>(counter.clone())
        .register::<Chain>(test.clock().clone())
        .register::<Panic>(())
        .register::<StoreChore>(counter.clone())
        .register::<Stumble>((counter.clone(), test.clock().clone()))
        .register::<Round>(counter.clone())
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
