//! The job runner: claims batches, marks jobs as started, runs them concurrently and records their completion.

mod completion;
mod registry;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Database, Work};
use primitives::{JobId, Timestamp};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use uuid::Uuid;

use crate::context::Lease;
use crate::job::Removal;
use crate::runner::registry::Registry;
use crate::schedule::Scheduled;
use crate::table::{self, Claimed};
use crate::{DeadReason, Job, JobContext, JobError, QueueError};

/// Number of started runs without completion after which a job is quarantined: the first beside other jobs, the rest
/// exclusive.
const CRASHES_MAX: i32 = 3;
/// Jobs that complete within this window are recorded in one transaction.
const BATCH_WINDOW: Duration = Duration::from_millis(1);
/// How often a busy runner checks for suspects, and how long it then starts nothing else.
const SUSPECT_CHECK_INTERVAL: Duration = Duration::from_secs(5);
const DRAIN_MAX: Duration = Duration::from_secs(2);

/// Settings of a runner.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// Jobs per claim.
    pub batch: usize,
    /// Jobs that run concurrently.
    pub concurrency: usize,
    /// Duration of a lease, which is renewed after a third of it.
    pub lease: Duration,
    /// Polling interval of an idle runner.
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

/// The result of a run.
type RunResult = Result<Removal, JobError>;

/// The jobs of one runner in flight.
#[derive(Default)]
struct InFlight {
    /// Claimed under the token, but not started.
    claimed: VecDeque<(Uuid, Claimed)>,
    running: JoinSet<RunResult>,
    started: HashMap<tokio::task::Id, StartedJob>,
    /// Completed, but not recorded; kept until recorded, also while the database is unavailable.
    completed: Vec<CompletedJob>,
    /// A suspect is running: nothing is started beside it.
    exclusive: bool,
    /// Nothing is started until then, so that a suspect can run exclusively.
    draining_until: Option<Instant>,
    suspects_checked: Option<Instant>,
}

/// A started job.
struct StartedJob {
    lease: Lease,
    kind: String,
    attempts: i32,
    attempts_max: u32,
    since: Instant,
}

/// A job whose run has ended.
struct CompletedJob {
    job: StartedJob,
    result: RunResult,
}

impl Runner {
    /// Creates a runner without registered kinds.
    #[must_use]
    pub fn new(database: Database, settings: RunnerSettings) -> Self {
        Self { database, settings, registry: Arc::default() }
    }

    /// Registers a kind of job with its dependencies.
    ///
    /// # Panics
    /// If two kinds have the same name.
    #[must_use]
    pub fn register<J: Job>(mut self, dependencies: J::Dependencies) -> Self {
        self.registry_mut().add::<J>(dependencies);
        self
    }

    /// Schedules a kind of job once per period.
    #[must_use]
    pub fn every<J: Scheduled>(mut self, period: Duration) -> Self {
        self.registry_mut().schedule::<J>(period);
        self
    }

    #[expect(clippy::expect_used, reason = "registration happens before the runner is shared")]
    fn registry_mut(&mut self) -> &mut Registry {
        Arc::get_mut(&mut self.registry).expect("kinds are registered before the runner runs")
    }

