//! Slots: bulk jobs leave some for urgent ones, a merchant uses only a few, and scheduled jobs need none, not even after
//! their worker was killed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use database::Work;
use jobs::{
    Epoch, Job, JobContext, JobError, JobFilter, JobState, Outcome, Runner, RunnerSettings,
    Scheduled,
};
use primitives::{Id, MerchantId};
use serde::{Deserialize, Serialize};
use testkit::TestDatabase;
use tokio::sync::watch;

/// What started, in order, and the signal at which all runs end.
#[derive(Clone)]
struct Starts {
    started: Arc<Mutex<Vec<&'static str>>>,
    end: watch::Receiver<bool>,
}

impl Starts {
    async fn run(self, kind: &'static str) -> Result<Outcome, JobError> {
        self.started.lock().unwrap().push(kind);
        let mut end = self.end;
        let _ = end.wait_for(|end| *end).await;
        Ok(Outcome::DONE)
    }

    fn counts(&self) -> BTreeMap<&'static str, usize> {
        let started = self.started.lock().unwrap();
        started.iter().fold(BTreeMap::new(), |mut counts, kind| {
            *counts.entry(*kind).or_default() += 1;
            counts
        })
    }
}

/// A long job of a merchant.
#[derive(Serialize, Deserialize)]
struct Bulk {
    merchant: Option<MerchantId>,
}

impl Job for Bulk {
    const NAME: &'static str = "bulk";
    type Dependencies = Starts;

    fn merchant(&self) -> Option<MerchantId> {
        self.merchant
    }

    async fn run(self, _: JobContext, starts: Starts) -> Result<Outcome, JobError> {
        starts.run("bulk").await
    }
}

#[derive(Serialize, Deserialize)]
struct Urgent {}

impl Job for Urgent {
    const NAME: &'static str = "urgent";
    const IS_URGENT: bool = true;
    type Dependencies = Starts;

    async fn run(self, _: JobContext, starts: Starts) -> Result<Outcome, JobError> {
        starts.run("urgent").await
    }
}

#[derive(Serialize, Deserialize)]
struct Tick {
    epoch: Epoch,
}

impl Job for Tick {
    const NAME: &'static str = "tick";
    type Dependencies = Starts;

    async fn run(self, _: JobContext, starts: Starts) -> Result<Outcome, JobError> {
        starts.run("tick").await
    }
}

impl Scheduled for Tick {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

struct Running {
    starts: Starts,
    end: watch::Sender<bool>,
    stop: watch::Sender<bool>,
    worker: tokio::task::JoinHandle<()>,
}

impl Running {
    fn new(test: &TestDatabase, settings: RunnerSettings) -> Self {
        let (end, ended) = watch::channel(false);
        let starts = Starts { started: Arc::default(), end: ended };
        let (stop, stopped) = watch::channel(false);
        let runner = Runner::new(test.database().clone(), settings)
            .register::<Bulk>(starts.clone())
            .register::<Urgent>(starts.clone())
            .register::<Tick>(starts.clone())
            .every::<Tick>(Duration::from_hours(1));
        let worker = tokio::spawn(runner.run(stopped));
        Self { starts, end, stop, worker }
    }

    /// Waits until as many jobs have started, and a little longer for those that should not.
    async fn started(&self, count: usize) -> BTreeMap<&'static str, usize> {
        for _ in 0..500 {
            if self.starts.started.lock().unwrap().len() >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        self.starts.counts()
    }

    /// Ends the worker in the middle of its jobs, which stay leased.
    fn kill(self) {
        self.worker.abort();
    }

