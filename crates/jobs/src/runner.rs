//! The job runner: claims as many jobs as it has free slots, runs them concurrently and records their completion.

mod completion;
mod drain;
mod registry;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Database, Work};
use primitives::{JobId, MerchantId, Timestamp};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use uuid::Uuid;

use crate::context::Lease;
use crate::job::{Priority, Removal};
use crate::runner::drain::{Drain, DrainState};
use crate::runner::registry::Registry;
use crate::schedule::Scheduled;
use crate::sweep::SweepJob;
use crate::table::{self, ClaimLimits, Claimed};
use crate::{DeadReason, Job, JobContext, JobError, QueueError, Sweep};

/// Number of started runs without completion after which a job is quarantined: the first beside other jobs, the rest
/// exclusive. Of a scheduled job, the first three are beside other jobs (`INTERRUPTIONS_MAX`).
const CRASHES_MAX: i32 = 3;
/// Jobs that complete within this window are recorded in one transaction.
const BATCH_WINDOW: Duration = Duration::from_millis(1);
/// How long nothing is started beside a suspect. A job that crashes its worker usually does so at once, and a long job
/// that was interrupted must not occupy the worker alone.
const EXCLUSIVE_MAX: Duration = Duration::from_secs(10);

/// Settings of a runner. Its limits are those of one process: several workers run as many times more.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// Jobs that run concurrently: the slots. Scheduled jobs need none.
    pub concurrency: usize,
    /// Slots that only urgent jobs use; at most half of the slots.
    pub reserved: usize,
    /// Jobs of one merchant that run concurrently; urgent ones do not count.
    pub per_merchant: usize,
    /// Duration of a lease, which is renewed after a third of it.
    pub lease: Duration,
    /// Polling interval of an idle runner.
    pub poll: Duration,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        Self {
            concurrency: 16,
            reserved: 4,
            per_merchant: 4,
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
    running: JoinSet<RunResult>,
    started: HashMap<tokio::task::Id, StartedJob>,
    /// Completed, but not recorded; kept until recorded, also while the database is unavailable.
    completed: Vec<CompletedJob>,
    /// A suspect is running: nothing is started beside it until then.
    exclusive_until: Option<Instant>,
    /// Pauses, so that a suspect can run exclusively.
    drain: Drain,
    /// A suspect was started since the last time that nothing was running.
    was_exclusive: bool,
}

/// A started job.
struct StartedJob {
    lease: Lease,
    kind: String,
    merchant: Option<MerchantId>,
    priority: Priority,
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

