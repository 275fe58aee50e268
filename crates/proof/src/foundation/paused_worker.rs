//! (b) A worker that sleeps through its lease commits nothing when it wakes.
//!
//! The process is stopped (SIGSTOP) at two points of a run, for longer than its lease, while
//! another worker looks for jobs:
//!
//! 1. *Before it opens its work.* The other worker claims the job, which changes the token. The
//!    guard is `table::hold`, the statement that fences every work of a job:
//!    `SELECT … WHERE id = $1 AND lease_token = $2 AND run_at > $3 FOR NO KEY UPDATE`.
//! 2. *In its open work, before `finish`.* The row is locked by that work, so the other worker
//!    cannot claim the job. The guard is `table::finish`, with the moment of `clock_timestamp()`:
//!    `DELETE FROM job WHERE id = $1 AND lease_token = $2 AND run_at > $3`. Without its time the
//!    sleeper would commit what it decided before it slept.
//! 3. *The same, for longer than PostgreSQL lets a transaction stand idle* (ten seconds). The guard
//!    is `idle_in_transaction_session_timeout`: the engine undoes the work, and the job is done by
//!    the other worker while the first still sleeps.

use std::time::{Duration, Instant};

use database::{Database, Work};
use rand::Rng;
use rand::rngs::StdRng;
use sqlx::PgConnection;
use testkit::TestDatabase;

use crate::report::{Failure, Trial, Verdict, ensure};
use crate::worker::{Effect, PausePoint, Temper, WorkerArgs, WorkerProcess, make_effect_table};

const LEASE: Duration = Duration::from_millis(600);
const PATIENCE: Duration = Duration::from_secs(20);
const SLEEPER: &str = "sleeper";

struct Scene {
    trial: Trial,
    dice: StdRng,
    url: String,
    database: Database,
    sql: PgConnection,
    /// Goes last: the database is dropped with it.
    _test: TestDatabase,
}

/// Who left the effect: a worker, and which of its runs.
type By = (String, i32);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    // The third takes as long as the engine's patience; the others go on beside it.
    tokio::try_join!(
        async {
            let mut scene = Scene::set(&trial, 21).await?;
            scene.pause_before_work().await?;
            scene.pause_before_finish().await
        },
        async { Scene::set(&trial, 22).await?.pause_until_the_engine_gives_up().await },
    )?;
    Ok(String::from(
        "a worker slept past its lease, before its work, in its work and until the engine ended it: \
         woken it committed nothing, and each job took effect once",
    ))
}

impl Scene {
    async fn set(trial: &Trial, purpose: u64) -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let mut sql = test.raw().await;
        make_effect_table(&mut sql).await?;
        let (dice, database) = (trial.dice(purpose), test.another_process());
        Ok(Self { trial: trial.clone(), dice, url: test.url(), database, sql, _test: test })
    }

    async fn pause_before_work(&mut self) -> Result<(), Failure> {
        let mut sleeper = self.sleeper_at(PausePoint::BeforeWork).await?;
        sleeper.pause()?;
        let _other = self.start("other", None)?;
        let by = self.wait_for_effect().await?;
        sleeper.resume()?;
        let end = sleeper.line(PATIENCE).await?;
        ensure(end == "LeaseLost", || format!("the woken run ended with {end}"))?;
        self.judge(&by).await
    }

    async fn pause_before_finish(&mut self) -> Result<(), Failure> {
        let mut sleeper = self.sleeper_at(PausePoint::BeforeFinish).await?;
        sleeper.pause()?;
        let _other = self.start("other", None)?;
        tokio::time::sleep(LEASE * 3).await;
        let early = self.effects().await?.len();
        ensure(early == 0, || String::from("a job was run while an open work held it"))?;
        // So that the other worker, and not a second run of this one, takes the job over.
        sleeper.ask_to_end();
        sleeper.resume()?;
        let end = sleeper.line(PATIENCE).await?;
        ensure(end == "LeaseLost", || format!("the woken run ended with {end}"))?;
        let by = self.wait_for_effect().await?;
        self.judge(&by).await
    }

    async fn pause_until_the_engine_gives_up(&mut self) -> Result<(), Failure> {
        let mut sleeper = self.sleeper_at(PausePoint::BeforeFinish).await?;
        sleeper.pause()?;
        let _other = self.start("other", None)?;
        let by = self.wait_for_effect().await?;
        sleeper.resume()?;
        let end = sleeper.line(PATIENCE).await?;
        ensure(end.starts_with("Database("), || format!("the woken run ended with {end}"))?;
        self.judge(&by).await
    }

    /// One job in the queue, and a worker that has come to the point with it.
    async fn sleeper_at(&mut self, point: PausePoint) -> Result<WorkerProcess, Failure> {
        sqlx::raw_sql("TRUNCATE effect").execute(&mut self.sql).await?;
        let mut work = Work::for_platform(&self.database).await?;
        jobs::enqueue(&mut work, &Effect { temper: Temper::Calm, sleep_ms: 0 }).await?;
        work.commit().await?;
        let mut sleeper = self.start(SLEEPER, Some(point))?;
        let line = sleeper.line(PATIENCE).await?;
        ensure(line == "here", || format!("the worker said {line}"))?;
        Ok(sleeper)
    }

    fn start(&mut self, name: &str, pause: Option<PausePoint>) -> Result<WorkerProcess, Failure> {
        WorkerProcess::start(&WorkerArgs {
            url: self.url.clone(),
            name: name.to_owned(),
            lease_ms: u64::try_from(LEASE.as_millis())?,
            batch: 1,
            concurrency: 1,
            seed: self.dice.next_u64(),
            pause,
        })
    }

    async fn effects(&mut self) -> Result<Vec<By>, Failure> {
        Ok(sqlx::query_as("SELECT worker, run FROM effect").fetch_all(&mut self.sql).await?)
    }

    async fn wait_for_effect(&mut self) -> Result<By, Failure> {
        let since = Instant::now();
        while since.elapsed() < PATIENCE {
            if let Some(by) = self.effects().await?.pop() {
                return Ok(by);
            }
            self.trial
                .progress(|| format!("a worker sleeps, {:.0} s", since.elapsed().as_secs_f64()));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err("nobody took the job over".into())
    }

    /// One effect, and not by the run that slept, also a while later.
    async fn judge(&mut self, by: &By) -> Result<(), Failure> {
        tokio::time::sleep(LEASE * 2).await;
        let (worker, run) = by;
        ensure((worker.as_str(), *run) != (SLEEPER, 1), || {
            String::from("the woken run took effect")
        })?;
        let count = self.effects().await?.len();
        ensure(count == 1, || format!("the job took effect {count} times"))?;
        let left: i64 = sqlx::query_scalar(
            "SELECT (SELECT count(*) FROM job) + (SELECT count(*) FROM dead_job)",
        )
        .fetch_one(&mut self.sql)
        .await?;
        ensure(left == 0, || String::from("the job took effect and is still there"))
    }
}
