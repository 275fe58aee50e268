//! (a) Workers are killed at random moments; every job still takes effect exactly once, the ones
//! that kill their worker are quarantined, and no innocent one is.
//!
//! A job whose worker dies again and again while it runs alone looks exactly like one that kills
//! its worker: four deaths quarantine it, whoever caused them. So the parent does not kill while an
//! innocent job is on its last life. With random kills that moment hardly ever comes; without the
//! rule one run in some hundreds would fail for what is not a fault.

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
use crate::worker::{Effect, Poison, Temper, WorkerArgs, WorkerProcess, make_effect_table};

const WORKERS: usize = 2;
/// Jobs that are kept waiting, so that a kill always hits somebody at work.
const BACKLOG: i64 = 150;
const POISONS: usize = 10;
/// From here on, one more death means quarantine.
const LAST_LIFE: i32 = 3;
const PATIENCE: Duration = Duration::from_mins(2);

struct Scene {
    trial: Trial,
    dice: StdRng,
    url: String,
    database: Database,
    sql: PgConnection,
    workers: Vec<WorkerProcess>,
    kills: usize,
    /// Workers that went down by themselves.
    aborts: usize,
    innocent: HashSet<Uuid>,
    poisonous: HashSet<Uuid>,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let mut scene = Scene::set(trial, &test).await?;
    scene.work_and_kill().await?;
    scene.drain().await?;
    scene.judge().await
}

impl Scene {
    async fn set(trial: Trial, test: &TestDatabase) -> Result<Self, Failure> {
        let mut sql = test.raw().await;
        make_effect_table(&mut sql).await?;
        let mut scene = Self {
            dice: trial.dice(1),
            trial,
            url: test.url(),
            database: test.another_process(),
            sql,
            workers: Vec::new(),
            kills: 0,
            aborts: 0,
            innocent: HashSet::new(),
            poisonous: HashSet::new(),
        };
        for number in 0..WORKERS {
            let worker = scene.start_worker(number)?;
            scene.workers.push(worker);
        }
        Ok(scene)
    }

    fn start_worker(&mut self, number: usize) -> Result<WorkerProcess, Failure> {
        WorkerProcess::start(&WorkerArgs {
            url: self.url.clone(),
            name: number.to_string(),
            lease_ms: 400,
            batch: 12,
            concurrency: 8,
            seed: self.dice.next_u64(),
            pause: None,
        })
    }

    /// Keeps the queue filled and the workers alive, and kills one of them now and then.
    async fn work_and_kill(&mut self) -> Result<(), Failure> {
        let kills_wanted = self.trial.by_tier(20, 200);
        let mut next_kill = self.moment_of_kill();
        while self.kills < kills_wanted {
            self.fill(kills_wanted).await?;
            self.restart_the_dead()?;
            if Instant::now() >= next_kill && !self.somebody_is_on_the_last_life().await? {
                let victim = self.dice.random_range(0..WORKERS);
                self.workers[victim].kill()?;
                self.workers[victim] = self.start_worker(victim)?;
                self.kills += 1;
                next_kill = self.moment_of_kill();
            }
            let (kills, jobs) = (self.kills, self.innocent.len());
            self.trial.progress(|| format!("{kills} of {kills_wanted} kills, {jobs} jobs"));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    fn moment_of_kill(&mut self) -> Instant {
        Instant::now() + Duration::from_millis(self.dice.random_range(50..600))
    }

    fn restart_the_dead(&mut self) -> Result<(), Failure> {
        for number in 0..WORKERS {
            if self.workers[number].has_ended()? {
                self.workers[number] = self.start_worker(number)?;
                self.aborts += 1;
            }
        }
        Ok(())
    }

    async fn somebody_is_on_the_last_life(&mut self) -> Result<bool, Failure> {
        let found =
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM job WHERE kind = $1 AND crashes >= $2)");
        Ok(found.bind(Effect::NAME).bind(LAST_LIFE).fetch_one(&mut self.sql).await?)
    }

    /// Enqueues more when the backlog gets short, now and then with a poisonous one among them.
    async fn fill(&mut self, kills_wanted: usize) -> Result<(), Failure> {
        let queued: i64 =
            sqlx::query_scalar("SELECT count(*) FROM job").fetch_one(&mut self.sql).await?;
        if queued >= BACKLOG {
            return Ok(());
        }
        let mut work = Work::for_platform(&self.database).await?;
        for _ in queued..BACKLOG + 50 {
            let job = self.throw_effect();
            self.innocent.insert(jobs::enqueue(&mut work, &job).await?.uuid());
        }
        let poisons_by_now = POISONS * (self.kills + 1) / kills_wanted;
        while self.poisonous.len() < poisons_by_now {
            self.poisonous.insert(jobs::enqueue(&mut work, &Poison {}).await?.uuid());
        }
        work.commit().await?;
        Ok(())
    }

    fn throw_effect(&mut self) -> Effect {
        let temper = match self.dice.random_range(0..40) {
            0 => Temper::FailsOnce,
            1 => Temper::PanicsOnce,
            _ => Temper::Calm,
        };
        Effect { temper, sleep_ms: self.dice.random_range(0..=20) }
    }

    /// Lets the workers run until nothing is left to do.
    async fn drain(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            self.restart_the_dead()?;
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

    async fn judge(&mut self) -> Verdict {
        self.workers.clear();
        let effects: Vec<(Uuid, i64)> =
            sqlx::query_as("SELECT job, count(*) FROM effect GROUP BY job")
                .fetch_all(&mut self.sql)
                .await?;
        let twice = effects.iter().filter(|(_, count)| *count > 1).count();
        ensure(twice == 0, || format!("{twice} jobs took effect more than once"))?;
        let done: HashSet<Uuid> = effects.into_iter().map(|(job, _)| job).collect();
        let never = self.innocent.difference(&done).count();
        ensure(never == 0, || format!("{never} jobs never took effect"))?;
        ensure(done.len() == self.innocent.len(), || {
            String::from("a job took effect that nobody enqueued")
        })?;
        self.judge_the_dead().await?;
        Ok(format!(
            "{} kills and {} aborts: {} jobs, each effect exactly once; {} poisonous ones \
             quarantined, no other",
            self.kills,
            self.aborts,
            grouped(self.innocent.len()),
            self.poisonous.len(),
        ))
    }

    async fn judge_the_dead(&mut self) -> Result<(), Failure> {
        let dead: Vec<(Uuid, String)> =
            sqlx::query_as("SELECT id, reason FROM dead_job").fetch_all(&mut self.sql).await?;
        let innocent = dead.iter().filter(|(job, _)| !self.poisonous.contains(job)).count();
        ensure(innocent == 0, || format!("{innocent} innocent jobs are dead"))?;
        let quarantined = dead.iter().filter(|(_, reason)| reason == "quarantined").count();
        ensure(quarantined == self.poisonous.len(), || {
            format!("{quarantined} of {} poisonous jobs are quarantined", self.poisonous.len())
        })
    }
}