    /// Runs jobs until `stop` becomes true; then starts no more and waits for those that are running.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let ticker = tokio::spawn(tick(self.database.clone(), Arc::clone(&self.registry)));
        let mut in_flight = InFlight::default();
        let mut renewed = Instant::now();
        while !*stop.borrow() {
            if let Err(error) = self.step(&mut in_flight, &mut renewed, &mut stop).await {
                tracing::warn!(error = %error, "the job queue is unavailable; retrying");
                tokio::time::sleep(self.settings.poll).await;
            }
        }
        self.release_claimed(&mut in_flight).await;
        self.drain(&mut in_flight).await;
        ticker.abort();
    }

    /// Runs due jobs, and those they enqueue, until none is due. Returns their number. For tests and commands; production
    /// uses `run`.
    pub async fn run_until_idle(&self) -> Result<usize, QueueError> {
        let mut in_flight = InFlight::default();
        let mut count = 0;
        loop {
            let any = self.start_more(&mut in_flight).await?;
            if !any && in_flight.running.is_empty() {
                return Ok(count);
            }
            while !in_flight.running.is_empty() {
                in_flight.wait_for_one().await;
                count += in_flight.completed.len();
                self.record_completed(&mut in_flight).await?;
            }
        }
    }

    /// Starts jobs if possible, else waits for an event; records completed jobs; renews leases.
    async fn step(
        &self,
        in_flight: &mut InFlight,
        renewed: &mut Instant,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<(), QueueError> {
        in_flight.collect_completed();
        if !self.start_more(in_flight).await? && in_flight.completed.is_empty() {
            tokio::select! {
                () = in_flight.wait_for_batch(), if !in_flight.running.is_empty() => {}
                () = tokio::time::sleep(self.settings.poll) => {}
                _ = stop.changed() => {}
            }
        }
        self.record_completed(in_flight).await?;
        if renewed.elapsed() > self.settings.lease / 3 {
            self.renew_leases(in_flight).await?;
            *renewed = Instant::now();
        }
        Ok(())
    }

    /// Records completed jobs.
    async fn record_completed(&self, in_flight: &mut InFlight) -> Result<(), QueueError> {
        completion::record(&self.database, &in_flight.completed).await?;
        in_flight.completed.clear();
        Ok(())
    }

    /// Starts jobs up to the concurrency limit. A suspect runs exclusively: not beside others, and with nothing beside
    /// it. Returns whether anything was started or claimed.
    async fn start_more(&self, in_flight: &mut InFlight) -> Result<bool, QueueError> {
        if in_flight.running.is_empty() {
            in_flight.exclusive = false;
            in_flight.draining_until = None;
        }
        let free = self.settings.concurrency.saturating_sub(in_flight.running.len());
        if free == 0 || in_flight.exclusive || self.should_drain(in_flight).await? {
            return Ok(false);
        }
        if in_flight.claimed.is_empty() {
            return self.claim(in_flight, free).await;
        }
        let next: Vec<_> = in_flight.claimed.drain(..free.min(in_flight.claimed.len())).collect();
        self.start(in_flight, next).await?;
        Ok(true)
    }

    /// Returns whether to start nothing because a suspect waits for an exclusive run. A busy runner checks for suspects
    /// periodically; the pause is bounded, so that a long-running job cannot block the queue.
    async fn should_drain(&self, in_flight: &mut InFlight) -> Result<bool, QueueError> {
        if in_flight.running.is_empty() {
            return Ok(false);
        }
        if let Some(until) = in_flight.draining_until {
            return Ok(Instant::now() < until);
        }
        if in_flight
            .suspects_checked
            .is_some_and(|checked| checked.elapsed() < SUSPECT_CHECK_INTERVAL)
        {
            return Ok(false);
        }
        in_flight.suspects_checked = Some(Instant::now());
        let mut work = Work::for_platform(&self.database).await?;
        let is_due = table::is_suspect_due(&mut work).await?;
        work.rollback().await?;
        in_flight.draining_until = is_due.then(|| Instant::now() + DRAIN_MAX);
        Ok(is_due)
    }

    /// Claims a suspect if nothing is running and one is due, else a batch. Jobs of a batch that fits into the
    /// concurrency limit are marked as started in the same statement.
    async fn claim(&self, in_flight: &mut InFlight, free: usize) -> Result<bool, QueueError> {
        let mut work = Work::for_platform(&self.database).await?;
        let (token, until) = (new_token(&mut work), self.lease_end(work.now()));
        if in_flight.running.is_empty()
            && let Some(job) = table::claim_suspect(&mut work, token, until).await?
        {
            return self.start_exclusive(in_flight, work, token, job).await;
        }
        let limit = i64::try_from(self.settings.batch).unwrap_or(i64::MAX);
        let at_once = free >= self.settings.batch;
        let claimed = table::claim(&mut work, token, until, limit, at_once).await?;
        work.commit().await?;
        let any = !claimed.is_empty();
        for job in claimed {
            if at_once {
                self.spawn(in_flight, token, job);
            } else {
                in_flight.claimed.push_back((token, job));
            }
        }
        Ok(any)
    }

    /// Runs a suspect exclusively, or quarantines it if it has crashed too often.
    async fn start_exclusive(
        &self,
        in_flight: &mut InFlight,
        mut work: Work,
        token: Uuid,
        job: Claimed,
    ) -> Result<bool, QueueError> {
        if job.crashes > CRASHES_MAX {
            let lease = Lease { job: job.id, token };
            table::move_to_dead_letters(&mut work, lease, DeadReason::Quarantined, None).await?;
            work.commit().await?;
            tracing::error!(
                job = %job.id, kind = job.kind, crashes = job.crashes,
                "job quarantined as a dead letter: it repeatedly crashed its worker"
            );
        } else {
            work.commit().await?;
            in_flight.exclusive = true;
            self.spawn(in_flight, token, job);
        }
        Ok(true)
    }

    /// Marks claimed jobs as started and runs those whose lease is still valid.
    async fn start(
        &self,
        in_flight: &mut InFlight,
        next: Vec<(Uuid, Claimed)>,
    ) -> Result<(), QueueError> {
        let Some(token) = next.first().map(|(token, _)| *token) else {
            return Ok(());
        };
        let ids: Vec<Uuid> = next.iter().map(|(_, job)| job.id.uuid()).collect();
        let mut work = Work::for_platform(&self.database).await?;
        let until = self.lease_end(work.now());
        let leased: Vec<JobId> = table::start(&mut work, token, &ids, until).await?;
        work.commit().await?;
        for (token, job) in next {
            if leased.contains(&job.id) {
                self.spawn(in_flight, token, job);
            }
        }
        Ok(())
    }

    fn spawn(&self, in_flight: &mut InFlight, token: Uuid, job: Claimed) {
        let lease = Lease { job: job.id, token };
        let attempt = u32::try_from(job.attempts).unwrap_or(0) + 1;
        let context = JobContext::new(self.database.clone(), lease, attempt);
        let (run, attempts_max) = self.registry.run(&job.kind, job.payload, context);
        let task = in_flight.running.spawn(run).id();
        let (kind, attempts, since) = (job.kind, job.attempts, Instant::now());
        in_flight.started.insert(task, StartedJob { lease, kind, attempts, attempts_max, since });
    }

    async fn renew_leases(&self, in_flight: &InFlight) -> Result<(), QueueError> {
        let leases: Vec<Lease> = in_flight
            .started
            .values()
            .map(|started| started.lease)
            .chain(
                in_flight.claimed.iter().map(|(token, job)| Lease { job: job.id, token: *token }),
            )
            .collect();
        if leases.is_empty() {
            return Ok(());
        }
        let (jobs, tokens) = completion::columns(&leases);
        let mut work = Work::for_platform(&self.database).await?;
        let until = self.lease_end(work.now());
        table::renew(&mut work, &jobs, &tokens, until).await?;
        work.commit().await?;
        Ok(())
    }

    fn lease_end(&self, now: Timestamp) -> Timestamp {
        now.plus(self.settings.lease)
    }

    /// Releases jobs that were claimed and not started, so that other workers need not wait for the lease to expire.
    async fn release_claimed(&self, in_flight: &mut InFlight) {
        let claimed: Vec<_> = in_flight.claimed.drain(..).collect();
        let Some(token) = claimed.first().map(|(token, _)| *token) else {
            return;
        };
        let ids: Vec<Uuid> = claimed.iter().map(|(_, job)| job.id.uuid()).collect();
        let released = async {
            let mut work = Work::for_platform(&self.database).await?;
            table::release(&mut work, token, &ids).await?;
            work.commit().await?;
            Ok::<(), QueueError>(())
        };
        if let Err(error) = released.await {
            tracing::warn!(error = %error, "claimed jobs could not be released; other workers run them when the lease expires");
        }
    }

    async fn drain(&self, in_flight: &mut InFlight) {
        while !in_flight.running.is_empty() || !in_flight.completed.is_empty() {
            let renewal_interval = self.settings.lease / 3;
            let waited = tokio::time::timeout(renewal_interval, in_flight.wait_for_one()).await;
            let step = match waited {
                Ok(()) => self.record_completed(in_flight).await,
                Err(_) => self.renew_leases(in_flight).await,
            };
            if let Err(error) = step {
                tracing::warn!(error = %error, "the completion of jobs could not be recorded; they run again when their lease expires");
                in_flight.completed.clear();
            }
        }
    }
}

