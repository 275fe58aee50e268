//! `worker-kills`: workers are killed at random times; every job still takes effect exactly once, the
//! jobs that crash their worker (poison jobs) are quarantined, and no healthy job is.
//!
//! A healthy job whose worker is killed repeatedly while it runs alone cannot be distinguished from a
//! poison job: four crashes quarantine it, whatever caused them. So the parent does not kill a worker
//! while one more crash would quarantine a healthy job. With random kills this rarely happens; without
//! the rule one run in some hundreds would fail for no defect.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use database::{Database, Work};
use jobs::Job;
use rand::rngs::StdRng;
use rand::{Rng, RngExt};
use sqlx::PgConnection;
use testkit::TestDatabase;
use uuid::Uuid;

use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::worker::{Effect, FirstAttempt, Poison, WorkerArgs, WorkerProcess, make_effect_table};

const WORKERS: usize = 2;
/// Jobs kept in the queue, so that a kill always hits a busy worker.
const BACKLOG: i64 = 150;
const POISONS: usize = 10;
/// With so many crashes, one more quarantines the job.
const CRASHES_BEFORE_QUARANTINE: i32 = 3;
const TIMEOUT: Duration = Duration::from_mins(2);

struct Harness {
    trial: Trial,
    rng: StdRng,
    url: String,
    database: Database,
    sql: PgConnection,
    workers: Vec<WorkerProcess>,
    kills: usize,
    /// Workers that exited without being killed.
    aborts: usize,
    healthy: HashSet<Uuid>,
    poison: HashSet<Uuid>,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let mut harness = Harness::new(trial, &test).await?;
    harness.work_and_kill().await?;
    harness.drain().await?;
    harness.verify().await
}

impl Harness {
    async fn new(trial: Trial, test: &TestDatabase) -> Result<Self, Failure> {
        let mut sql = test.raw().await;
        make_effect_table(&mut sql).await?;
        let mut harness = Self {
            rng: trial.rng(1),
            trial,
            url: test.url(),
            database: test.another_process(),
            sql,
            workers: Vec::new(),
            kills: 0,
            aborts: 0,
            healthy: HashSet::new(),
            poison: HashSet::new(),
        };
        for number in 0..WORKERS {
            let worker = harness.start_worker(number)?;
            harness.workers.push(worker);
        }
        Ok(harness)
    }

    fn start_worker(&mut self, number: usize) -> Result<WorkerProcess, Failure> {
        WorkerProcess::start(&WorkerArgs {
            url: self.url.clone(),
            name: number.to_string(),
            lease_ms: 400,
            concurrency: 8,
            seed: self.rng.next_u64(),
            pause: None,
        })
    }

    /// Keeps the queue filled and the workers running, and kills one of them at random intervals.
    async fn work_and_kill(&mut self) -> Result<(), Failure> {
        let kills_wanted = self.trial.by_tier(20, 200);
        let mut next_kill = self.next_kill();
        while self.kills < kills_wanted {
            self.fill(kills_wanted).await?;
            self.restart_exited()?;
            if Instant::now() >= next_kill && !self.is_a_job_near_quarantine().await? {
                let victim = self.rng.random_range(0..WORKERS);
                self.workers[victim].kill()?;
                self.workers[victim] = self.start_worker(victim)?;
                self.kills += 1;
                next_kill = self.next_kill();
            }
            let (kills, jobs) = (self.kills, self.healthy.len());
            self.trial.progress(|| format!("{kills} of {kills_wanted} kills, {jobs} jobs"));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    fn next_kill(&mut self) -> Instant {
        Instant::now() + Duration::from_millis(self.rng.random_range(50..600))
    }

    fn restart_exited(&mut self) -> Result<(), Failure> {
        for number in 0..WORKERS {
            if self.workers[number].has_ended()? {
                self.workers[number] = self.start_worker(number)?;
                self.aborts += 1;
            }
        }
        Ok(())
    }

    async fn is_a_job_near_quarantine(&mut self) -> Result<bool, Failure> {
        let found =
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM job WHERE kind = $1 AND crashes >= $2)");
        Ok(found
            .bind(Effect::NAME)
            .bind(CRASHES_BEFORE_QUARANTINE)
            .fetch_one(&mut self.sql)
            .await?)
    }

    /// Enqueues more jobs when the backlog gets short, some of them poison jobs.
    async fn fill(&mut self, kills_wanted: usize) -> Result<(), Failure> {
        let queued: i64 =
            sqlx::query_scalar("SELECT count(*) FROM job").fetch_one(&mut self.sql).await?;
        if queued >= BACKLOG {
            return Ok(());
        }
        let mut work = Work::for_platform(&self.database).await?;
        for _ in queued..BACKLOG + 50 {
            let job = self.random_effect();
            self.healthy.insert(jobs::enqueue(&mut work, &job).await?.uuid());
        }
        let poisons_by_now = POISONS * (self.kills + 1) / kills_wanted;
        while self.poison.len() < poisons_by_now {
            self.poison.insert(jobs::enqueue(&mut work, &Poison {}).await?.uuid());
        }
        work.commit().await?;
        Ok(())
    }

    fn random_effect(&mut self) -> Effect {
        let first_attempt = match self.rng.random_range(0..40) {
            0 => FirstAttempt::Fails,
            1 => FirstAttempt::Panics,
            _ => FirstAttempt::Succeeds,
        };
        Effect { first_attempt, sleep_ms: self.rng.random_range(0..=20) }
    }

    /// Waits until the queue is empty.
    async fn drain(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + TIMEOUT;
        loop {
            self.restart_exited()?;
            let left: i64 =
                sqlx::query_scalar("SELECT count(*) FROM job").fetch_one(&mut self.sql).await?;
            if left == 0 {
                return Ok(());
            }
            ensure(Instant::now() < until, || format!("{left} jobs are still queued"))?;
            self.trial.progress(|| format!("{left} jobs left"));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn verify(&mut self) -> Verdict {
        self.workers.clear();
        let effects: Vec<(Uuid, i64)> =
            sqlx::query_as("SELECT job, count(*) FROM effect GROUP BY job")
                .fetch_all(&mut self.sql)
                .await?;
        let twice = effects.iter().filter(|(_, count)| *count > 1).count();
        ensure(twice == 0, || format!("{twice} jobs took effect more than once"))?;
        let done: HashSet<Uuid> = effects.into_iter().map(|(job, _)| job).collect();
        let never = self.healthy.difference(&done).count();
        ensure(never == 0, || format!("{never} jobs never took effect"))?;
        ensure(done.len() == self.healthy.len(), || {
            String::from("a job took effect that was never enqueued")
        })?;
        self.verify_dead_jobs().await?;
        Ok(format!(
            "{} kills and {} aborts: {} jobs, each effect exactly once; {} poison jobs \
             quarantined, no other",
            self.kills,
            self.aborts,
            grouped(self.healthy.len()),
            self.poison.len(),
        ))
    }

    async fn verify_dead_jobs(&mut self) -> Result<(), Failure> {
        let dead: Vec<(Uuid, String)> =
            sqlx::query_as("SELECT id, reason FROM dead_job").fetch_all(&mut self.sql).await?;
        let healthy = dead.iter().filter(|(job, _)| !self.poison.contains(job)).count();
        ensure(healthy == 0, || format!("{healthy} healthy jobs are dead"))?;
        let quarantined = dead.iter().filter(|(_, reason)| reason == "quarantined").count();
        ensure(quarantined == self.poison.len(), || {
            format!("{quarantined} of {} poison jobs are quarantined", self.poison.len())
        })
    }
}