    async fn finish(self) {
        self.end.send(true).unwrap();
        self.stop.send(true).unwrap();
        self.worker.await.unwrap();
    }
}

async fn enqueue<J: Job>(test: &TestDatabase, count: usize, job: J) {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    for _ in 0..count {
        jobs::enqueue(&mut work, &job).await.unwrap();
    }
    work.commit().await.unwrap();
}

fn settings() -> RunnerSettings {
    let poll = Duration::from_millis(20);
    RunnerSettings {
        concurrency: 8,
        reserved: 2,
        per_merchant: 3,
        poll,
        ..RunnerSettings::default()
    }
}

#[tokio::test]
async fn bulk_jobs_leave_slots_for_urgent_and_scheduled_ones() {
    let test = TestDatabase::new().await;
    enqueue(&test, 50, Bulk { merchant: None }).await;
    let running = Running::new(&test, settings());
    assert_eq!(running.started(7).await, [("bulk", 6), ("tick", 1)].into());
    enqueue(&test, 10, Urgent {}).await;
    assert_eq!(running.started(9).await, [("bulk", 6), ("tick", 1), ("urgent", 2)].into());
    // Nothing is claimed beyond what runs.
    let reading = database::Reading::for_platform(test.database());
    let filter = JobFilter { state: Some(JobState::Running), ..JobFilter::default() };
    assert_eq!(jobs::list(&reading, &filter, 100).await.unwrap().len(), 9);
    running.finish().await;
}

#[tokio::test]
async fn one_merchant_does_not_fill_the_slots() {
    let test = TestDatabase::new().await;
    let merchant = |number| Some(MerchantId::from_random(number));
    // More due jobs of one merchant than a claim looks at.
    enqueue(&test, 200, Bulk { merchant: merchant(1) }).await;
    test.clock().advance(Duration::from_secs(1));
    enqueue(&test, 2, Bulk { merchant: merchant(2) }).await;
    let running = Running::new(&test, settings());
    assert_eq!(running.started(6).await, [("bulk", 5), ("tick", 1)].into());
    let by_merchant: Vec<i64> = sqlx::query_scalar(
        "SELECT count(*) FROM job WHERE lane = 1 AND merchant_id IS NOT NULL
         GROUP BY merchant_id ORDER BY 1",
    )
    .fetch_all(&mut test.raw().await)
    .await
    .unwrap();
    assert_eq!(by_merchant, [2, 3]);
    running.finish().await;
}

/// A lease shorter than that of other workers.
const SHORT_LEASE: Duration = Duration::from_secs(5);

/// Starts a worker and kills it while it runs the scheduled job.
async fn interrupt_scheduled_job(test: &TestDatabase) {
    let killed = Running::new(test, RunnerSettings { lease: SHORT_LEASE, ..settings() });
    assert_eq!(killed.started(1).await, [("tick", 1)].into());
    killed.kill();
}

/// Returns the crashes of the scheduled job, and whether it is in lane 1.
async fn scheduled_job(test: &TestDatabase) -> (i32, bool) {
    sqlx::query_as("SELECT crashes, lane = 1 FROM job WHERE kind = 'tick'")
        .fetch_one(&mut test.raw().await)
        .await
        .unwrap()
}

#[tokio::test]
async fn an_interrupted_scheduled_job_runs_again_beside_other_jobs() {
    let test = TestDatabase::new().await;
    interrupt_scheduled_job(&test).await;
    enqueue(&test, 50, Bulk { merchant: None }).await;
    let running = Running::new(&test, settings());
    assert_eq!(running.started(6).await, [("bulk", 6)].into(), "the lease is not over");
    // The lease of the killed worker is over. The other worker is never idle.
    test.clock().advance(SHORT_LEASE + Duration::from_secs(1));
    assert_eq!(running.started(7).await, [("bulk", 6), ("tick", 1)].into());
    assert_eq!(scheduled_job(&test).await, (1, true));
    running.finish().await;
}

#[tokio::test]
async fn a_scheduled_job_that_was_interrupted_three_times_waits_for_an_idle_worker() {
    let test = TestDatabase::new().await;
    for crashes in 0..3 {
        interrupt_scheduled_job(&test).await;
        assert_eq!(scheduled_job(&test).await, (crashes, true));
        if crashes < 2 {
            test.clock().advance(SHORT_LEASE + Duration::from_secs(1));
        }
    }
    enqueue(&test, 50, Bulk { merchant: None }).await;
    let running = Running::new(&test, settings());
    assert_eq!(running.started(6).await, [("bulk", 6)].into());
    test.clock().advance(SHORT_LEASE + Duration::from_secs(1));
    assert_eq!(running.started(6).await, [("bulk", 6)].into());
    running.end.send(true).unwrap();
    assert_eq!(running.started(51).await, [("bulk", 50), ("tick", 1)].into());
    running.finish().await;
}

#[tokio::test]
async fn a_scheduled_job_does_not_wait_for_all_suspects() {
    let test = TestDatabase::new().await;
    enqueue(&test, 3, Bulk { merchant: None }).await;
    enqueue(&test, 1, Tick { epoch: 0 }).await;
    sqlx::raw_sql(
        "UPDATE job SET lane = 1, lease_token = gen_random_uuid() WHERE kind = 'bulk';
         UPDATE job SET priority = 2 WHERE kind = 'tick'",
    )
    .execute(&mut test.raw().await)
    .await
    .unwrap();
    let (_end, ended) = watch::channel(true);
    let starts = Starts { started: Arc::default(), end: ended };
    let runner = Runner::new(test.database().clone(), settings())
        .register::<Bulk>(starts.clone())
        .register::<Tick>(starts.clone());
    assert_eq!(runner.run_until_idle().await.unwrap(), 4);
    assert_eq!(*starts.started.lock().unwrap(), ["bulk", "tick", "bulk", "bulk"]);
}
