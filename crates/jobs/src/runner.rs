//! Running jobs: claim a batch, mark some as started, run them side by side, settle what came back.

mod registry;
mod settle;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Database, Work};
use primitives::{JobId, Timestamp};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use uuid::Uuid;

use crate::context::Lease;
use crate::job::Ended;
use crate::runner::registry::Registry;
use crate::schedule::Scheduled;
use crate::table::{self, Claimed};
use crate::{DeadReason, Job, JobContext, JobError, QueueError};

/// A job that was started this often without coming back is quarantined: once in company, and then
/// alone.
const CRASHES_MAX: i32 = 3;
/// Jobs that end within this span are recorded together.
const TOGETHER: Duration = Duration::from_millis(1);
/// How often a busy runner looks for suspects, and how long it then makes room at the most.
const SUSPECTS_SOUGHT_EVERY: Duration = Duration::from_secs(5);
const DRAINING_MAX: Duration = Duration::from_secs(2);

/// How a runner works.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// Jobs claimed in one go.
    pub batch: usize,
    /// Jobs run side by side.
    pub concurrency: usize,
    /// How long a lease lasts; it is renewed each third of it.
    pub lease: Duration,
    /// How long an idle runner waits before it looks again.
    pub poll: Duration,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            batch: 50,
            concurrency: 16,
            lease: Duration::from_secs(30),
            poll: Duration::from_millis(200),
        }
    }
}

/// Runs the jobs of one process.
pub struct Runner {
    database: Database,
    settings: RunnerSettings,
    registry: Arc<Registry>,
}

/// What a run came to.
type Verdict = Result<Ended, JobError>;

/// The jobs in the hands of one runner.
#[derive(Default)]
struct Hands {
    /// Claimed under the token and not started.
    waiting: VecDeque<(Uuid, Claimed)>,
    running: JoinSet<Verdict>,
    started: HashMap<tokio::task::Id, Started>,
    /// Came back and not recorded yet; kept until it is, also while the database is away.
    returned: Vec<Returned>,
    /// What is running is a suspect: nothing is started beside it.
    alone: bool,
    /// Nothing is started until then, so that the place becomes free for a suspect.
    draining_until: Option<Instant>,
    suspects_sought: Option<Instant>,
}

/// A started job.
struct Started {
    lease: Lease,
    kind: String,
    attempts: i32,
    attempts_max: u32,
    since: Instant,
}

/// A job that came back.
struct Returned {
    job: Started,
    verdict: Verdict,
}

impl Runner {
    /// A runner without any kinds of jobs.
    #[must_use]
    pub fn new(database: Database, settings: RunnerSettings) -> Self {
        Self { database, settings, registry: Arc::default() }
    }

    /// Makes a kind of job known, with what it needs.
    ///
    /// # Panics
    /// If two kinds have one name: a mistake that must show at start.
    #[must_use]
    pub fn register<J: Job>(mut self, needs: J::Needs) -> Self {
        self.registry_mut().add::<J>(needs);
        self
    }

    /// Enqueues a kind of job once in each period.
    #[must_use]
    pub fn every<J: Scheduled>(mut self, period: Duration) -> Self {
        self.registry_mut().schedule::<J>(period);
        self
    }

    #[expect(clippy::expect_used, reason = "registration happens before the runner is shared")]
    fn registry_mut(&mut self) -> &mut Registry {
        Arc::get_mut(&mut self.registry).expect("kinds are registered before the runner runs")
    }

