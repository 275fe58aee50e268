//! A dispatcher at work: one task decides, lanes send, and one task records.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use database::DatabaseError;
use primitives::{MerchantId, Timestamp};
use tokio::sync::{mpsc, watch};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::Dispatcher;
use crate::dispatcher::attempt::Ended;
use crate::dispatcher::decision::{self, Plan, Report};
use crate::dispatcher::ownership::{self, Lease};
use crate::dispatcher::results::{self, Fate, Settled};
use crate::dispatcher::slots::{Class, Slots};
use crate::dispatcher::stores::Stores;
use crate::table::delivery::{DeliveryKey, EndpointKey};

/// Time between two reads of the queue: while there is something to do, and at most.
const TAKE_INTERVAL_MIN: Duration = Duration::from_millis(20);
const TAKE_INTERVAL_MAX: Duration = Duration::from_millis(500);
/// Stores that are claimed, read or released at a time.
const STORES_PER_STEP: usize = 500;
/// Stores in memory from which none is claimed.
const STORES_MAX: usize = 10_000;
/// Deliveries in memory from which no store is claimed.
const ROWS_MAX: usize = 100_000;
/// Endpoints of a class, for each slot, from which further ones do not wait in memory.
const BACKLOG_PER_SLOT: usize = 4;
/// For how long such an endpoint is left out.
const DEFERRED: Duration = Duration::from_mins(1);
/// Time that attempts have to end at shutdown, and then their results to be recorded.
const DRAIN_MAX: Duration = Duration::from_secs(10);
const RECORD_MAX: Duration = Duration::from_secs(5);
/// Time in which requests that are given up have to end, and to be recorded.
const GIVE_UP_MAX: Duration = Duration::from_secs(1);
/// Pause after the database was unavailable.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// What is known of a running lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneInfo {
    pub(super) endpoint: EndpointKey,
    pub(super) class: Class,
    pub(super) is_alone: bool,
}

/// A run of a dispatcher.
pub(super) struct Session<'dispatcher> {
    pub(super) dispatcher: &'dispatcher Dispatcher,
    /// `None` until one is acquired, and after it was lost.
    pub(super) lease: Option<Lease>,
    pub(super) stores: Stores,
    pub(super) slots: Slots,
    pub(super) lanes: JoinSet<()>,
    pub(super) lane_infos: HashMap<Id, LaneInfo>,
    /// Deliveries that lanes have and did not report.
    pub(super) in_lanes: usize,
    pub(super) ended_sender: mpsc::UnboundedSender<Ended>,
    pub(super) ended: mpsc::UnboundedReceiver<Ended>,
    pub(super) reports: Option<mpsc::UnboundedSender<Report>>,
    pub(super) settled: mpsc::UnboundedReceiver<Vec<Settled>>,
    pub(super) recorder: JoinSet<()>,
    /// Reports whose record is not confirmed.
    pub(super) unsettled: usize,
    /// Tells lanes to stop.
    pub(super) stop_lanes: Arc<AtomicBool>,
    /// The time of the database when it was last asked.
    pub(super) now: Timestamp,
    /// A transaction may have failed after it was committed: memory is compared with the database.
    pub(super) is_doubtful: bool,
    pub(super) take_at: Instant,
    pub(super) take_interval: Duration,
    pub(super) attempts: usize,
}

impl<'dispatcher> Session<'dispatcher> {
    pub(super) fn new(dispatcher: &'dispatcher Dispatcher) -> Self {
        let (ended_sender, ended) = mpsc::unbounded_channel();
        let (reports, reports_receiver) = mpsc::unbounded_channel();
        let (settled_sender, settled) = mpsc::unbounded_channel();
        let database = dispatcher.database.clone();
        let mut recorder = JoinSet::new();
        recorder.spawn(results::record_all(database, reports_receiver, settled_sender));
        Self {
            dispatcher,
            lease: None,
            stores: Stores::default(),
            slots: Slots::new(dispatcher.settings.slots),
            lanes: JoinSet::new(),
            lane_infos: HashMap::new(),
            in_lanes: 0,
            ended_sender,
            ended,
            reports: Some(reports),
            settled,
            recorder,
            unsettled: 0,
            stop_lanes: Arc::default(),
            now: dispatcher.database.local_now(),
            is_doubtful: false,
            take_at: Instant::now(),
            take_interval: TAKE_INTERVAL_MIN,
            attempts: 0,
        }
    }