impl InFlight {
    /// Collects completed runs without waiting.
    fn collect_completed(&mut self) {
        while let Some(result) = self.running.try_join_next_with_id() {
            self.complete(result);
        }
    }

    /// Waits for one run to complete, and collects the others that have.
    async fn wait_for_one(&mut self) {
        if let Some(result) = self.running.join_next_with_id().await {
            self.complete(result);
            self.collect_completed();
        }
    }

    /// Waits for one run to complete, and for those that complete within `BATCH_WINDOW`, so that one transaction records
    /// all of them.
    async fn wait_for_batch(&mut self) {
        self.wait_for_one().await;
        let batch = async {
            while !self.running.is_empty() {
                self.wait_for_one().await;
            }
        };
        // On timeout nothing is lost: completed runs are already in `completed`.
        let _ = tokio::time::timeout(BATCH_WINDOW, batch).await;
    }

    fn complete(&mut self, result: Result<(tokio::task::Id, RunResult), JoinError>) {
        let (task, result) = match result {
            Ok((task, result)) => (task, result),
            Err(error) => (error.id(), Err(JobError::Failed(String::from("the job panicked")))),
        };
        if let Some(job) = self.started.remove(&task) {
            completion::count(&job, &result);
            self.completed.push(CompletedJob { job, result });
        }
    }
}

fn new_token(work: &mut Work) -> Uuid {
    work.new_id::<JobId>().uuid()
}

/// Each second: schedules and housekeeping.
async fn tick(database: Database, registry: Arc<Registry>) {
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        second.tick().await;
        let tick = async {
            registry.tick(&database).await?;
            crate::housekeeping(&database).await
        };
        if let Err(error) = tick.await {
            tracing::warn!(error = %error, "schedules and housekeeping failed; retrying in a second");
        }
    }
}