    /// Works until told to stop; then starts nothing more and waits for what is running.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let heart = tokio::spawn(tick(self.database.clone(), Arc::clone(&self.registry)));
        let mut hands = Hands::default();
        let mut renewed = Instant::now();
        while !*stop.borrow() {
            if let Err(error) = self.turn(&mut hands, &mut renewed, &mut stop).await {
                tracing::warn!(error = %error, "the job queue cannot be reached");
                tokio::time::sleep(self.settings.poll).await;
            }
        }
        self.hand_back(&mut hands).await;
        self.wait_for_running(&mut hands).await;
        heart.abort();
    }

    /// Runs what is due at this moment, and what that enqueues, until nothing is left. For tests and
    /// commands; a runner in production uses `run`.
    pub async fn run_until_idle(&self) -> Result<usize, QueueError> {
        let mut hands = Hands::default();
        let mut count = 0;
        loop {
            let any = self.start_more(&mut hands).await?;
            if !any && hands.running.is_empty() {
                return Ok(count);
            }
            while !hands.running.is_empty() {
                hands.wait_for_one().await;
                count += hands.returned.len();
                self.settle(&mut hands).await?;
            }
        }
    }

    /// One turn: start what can be started, else wait for something to happen; settle what came
    /// back; renew the leases in time.
    async fn turn(
        &self,
        hands: &mut Hands,
        renewed: &mut Instant,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), QueueError> {
        hands.take_returned();
        if !self.start_more(hands).await? && hands.returned.is_empty() {
            tokio::select! {
                () = hands.wait_for_some(), if !hands.running.is_empty() => {}
                () = tokio::time::sleep(self.settings.poll) => {}
                _ = stop.changed() => {}
            }
        }
        self.settle(hands).await?;
        if renewed.elapsed() > self.settings.lease / 3 {
            self.renew(hands).await?;
            *renewed = Instant::now();
        }
        Ok(())
    }

    /// Records how what came back had ended.
    async fn settle(&self, hands: &mut Hands) -> Result<(), QueueError> {
        settle::settle(&self.database, &hands.returned).await?;
        hands.returned.clear();
        Ok(())
    }

    /// Fills the free places. A suspect is run alone: nothing is started beside it, and it is not
    /// started beside others.
    async fn start_more(&self, hands: &mut Hands) -> Result<bool, QueueError> {
        if hands.running.is_empty() {
            hands.alone = false;
            hands.draining_until = None;
        }
        let free = self.settings.concurrency.saturating_sub(hands.running.len());
        if free == 0 || hands.alone || self.makes_room(hands).await? {
            return Ok(false);
        }
        if hands.waiting.is_empty() {
            return self.claim(hands, free).await;
        }
        let next: Vec<_> = hands.waiting.drain(..free.min(hands.waiting.len())).collect();
        self.start(hands, next).await?;
        Ok(true)
    }

    /// Whether to start nothing for a while because a suspect is waiting for an empty place. A busy
    /// runner looks for suspects now and then; the pause is bounded, so that a long job beside it
    /// cannot hold the queue up.
    async fn makes_room(&self, hands: &mut Hands) -> Result<bool, QueueError> {
        if hands.running.is_empty() {
            return Ok(false);
        }
        if let Some(until) = hands.draining_until {
            return Ok(Instant::now() < until);
        }
        if hands.suspects_sought.is_some_and(|sought| sought.elapsed() < SUSPECTS_SOUGHT_EVERY) {
            return Ok(false);
        }
        hands.suspects_sought = Some(Instant::now());
        let mut work = Work::for_platform(&self.database).await?;
        let waiting = table::suspect_waits(&mut work).await?;
        work.abandon().await?;
        hands.draining_until = waiting.then(|| Instant::now() + DRAINING_MAX);
        Ok(waiting)
    }

    /// Claims: a suspect if the place is empty and one is due, else a batch. What fits into the free
    /// places is marked as started in the same statement.
    async fn claim(&self, hands: &mut Hands, free: usize) -> Result<bool, QueueError> {
        let mut work = Work::for_platform(&self.database).await?;
        let (token, until) = (new_token(&mut work), self.lease_end(work.now()));
        if hands.running.is_empty()
            && let Some(job) = table::claim_alone(&mut work, token, until).await?
        {
            return self.start_alone(hands, work, token, job).await;
        }
        let limit = i64::try_from(self.settings.batch).unwrap_or(i64::MAX);
        let at_once = free >= self.settings.batch;
        let claimed = table::claim(&mut work, token, until, limit, at_once).await?;
        work.commit().await?;
        let any = !claimed.is_empty();
        for job in claimed {
            if at_once {
                self.spawn(hands, token, job);
            } else {
                hands.waiting.push_back((token, job));
            }
        }
        Ok(any)
    }

    /// Runs a suspect with nothing beside it; one that has done it too often is buried instead.
    async fn start_alone(
        &self,
        hands: &mut Hands,
        mut work: Work,
        token: Uuid,
        job: Claimed,
    ) -> Result<bool, QueueError> {
        if job.crashes > CRASHES_MAX {
            let lease = Lease { job: job.id, token };
            table::bury(&mut work, lease, DeadReason::Quarantined, None).await?;
            work.commit().await?;
            tracing::error!(job = %job.id, kind = job.kind, "quarantined: it keeps killing its worker");
        } else {
            work.commit().await?;
            hands.alone = true;
            self.spawn(hands, token, job);
        }
        Ok(true)
    }

    /// Marks jobs as started and runs those that still belong to this runner.
    async fn start(&self, hands: &mut Hands, next: Vec<(Uuid, Claimed)>) -> Result<(), QueueError> {
        let Some(token) = next.first().map(|(token, _)| *token) else {
            return Ok(());
        };
        let ids: Vec<Uuid> = next.iter().map(|(_, job)| job.id.uuid()).collect();
        let mut work = Work::for_platform(&self.database).await?;
        let until = self.lease_end(work.now());
        let ours: Vec<JobId> = table::start(&mut work, token, &ids, until).await?;
        work.commit().await?;
        for (token, job) in next {
            if ours.contains(&job.id) {
                self.spawn(hands, token, job);
            }
        }
        Ok(())
    }

    fn spawn(&self, hands: &mut Hands, token: Uuid, job: Claimed) {
        let lease = Lease { job: job.id, token };
        let attempt = u32::try_from(job.attempts).unwrap_or(0) + 1;
        let context = JobContext::new(self.database.clone(), lease, attempt);
        let (run, attempts_max) = self.registry.run(&job.kind, job.payload, context);
        let task = hands.running.spawn(run).id();
        let (kind, attempts, since) = (job.kind, job.attempts, Instant::now());
        hands.started.insert(task, Started { lease, kind, attempts, attempts_max, since });
    }

    async fn renew(&self, hands: &Hands) -> Result<(), QueueError> {
        let held: Vec<Lease> = hands
            .started
            .values()
            .map(|started| started.lease)
            .chain(hands.waiting.iter().map(|(token, job)| Lease { job: job.id, token: *token }))
            .collect();
        if held.is_empty() {
            return Ok(());
        }
        let (jobs, tokens) = settle::columns(&held);
        let mut work = Work::for_platform(&self.database).await?;
        let until = self.lease_end(work.now());
        table::renew(&mut work, &jobs, &tokens, until).await?;
        work.commit().await?;
        Ok(())
    }

    fn lease_end(&self, now: Timestamp) -> Timestamp {
        now.plus(self.settings.lease)
    }

    /// Gives back what was claimed and never started, so that others need not wait for the lease.
    async fn hand_back(&self, hands: &mut Hands) {
        let waiting: Vec<_> = hands.waiting.drain(..).collect();
        let Some(token) = waiting.first().map(|(token, _)| *token) else {
            return;
        };
        let ids: Vec<Uuid> = waiting.iter().map(|(_, job)| job.id.uuid()).collect();
        let given = async {
            let mut work = Work::for_platform(&self.database).await?;
            table::release(&mut work, token, &ids).await?;
            work.commit().await?;
            Ok::<(), QueueError>(())
        };
        if let Err(error) = given.await {
            tracing::warn!(error = %error, "claimed jobs wait for their lease to end");
        }
    }

    async fn wait_for_running(&self, hands: &mut Hands) {
        while !hands.running.is_empty() || !hands.returned.is_empty() {
            let pause = self.settings.lease / 3;
            let waited = tokio::time::timeout(pause, hands.wait_for_one()).await;
            let step = match waited {
                Ok(()) => self.settle(hands).await,
                Err(_) => self.renew(hands).await,
            };
            if let Err(error) = step {
                tracing::warn!(error = %error, "a job's end could not be recorded; it will run again");
                hands.returned.clear();
            }
        }
    }
}