    /// Delivers until `stop` becomes true; then starts nothing more, waits for what is in flight and releases everything.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            let pause = match self.step().await {
                Ok(()) if self.can_start() => Duration::ZERO,
                Ok(()) => self.take_at.saturating_duration_since(Instant::now()),
                Err(error) => {
                    tracing::warn!(%error, "the webhook queue is unavailable; retrying");
                    self.is_doubtful = true;
                    RETRY_PAUSE
                }
            };
            tokio::select! {
                () = self.wait(pause) => {}
                changed = stop.changed() => if changed.is_err() { break },
            }
        }
        self.shut_down().await;
    }

    /// Delivers what is due and what that makes due, then releases everything. Returns the number of attempts.
    pub(super) async fn run_until_idle(mut self) -> Result<usize, DatabaseError> {
        loop {
            self.take_at = Instant::now();
            self.step().await?;
            let is_busy = !self.lanes.is_empty()
                || self.unsettled > 0
                || self.in_lanes > 0
                || self.slots.has_suspects();
            let is_done = !is_busy && !self.can_start() && !self.stores.has_listed();
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
        self.keep_lease().await?;
        let is_clock_wrong = self.lease.as_ref().is_some_and(|it| !it.skew.is_tolerable());
        if is_clock_wrong {
            // Other processes, whose clock is right, deliver.
            self.stores.stand_down(self.now);
            self.take_at = Instant::now() + TAKE_INTERVAL_MAX;
        } else if self.take_at <= Instant::now() {
            self.take().await?;
        }
        self.start().await?;
        // Idle stores stay for a while, unless others need their place.
        self.release_idle(is_clock_wrong || self.stores.len() >= STORES_MAX).await?;
        for class in Class::ALL {
            let used = u32::try_from(self.slots.used_by(class)).unwrap_or(u32::MAX);
            metrics::gauge!("souk_webhook_in_flight", "class" => class.as_str())
                .set(f64::from(used));
        }
        Ok(())
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
            self.recorder.spawn(results::record_all(database, reports_receiver, settled_sender));
            (self.reports, self.settled, self.unsettled) = (Some(reports), settled, 0);
            self.lose_lease().await;
        }
    }

    /// Waits until something has happened, or for the time.
    async fn wait(&mut self, pause: Duration) {
        tokio::select! {
            Some(ended) = self.ended.recv() => self.report(&ended),
            Some(settled) = self.settled.recv() => self.settle(settled),
            Some(lane) = self.lanes.join_next_with_id() => {
                self.drain_reports();
                self.lane_ended(lane);
            }
            () = tokio::time::sleep(pause) => {}
        }
    }

    /// Takes over what lanes and the recorder have reported. The reports of a lane precede its end.
    fn collect(&mut self) {
        let mut ends = Vec::new();
        while let Some(lane) = self.lanes.try_join_next_with_id() {
            ends.push(lane);
        }
        self.drain_reports();
        for lane in ends {
            self.lane_ended(lane);
        }
        while let Ok(settled) = self.settled.try_recv() {
            self.settle(settled);
        }
    }

    fn drain_reports(&mut self) {
        while let Ok(ended) = self.ended.try_recv() {
            self.report(&ended);
        }
    }

    /// Decides what follows from an attempt, and passes it on to be recorded.
    fn report(&mut self, ended: &Ended) {
        self.in_lanes = self.in_lanes.saturating_sub(1);
        let key = ended.key;
        let is_first = ended.attempts == 0;
        let delivered_at = ended.at.plus(ended.latency);
        let is_current = self.owner() == Some(ended.owner);
        let now = self.now;
        let queue = if is_current { self.stores.endpoint(key.endpoint) } else { None };
        let class = queue.as_ref().map(|queue| queue.health.class());
        let report = match queue {
            Some(queue) => {
                let report = decision::decide(ended, Some(&mut queue.health), now);
                if report.plan == Plan::Delivered && class != Some(Class::Healthy) {
                    queue.expect_more();
                }
                queue.pause_if_open();
                report
            }
            None => decision::decide(ended, None, now),
        };
        if report.attempt.is_some() {
            self.attempts += 1;
        }
        if report.plan == Plan::Delivered && is_first {
            let seconds = delivered_at.since(key.event_at).as_secs_f64();
            metrics::histogram!("souk_webhook_delivery_seconds").record(seconds);
        }
        self.submit(report);
        self.stores.offer(key.endpoint, &mut self.slots, now);
        self.stores.review(key.endpoint.merchant, now);
    }

    fn submit(&mut self, report: Report) {
        if let Some(reports) = &self.reports
            && reports.send(report).is_ok()
        {
            self.unsettled += 1;
        }
    }

    fn lane_ended(&mut self, lane: Result<(Id, ()), JoinError>) {
        let (id, has_panicked) = match lane {
            Ok((id, ())) => (id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        // Of a lease that was lost, none is known.
        let Some(info) = self.lane_infos.remove(&id) else { return };
        self.vacate(info.endpoint, info.class, info.is_alone);
        if has_panicked {
            // What it had is not known: the store is read again.
            tracing::error!(endpoint = %info.endpoint.endpoint, "a lane of webhooks has panicked");
            self.stores.remove(info.endpoint.merchant);
            self.is_doubtful = true;
        }
    }

    /// Takes over what was recorded.
    fn settle(&mut self, settled: Vec<Settled>) {
        self.unsettled = self.unsettled.saturating_sub(settled.len());
        let now = self.now;
        for Settled { owner, key, fate, health, is_disabled } in settled {
            if self.owner() != Some(owner) {
                continue;
            }
            if fate == Fate::Fenced {
                self.stores.remove(key.endpoint.merchant);
                continue;
            }
            let Some(queue) = self.stores.endpoint(key.endpoint) else { continue };
            queue.settled(key.event);
            if let Some(health) = health {
                queue.health.recorded(health.failing_since, health.probe_at);
            }
            match fate {
                Fate::Due(at) => queue.refill_at(at),
                Fate::Returned => queue.expect_more(),
                Fate::Unrecordable => queue.refill_at(now.plus(DEFERRED)),
                Fate::Done | Fate::Fenced => {}
            }
            queue.pause_if_open();
            if is_disabled {
                queue.clear();
            }
            self.stores.offer(key.endpoint, &mut self.slots, now);
            self.stores.review(key.endpoint.merchant, now);
        }
    }

    fn owner(&self) -> Option<Uuid> {
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
            (self.lease, self.now, self.is_doubtful) = (Some(lease), now, false);
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
        for merchant in self.stores.merchants() {
            if !owned.contains(&merchant) {
                self.stores.remove(merchant);
            }
        }
        for merchant in owned {
            if is_doubtful || !self.stores.contains(*merchant) {
                self.stores.list(*merchant);
            }
        }
    }

    /// Forgets everything: another process may deliver for the stores now. Requests in flight are given up, so that its
    /// requests do not run beside them.
    async fn lose_lease(&mut self) {
        tracing::warn!(stores = self.stores.len(), "the lease of the webhook dispatcher was lost");
        self.give_up_lanes().await;
        self.lease = None;
        self.lanes = JoinSet::new();
        self.lane_infos.clear();
        self.stores = Stores::default();
        self.slots = Slots::new(self.dispatcher.settings.slots);
        self.in_lanes = 0;
    }

    /// Gives up the requests in flight and records that, as far as possible: their starts say nothing about their
    /// deliveries.
    async fn give_up_lanes(&mut self) {
        if let Some(lease) = &self.lease {
            lease.deadline.cut();
        }
        let until = Instant::now() + GIVE_UP_MAX;
        let ended = async { while self.lanes.join_next().await.is_some() {} };
        let _ = tokio::time::timeout_at(until, ended).await;
        self.drain_reports();
        while self.unsettled > 0
            && let Ok(Some(settled)) = tokio::time::timeout_at(until, self.settled.recv()).await
        {
            self.settle(settled);
        }
    }

    /// Processes wakes, claims stores and reads them.
    async fn take(&mut self) -> Result<(), DatabaseError> {
        let Some(owner) = self.owner() else { return Ok(()) };
        self.stores.ring(self.now);
        let has_room = self.stores.len() < STORES_MAX && self.stores.rows() < ROWS_MAX;
        let claim_max = if has_room { STORES_PER_STEP } else { 0 };
        let taken = ownership::take(&self.dispatcher.database, owner, claim_max).await?;
        self.now = taken.now;
        for merchant in taken.merchants {
            self.stores.list(merchant);
        }
        let has_read = self.read(owner).await?;
        self.stores.ring(self.now);
        let is_active = taken.found_any || has_read || self.stores.has_listed();
        self.take_interval = if is_active {
            TAKE_INTERVAL_MIN
        } else {
            (self.take_interval * 2).min(TAKE_INTERVAL_MAX)
        };
        self.take_at = Instant::now() + self.take_interval;
        Ok(())
    }

    /// Reads stores from the database. Returns whether there was one to be read.
    async fn read(&mut self, owner: Uuid) -> Result<bool, DatabaseError> {
        let listed = self.stores.take_listed(STORES_PER_STEP);
        if listed.is_empty() {
            return Ok(false);
        }
        let loaded = match ownership::load(&self.dispatcher.database, &listed).await {
            Ok(loaded) => loaded,
            Err(error) => {
                for merchant in listed {
                    self.stores.list(merchant);
                }
                return Err(error);
            }
        };
        let now = self.now;
        for (endpoint, pending) in self.stores.refill(&listed, &loaded, now) {
            let key = DeliveryKey::of(endpoint, &pending);
            self.submit(Report::quarantined(owner, key, &pending, now));
        }
        let backlog_max = self.slots.total() * BACKLOG_PER_SLOT;
        for merchant in listed {
            let slots = &mut self.slots;
            self.stores.offer_all(merchant, slots, now, backlog_max, now.plus(DEFERRED));
            self.stores.review(merchant, now);
        }
        Ok(true)
    }

    /// Releases stores that have nothing to send.
    async fn release_idle(&mut self, all: bool) -> Result<(), DatabaseError> {
        let Some(owner) = self.owner() else { return Ok(()) };
        let idle = self.stores.idle(all, STORES_PER_STEP);
        if idle.is_empty() {
            return Ok(());
        }
        let released = ownership::release(&self.dispatcher.database, owner, &idle).await;
        for release in &idle {
            let is_released = released.as_ref().is_ok_and(|it| it.contains(&release.merchant));
            if is_released {
                self.stores.remove(release.merchant);
            } else {
                self.stores.review(release.merchant, self.now);
            }
        }
        released.map(drop)
    }

    /// Ends what is in flight, records it, and releases everything.
    async fn shut_down(mut self) {
        self.stop_lanes.store(true, Ordering::Relaxed);
        let until = Instant::now() + DRAIN_MAX;
        while !self.lanes.is_empty() && Instant::now() < until {
            self.collect();
            if self.lease.is_some()
                && let Err(error) = self.keep_lease().await
            {
                tracing::warn!(%error, "the lease of the webhook dispatcher cannot be renewed");
            }
            self.wait(TAKE_INTERVAL_MIN).await;
        }
        // What is still in flight is sent again by another process.
        self.give_up_lanes().await;
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
