//! A dispatcher at work: one task decides, others record starts and run lanes, and one records results.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use database::DatabaseError;
use primitives::MerchantId;
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::Dispatcher;
use crate::dispatcher::attempt::AttemptResult;
use crate::dispatcher::backoff::Backoff;
use crate::dispatcher::decision::Report;
use crate::dispatcher::memory::{LaneNumber, Memory};
use crate::dispatcher::ownership::{self, Lease};
use crate::dispatcher::reads::{Batches, STORES_PER_READ, STORES_PER_STEP};
use crate::dispatcher::recorder;
use crate::dispatcher::results::Settled;
use crate::dispatcher::slots::Class;
use crate::dispatcher::start::BatchEnd;
use crate::table::delivery::EndpointKey;

/// Time between two reads of the queue: while there is something to do, and at most.
const TAKE_INTERVAL_MIN: Duration = Duration::from_millis(20);
const TAKE_INTERVAL_MAX: Duration = Duration::from_millis(500);
/// Time that attempts have to end at shutdown, and then their results to be recorded.
const DRAIN_MAX: Duration = Duration::from_secs(6);
const RECORD_MAX: Duration = Duration::from_secs(5);
/// Time in which requests that are given up have to end, and to be recorded.
const GIVE_UP_MAX: Duration = Duration::from_secs(1);

/// A run of a dispatcher.
pub(super) struct Session<'dispatcher> {
    pub(super) dispatcher: &'dispatcher Dispatcher,
    /// `None` until one is acquired, and after it was lost.
    pub(super) lease: Option<Lease>,
    pub(super) memory: Memory,
    pub(super) reads: Batches,
    /// The database did not answer a read, for the end of the step.
    pub(super) failed_read: Option<DatabaseError>,
    pub(super) releases: Batches,
    pub(super) release_backoff: Backoff,
    /// Transactions that record starts.
    pub(super) starting: JoinSet<Vec<BatchEnd>>,
    /// Why starts were not recorded, for the next step.
    pub(super) failed_start: Option<DatabaseError>,
    pub(super) lanes: JoinSet<()>,
    pub(super) lane_numbers: HashMap<Id, LaneNumber>,
    pub(super) result_sender: mpsc::UnboundedSender<AttemptResult>,
    results: mpsc::UnboundedReceiver<AttemptResult>,
    reports: Option<mpsc::UnboundedSender<Report>>,
    settled: mpsc::UnboundedReceiver<Vec<Settled>>,
    recorder: JoinSet<()>,
    /// Tells lanes to stop.
    pub(super) stop_lanes: Arc<AtomicBool>,
    /// A transaction that takes or releases stores may have failed after it was committed: memory is compared with the database.
    pub(super) is_doubtful: bool,
    pub(super) backoff: Backoff,
    take_at: Instant,
    take_interval: Duration,
    attempts: usize,
}

impl<'dispatcher> Session<'dispatcher> {
    pub(super) fn new(dispatcher: &'dispatcher Dispatcher) -> Self {
        let (result_sender, results) = mpsc::unbounded_channel();
        let (reports, reports_receiver) = mpsc::unbounded_channel();
        let (settled_sender, settled) = mpsc::unbounded_channel();
        let database = dispatcher.database.clone();
        let mut recorder = JoinSet::new();
        recorder.spawn(recorder::record_all(database, reports_receiver, settled_sender));
        Self {
            dispatcher,
            lease: None,
            memory: Memory::new(dispatcher.settings.slots, dispatcher.database.local_now()),
            reads: Batches::new(STORES_PER_READ),
            failed_read: None,
            releases: Batches::new(STORES_PER_STEP),
            release_backoff: Backoff::default(),
            starting: JoinSet::new(),
            failed_start: None,
            lanes: JoinSet::new(),
            lane_numbers: HashMap::new(),
            result_sender,
            results,
            reports: Some(reports),
            settled,
            recorder,
            stop_lanes: Arc::default(),
            is_doubtful: false,
            backoff: Backoff::default(),
            take_at: Instant::now(),
            take_interval: TAKE_INTERVAL_MIN,
            attempts: 0,
        }
    }