impl Hands {
    /// Takes whatever has come back, without waiting.
    fn take_returned(&mut self) {
        while let Some(result) = self.running.try_join_next_with_id() {
            self.receive(result);
        }
    }

    /// Waits for one job, and takes those that came back with it.
    async fn wait_for_one(&mut self) {
        if let Some(result) = self.running.join_next_with_id().await {
            self.receive(result);
            self.take_returned();
        }
    }

    /// Waits for one job, and a moment longer for those that end with it: recording them together
    /// is one transaction instead of many.
    async fn wait_for_some(&mut self) {
        self.wait_for_one().await;
        let together = async {
            while !self.running.is_empty() {
                self.wait_for_one().await;
            }
        };
        // Running out of time is no loss: each job that came back is in `returned` already.
        let _ = tokio::time::timeout(TOGETHER, together).await;
    }

    fn receive(&mut self, result: Result<(tokio::task::Id, Verdict), JoinError>) {
        let (task, verdict) = match result {
            Ok((task, verdict)) => (task, verdict),
            Err(error) => (error.id(), Err(JobError::Failed(String::from("the job panicked")))),
        };
        if let Some(job) = self.started.remove(&task) {
            settle::count(&job, &verdict);
            self.returned.push(Returned { job, verdict });
        }
    }
}

fn new_token(work: &mut Work) -> Uuid {
    work.new_id::<JobId>().uuid()
}

/// Each second: the schedules, and the house.
async fn tick(database: Database, registry: Arc<Registry>) {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        second.tick().await;
        let done = async {
            registry.tick(&database).await?;
            crate::keep_house(&database).await
        };
        if let Err(error) = done.await {
            tracing::warn!(error = %error, "schedules were not looked at");
        }
    }
}
