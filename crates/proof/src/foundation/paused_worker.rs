//! `paused-worker`: a worker paused past its lease commits nothing when it resumes.
//!
//! The process is stopped (SIGSTOP) at two points of a run, for longer than its lease, while another
//! worker polls for jobs:
//!
//! 1. *Before it opens its `Work`.* The other worker claims the job, which changes the token. The
//!    guard is `table::lock`, the statement that fences every `Work` of a job:
//!    `SELECT … WHERE id = $1 AND lease_token = $2 AND run_at > $3 FOR NO KEY UPDATE`.
//! 2. *In its open `Work`, before `finish`.* That transaction locks the row, so the other worker
//!    cannot claim the job. The guard is `table::finish`, with the time of `clock_timestamp()`:
//!    `DELETE FROM job WHERE id = $1 AND lease_token = $2 AND run_at > $3`. Without the time condition
//!    the resumed worker would commit what it decided before the pause.
//! 3. *The same, for longer than PostgreSQL lets a transaction stay idle* (ten seconds). The guard is
//!    `idle_in_transaction_session_timeout`: PostgreSQL rolls the transaction back, and the other
//!    worker runs the job while the first is still paused.

use std::time::{Duration, Instant};

use database::{Database, Work};
use rand::Rng;
use rand::rngs::StdRng;
use sqlx::PgConnection;
use testkit::TestDatabase;

use crate::report::{Failure, Trial, Verdict, ensure};
use crate::worker::{
    Effect, FirstAttempt, PausePoint, WorkerArgs, WorkerProcess, make_effect_table,
};

const LEASE: Duration = Duration::from_millis(600);
const TIMEOUT: Duration = Duration::from_secs(20);
/// Name of the worker that is paused.
const PAUSED: &str = "paused";

struct Harness {
    trial: Trial,
    rng: StdRng,
    url: String,
    database: Database,
    sql: PgConnection,
    /// Dropped last, because it drops the database.
    _test: TestDatabase,
}

/// The worker that wrote the effect, and the number of its run.
type By = (String, i32);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    // The third case takes as long as the idle timeout; the others run concurrently.
    tokio::try_join!(
        async {
            let mut harness = Harness::new(&trial, 21).await?;
            harness.pause_before_work().await?;
            harness.pause_before_finish().await
        },
        async { Harness::new(&trial, 22).await?.pause_past_idle_timeout().await },
    )?;
    Ok(String::from(
        "a worker was paused past its lease before its transaction, in it, and past the idle timeout: \
         after resuming it committed nothing, and each job took effect once",
    ))
}

impl Harness {
    async fn new(trial: &Trial, purpose: u64) -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let mut sql = test.raw().await;
        make_effect_table(&mut sql).await?;
        let (rng, database) = (trial.rng(purpose), test.another_process());
        Ok(Self { trial: trial.clone(), rng, url: test.url(), database, sql, _test: test })
    }

    async fn pause_before_work(&mut self) -> Result<(), Failure> {
        let mut paused = self.paused_at(PausePoint::BeforeWork).await?;
        paused.pause()?;
        let _other = self.start("other", None)?;
        let by = self.wait_for_effect().await?;
        paused.resume()?;
        let end = paused.line(TIMEOUT).await?;
        ensure(end == "LeaseLost", || format!("the resumed run ended with {end}"))?;
        self.verify(&by).await
    }

    async fn pause_before_finish(&mut self) -> Result<(), Failure> {
        let mut paused = self.paused_at(PausePoint::BeforeFinish).await?;
        paused.pause()?;
        let _other = self.start("other", None)?;
        tokio::time::sleep(LEASE * 3).await;
        let early = self.effects().await?.len();
        ensure(early == 0, || String::from("a job was run while an open transaction locked it"))?;
        // So that the other worker, and not a second run of this one, claims the job.
        paused.request_stop();
        paused.resume()?;
        let end = paused.line(TIMEOUT).await?;
        ensure(end == "LeaseLost", || format!("the resumed run ended with {end}"))?;
        let by = self.wait_for_effect().await?;
        self.verify(&by).await
    }

    async fn pause_past_idle_timeout(&mut self) -> Result<(), Failure> {
        let mut paused = self.paused_at(PausePoint::BeforeFinish).await?;
        paused.pause()?;
        let _other = self.start("other", None)?;
        let by = self.wait_for_effect().await?;
        paused.resume()?;
        let end = paused.line(TIMEOUT).await?;
        ensure(end.starts_with("Database("), || format!("the resumed run ended with {end}"))?;
        self.verify(&by).await
    }

    /// Enqueues one job and starts a worker that has reached the point with it.
    async fn paused_at(&mut self, point: PausePoint) -> Result<WorkerProcess, Failure> {
        sqlx::raw_sql("TRUNCATE effect").execute(&mut self.sql).await?;
        let mut work = Work::for_platform(&self.database).await?;
        jobs::enqueue(&mut work, &Effect { first_attempt: FirstAttempt::Succeeds, sleep_ms: 0 })
            .await?;
        work.commit().await?;
        let mut paused = self.start(PAUSED, Some(point))?;
        let line = paused.line(TIMEOUT).await?;
        ensure(line == "reached", || format!("the worker printed {line}"))?;
        Ok(paused)
    }

    fn start(&mut self, name: &str, pause: Option<PausePoint>) -> Result<WorkerProcess, Failure> {
        WorkerProcess::start(&WorkerArgs {
            url: self.url.clone(),
            name: name.to_owned(),
            lease_ms: u64::try_from(LEASE.as_millis())?,
            concurrency: 1,
            seed: self.rng.next_u64(),
            pause,
        })
    }

    async fn effects(&mut self) -> Result<Vec<By>, Failure> {
        Ok(sqlx::query_as("SELECT worker, run FROM effect").fetch_all(&mut self.sql).await?)
    }

    async fn wait_for_effect(&mut self) -> Result<By, Failure> {
        let since = Instant::now();
        while since.elapsed() < TIMEOUT {
            if let Some(by) = self.effects().await?.pop() {
                return Ok(by);
            }
            self.trial
                .progress(|| format!("a worker is paused, {:.0} s", since.elapsed().as_secs_f64()));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("the other worker did not run the job in time".into())
    }

    /// Waits, then fails unless there is one effect and the paused run did not write it.
    async fn verify(&mut self, by: &By) -> Result<(), Failure> {
        tokio::time::sleep(LEASE * 2).await;
        let (worker, run) = by;
        ensure((worker.as_str(), *run) != (PAUSED, 1), || {
            String::from("the resumed run took effect")
        })?;
        let count = self.effects().await?.len();
        ensure(count == 1, || format!("the job took effect {count} times"))?;
        let left: i64 = sqlx::query_scalar(
            "SELECT (SELECT count(*) FROM job) + (SELECT count(*) FROM dead_job)",
        )
        .fetch_one(&mut self.sql)
        .await?;
        ensure(left == 0, || String::from("the job took effect and is still queued"))
    }
}