    /// Registers a sweep with its dependencies and schedules it once per period.
    #[must_use]
    pub fn sweep<S: Sweep>(self, period: Duration, dependencies: S::Dependencies) -> Self {
        self.register::<SweepJob<S>>(dependencies).every::<SweepJob<S>>(period)
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

    /// Starts scheduled jobs, and others up to the number of slots. A suspect runs exclusively: not beside others, and
    /// with nothing started beside it for a while. Returns whether anything was started.
    async fn start_more(&self, in_flight: &mut InFlight) -> Result<bool, QueueError> {
        if in_flight.running.is_empty() {
            in_flight.exclusive_until = None;
            in_flight.drain.end();
        }
        let is_exclusive = in_flight.exclusive_until.is_some_and(|until| Instant::now() < until);
        if is_exclusive || self.should_drain(in_flight).await? {
            return Ok(false);
        }
        self.claim(in_flight).await
    }

    /// Returns whether to start nothing because a suspect waits for an exclusive run.
    async fn should_drain(&self, in_flight: &mut InFlight) -> Result<bool, QueueError> {
        if in_flight.running.is_empty() {
            return Ok(false);
        }
        match in_flight.drain.state(Instant::now()) {
            DrainState::Paused => Ok(true),
            DrainState::Running => Ok(false),
            DrainState::CheckDue => {
                let mut work = Work::for_platform(&self.database).await?;
                let is_due = table::is_suspect_due(&mut work).await?;
                work.rollback().await?;
                in_flight.drain.checked(Instant::now(), is_due);
                Ok(is_due)
            }
        }
    }

    /// Claims a suspect if nothing is running and one is due, else as many jobs as there are free slots. Claimed jobs are
    /// marked as started in the same statement.
    async fn claim(&self, in_flight: &mut InFlight) -> Result<bool, QueueError> {
        let mut work = Work::for_platform(&self.database).await?;
        let (token, until) = (new_token(&mut work), self.lease_end(work.now()));
        if in_flight.running.is_empty() {
            // Scheduled jobs do not wait for all suspects. Nothing else is started with them, so that the next suspect
            // has its turn when they are done.
            if std::mem::take(&mut in_flight.was_exclusive) {
                let none = ClaimLimits::default();
                let scheduled = table::claim(&mut work, token, until, &none).await?;
                if !scheduled.is_empty() {
                    in_flight.drain.checked(Instant::now(), true);
                    return self.start(in_flight, work, token, scheduled).await;
                }
            }
            if let Some(job) = table::claim_suspect(&mut work, token, until).await? {
                return self.start_exclusive(in_flight, work, token, job).await;
            }
        }
        let limits = self.claim_limits(in_flight);
        let claimed = table::claim(&mut work, token, until, &limits).await?;
        self.start(in_flight, work, token, claimed).await
    }

    /// Commits the claim of jobs and starts them. Returns whether there are any.
    async fn start(
        &self,
        in_flight: &mut InFlight,
        work: Work,
        token: Uuid,
        claimed: Vec<Claimed>,
    ) -> Result<bool, QueueError> {
        work.commit().await?;
        let any = !claimed.is_empty();
        for job in claimed {
            self.spawn(in_flight, token, job);
        }
        Ok(any)
    }

    fn claim_limits(&self, in_flight: &InFlight) -> ClaimLimits {
        let RunnerSettings { concurrency, reserved, per_merchant, .. } = self.settings;
        let running = |priority| in_flight.with_priority(priority).count();
        let bulk_max = concurrency - reserved.min(concurrency / 2);
        let free = concurrency.saturating_sub(running(Priority::Bulk) + running(Priority::Urgent));
        let mut per_merchant_running: HashMap<Uuid, usize> = HashMap::new();
        for job in in_flight.with_priority(Priority::Bulk) {
            if let Some(merchant) = job.merchant {
                *per_merchant_running.entry(merchant.uuid()).or_default() += 1;
            }
        }
        let full = per_merchant_running.iter().filter(|(_, count)| **count >= per_merchant);
        let bulk = in_flight.with_priority(Priority::Bulk);
        let limit = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        ClaimLimits {
            total: limit(free),
            bulk: limit(bulk_max.saturating_sub(running(Priority::Bulk)).min(free)),
            per_merchant: limit(per_merchant),
            full: full.map(|(merchant, _)| *merchant).collect(),
            running: bulk.filter_map(|job| job.merchant).map(MerchantId::uuid).collect(),
        }
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
            in_flight.exclusive_until = Some(Instant::now() + EXCLUSIVE_MAX);
            in_flight.was_exclusive = true;
            self.spawn(in_flight, token, job);
        }
        Ok(true)
    }

    fn spawn(&self, in_flight: &mut InFlight, token: Uuid, job: Claimed) {
        let lease = Lease { job: job.id, token };
        let attempt = u32::try_from(job.attempts).unwrap_or(0) + 1;
        let context = JobContext::new(self.database.clone(), lease, attempt);
        let (run, attempts_max) = self.registry.run(&job.kind, job.payload, context);
        // A schedule must not end because it failed for a while.
        let is_scheduled = job.priority == Priority::Scheduled;
        let attempts_max = if is_scheduled { u32::MAX } else { attempts_max };
        let task = in_flight.running.spawn(run).id();
        let started = StartedJob {
            lease,
            kind: job.kind,
            merchant: job.merchant,
            priority: job.priority,
            attempts: job.attempts,
            attempts_max,
            since: Instant::now(),
        };
        in_flight.started.insert(task, started);
    }

    async fn renew_leases(&self, in_flight: &InFlight) -> Result<(), QueueError> {
        let leases: Vec<Lease> = in_flight.started.values().map(|started| started.lease).collect();
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
    fn with_priority(&self, priority: Priority) -> impl Iterator<Item = &StartedJob> {
        self.started.values().filter(move |job| job.priority == priority)
    }

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
        registry.tick(&database).await;
        if let Err(error) = crate::housekeeping(&database).await {
            tracing::warn!(%error, "housekeeping failed; retrying in a second");
        }
    }
}