    /// Delivers until `stop` becomes true; then starts nothing more, waits for what is in flight and releases everything.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            if self.backoff.wait_until(Instant::now()).is_none() {
                match self.step().await {
                    // Otherwise the end of a transaction says whether the database is available.
                    Ok(()) if self.starting.is_empty() => self.backoff.succeed(),
                    Ok(()) => {}
                    Err(error) => {
                        tracing::warn!(%error, "the webhook queue is unavailable; retrying");
                        self.backoff.fail(Instant::now());
                    }
                }
            }
            let until = if self.can_start() { Instant::now() } else { self.idle_until() };
            let pause = until.saturating_duration_since(Instant::now());
            tokio::select! {
                () = self.wait(pause) => {}
                changed = stop.changed() => if changed.is_err() { break },
            }
        }
        self.shut_down().await;
    }

    /// Returns when there is something to do, unless something happens before.
    fn idle_until(&mut self) -> Instant {
        let now = Instant::now();
        if let Some(until) = self.backoff.wait_until(now) {
            return until;
        }
        let paced = self.memory.resumes_at(now);
        paced.map_or(self.take_at, |at| at.min(self.take_at))
    }

    /// Delivers what is due and what that makes due, then releases everything. Returns the number of attempts.
    pub(super) async fn run_until_idle(mut self) -> Result<usize, DatabaseError> {
        loop {
            self.take_at = Instant::now();
            self.step().await?;
            let is_busy = !self.lanes.is_empty() || self.memory.is_busy();
            let is_paced = self.memory.resumes_at(Instant::now()).is_some();
            let is_busy = is_busy || is_paced;
            let is_done = !is_busy && !self.can_start() && !self.memory.stores.has_listed();
            if is_done && self.take_interval > TAKE_INTERVAL_MIN {
                break;
            }
            self.wait(if is_busy { TAKE_INTERVAL_MIN } else { Duration::ZERO }).await;
        }
        let attempts = self.attempts;
        self.shut_down().await;
        Ok(attempts)
    }

    /// Does everything that can be done without waiting for a receiver.
    async fn step(&mut self) -> Result<(), DatabaseError> {
        self.ensure_recorder().await;
        self.collect();
        if let Some(error) = self.failed_start.take() {
            return Err(error);
        }
        self.keep_lease().await?;
        let is_clock_wrong = self.lease.as_ref().is_some_and(|it| !it.skew.is_tolerable());
        if is_clock_wrong {
            // Other processes, whose clock is right, deliver.
            self.memory.stores.drop_waiting(self.memory.now);
            self.take_at = Instant::now() + TAKE_INTERVAL_MAX;
        } else if self.take_at <= Instant::now() {
            self.take().await?;
        }
        self.start();
        // Idle stores stay for a while, unless others need their place.
        self.release_idle(is_clock_wrong || !self.memory.stores.has_room()).await?;
        for class in Class::ALL {
            let used = u32::try_from(self.memory.slots.used_by(class)).unwrap_or(u32::MAX);
            metrics::gauge!("souk_webhook_in_flight", "class" => class.as_str())
                .set(f64::from(used));
        }
        // Stores that cannot be read keep nothing of the others from starting.
        self.failed_read.take().map_or(Ok(()), Err)
    }

    /// Starts over if the task that records has ended, which only a defect can cause: what it had is sent again.
    async fn ensure_recorder(&mut self) {
        if self.recorder.try_join_next().is_some() {
            tracing::error!(
                "the task that records results of webhooks has panicked; starting over"
            );
            let (reports, reports_receiver) = mpsc::unbounded_channel();
            let (settled_sender, settled) = mpsc::unbounded_channel();
            let database = self.dispatcher.database.clone();
            self.recorder.spawn(recorder::record_all(database, reports_receiver, settled_sender));
            (self.reports, self.settled) = (Some(reports), settled);
            self.memory.lose_reports();
            self.lose_lease().await;
        }
    }

    /// Waits until something has happened, or for the time.
    async fn wait(&mut self, pause: Duration) {
        tokio::select! {
            Some(result) = self.results.recv() => self.report(&result),
            Some(settled) = self.settled.recv() => self.settle(&settled),
            Some(end) = self.starting.join_next() => self.batch_ended(end),
            Some(lane) = self.lanes.join_next_with_id() => {
                self.drain_reports();
                self.lane_ended(lane);
            }
            () = tokio::time::sleep(pause) => {}
        }
    }

    /// Takes over what starts, lanes and the recorder have reported. The reports of a lane precede its end.
    fn collect(&mut self) {
        while let Some(end) = self.starting.try_join_next() {
            self.batch_ended(end);
        }
        let mut ends = Vec::new();
        while let Some(lane) = self.lanes.try_join_next_with_id() {
            ends.push(lane);
        }
        self.drain_reports();
        for lane in ends {
            self.lane_ended(lane);
        }
        while let Ok(settled) = self.settled.try_recv() {
            self.settle(&settled);
        }
    }

    fn drain_reports(&mut self) {
        while let Ok(result) = self.results.try_recv() {
            self.report(&result);
        }
    }

    /// Decides what follows from an attempt, and passes it on to be recorded.
    fn report(&mut self, result: &AttemptResult) {
        let report = self.memory.report(result);
        self.attempts += usize::from(report.is_attempt());
        if let Some(time) = result.delivery_time() {
            metrics::histogram!("souk_webhook_delivery_seconds").record(time.as_secs_f64());
        }
        self.submit(report);
    }

    /// Passes on what is to be recorded. If the task that records has panicked, `ensure_recorder` starts over.
    pub(super) fn submit(&self, report: Report) {
        if let Some(reports) = &self.reports {
            let _ = reports.send(report);
        }
    }

    fn lane_ended(&mut self, lane: Result<(Id, ()), JoinError>) {
        let (id, has_panicked) = match lane {
            Ok((id, ())) => (id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let number = self.lane_numbers.remove(&id);
        let Some(endpoint) = number.and_then(|number| self.memory.lane_ended(number)) else {
            return;
        };
        if has_panicked {
            // What it had is not known.
            let EndpointKey { merchant, endpoint } = endpoint;
            tracing::error!(%merchant, %endpoint, "a webhook sender panicked; its store is read again");
            self.memory.stores.remove(merchant);
            self.memory.stores.mark_for_read(merchant);
        }
    }

    /// Takes over what was recorded.
    fn settle(&mut self, settled: &[Settled]) {
        let owner = self.owner();
        self.memory.settle(owner, settled);
    }

    pub(super) fn owner(&self) -> Option<Uuid> {
        self.lease.as_ref().map(|lease| lease.owner)
    }

    /// Returns whether the lease is valid and the clock is right.
    pub(super) fn may_send(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| !lease.is_over() && lease.skew.is_tolerable())
    }

    /// Acquires, renews or gives up the lease.
    async fn keep_lease(&mut self) -> Result<(), DatabaseError> {
        if self.lease.as_ref().is_some_and(Lease::is_over) {
            self.lose_lease().await;
        }
        let database = &self.dispatcher.database;
        let Some(lease) = &mut self.lease else {
            let duration = self.dispatcher.settings.lease;
            let (lease, now) = Lease::acquire(database, duration).await?;
            (self.lease, self.memory.now, self.is_doubtful) = (Some(lease), now, false);
            return Ok(());
        };
        if !self.is_doubtful && !lease.is_renewal_due() {
            return Ok(());
        }
        match lease.renew(database).await? {
            Some(owned) => self.reconcile(&owned),
            None => self.lose_lease().await,
        }
        Ok(())
    }

    /// Compares the stores in memory with those under the lease. They differ only if the end of a transaction was not known.
    fn reconcile(&mut self, owned: &HashSet<MerchantId>) {
        let is_doubtful = std::mem::take(&mut self.is_doubtful);
        for merchant in self.memory.stores.merchants() {
            if !owned.contains(&merchant) {
                self.memory.stores.remove(merchant);
            }
        }
        for merchant in owned {
            if is_doubtful || !self.memory.stores.contains(*merchant) {
                self.memory.stores.mark_for_read(*merchant);
            }
        }
    }

    /// Forgets everything: another process may deliver for the stores now. Requests in flight are given up, so that its
    /// requests do not run beside them.
    async fn lose_lease(&mut self) {
        tracing::warn!(
            stores = self.memory.stores.len(),
            "the lease of the webhook dispatcher was lost; other workers deliver for its stores"
        );
        self.give_up_requests().await;
        self.lease = None;
        self.starting = JoinSet::new();
        self.lanes = JoinSet::new();
        self.lane_numbers.clear();
        self.memory.forget();
    }

    /// Gives up the requests in flight, and those that are starting, and records that, as far as possible: their starts say
    /// nothing about their deliveries.
    async fn give_up_requests(&mut self) {
        if let Some(lease) = &self.lease {
            lease.deadline.cut();
        }
        let until = Instant::now() + GIVE_UP_MAX;
        while let Ok(Some(end)) = tokio::time::timeout_at(until, self.starting.join_next()).await {
            self.batch_ended(end);
        }
        let ended = async { while self.lanes.join_next().await.is_some() {} };
        let _ = tokio::time::timeout_at(until, ended).await;
        self.drain_reports();
        while !self.memory.is_settled()
            && let Ok(Some(settled)) = tokio::time::timeout_at(until, self.settled.recv()).await
        {
            self.settle(&settled);
        }
    }

    /// Processes wakes, claims stores and reads them.
    async fn take(&mut self) -> Result<(), DatabaseError> {
        let Some(owner) = self.owner() else { return Ok(()) };
        self.memory.stores.list_due(self.memory.now);
        let claim_max = if self.memory.stores.has_room() { STORES_PER_STEP } else { 0 };
        let (database, is_doubtful) = (&self.dispatcher.database, &mut self.is_doubtful);
        let taken = ownership::take(database, owner, claim_max, is_doubtful).await?;
        self.memory.now = taken.now;
        for merchant in taken.merchants {
            self.memory.stores.wake(merchant, taken.now);
        }
        let has_read = self.read(owner).await;
        self.memory.stores.list_due(self.memory.now);
        let is_active = taken.found_any || has_read || self.memory.stores.has_listed();
        self.take_interval = if is_active {
            TAKE_INTERVAL_MIN
        } else {
            (self.take_interval * 2).min(TAKE_INTERVAL_MAX)
        };
        self.take_at = Instant::now() + self.take_interval;
        Ok(())
    }

    /// Ends what is in flight, records it, and releases everything.
    async fn shut_down(mut self) {
        self.stop_lanes.store(true, Ordering::Relaxed);
        let until = Instant::now() + DRAIN_MAX;
        while !(self.starting.is_empty() && self.lanes.is_empty()) && Instant::now() < until {
            self.collect();
            if self.lease.is_some()
                && let Err(error) = self.keep_lease().await
            {
                tracing::warn!(%error, "the lease of the webhook dispatcher cannot be renewed");
            }
            self.wait(TAKE_INTERVAL_MIN).await;
        }
        // What is still in flight is sent again by another process.
        self.give_up_requests().await;
        self.starting = JoinSet::new();
        self.lanes = JoinSet::new();
        self.reports = None;
        let recorded = async { while self.recorder.join_next().await.is_some() {} };
        if tokio::time::timeout(RECORD_MAX, recorded).await.is_err() {
            tracing::warn!("results of webhooks could not be recorded; they are sent again");
        }
        self.recorder.abort_all();
        let Some(owner) = self.owner() else { return };
        if let Err(error) = ownership::end(&self.dispatcher.database, owner).await {
            tracing::warn!(%error, "the stores of the webhook dispatcher are released when its lease expires");
        }
    }
}
