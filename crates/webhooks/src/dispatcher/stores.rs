//! The stores that a process delivers for: their endpoints in memory, and when each needs attention.

mod reading;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use primitives::{EndpointId, MerchantId, Timestamp};
use tokio::time::Instant;

use crate::dispatcher::endpoint_queue::{EndpointQueue, WAITING_MAX, WAITING_UNPROVEN_MAX};
use crate::dispatcher::slots::{Class, Slots};
use crate::dispatcher::stores::reading::ReadMode;
use crate::table::delivery::{EndpointKey, Loaded, Pending};
use crate::table::queue::Release;

/// Stores in memory from which no other is claimed.
pub(super) const STORES_MAX: usize = 10_000;
/// Deliveries in memory that healthy endpoints share. Each may have a few anyway, so that none has to wait for others.
const ROWS_MAX: usize = 100_000;
/// Attempts at the endpoints of one store at the same time.
const STORE_LANES_MAX: usize = 20;
/// For how long a store without anything to send is kept: the next event finds it in memory.
const LINGER: Duration = Duration::from_secs(1);
/// How much later all endpoints of a store are read that was woken, if some of them have enough to send. The others are read at once.
const WOKEN_DELAY: Duration = Duration::from_millis(500);
/// The same if these others have more than [`MANY_ROWS`] in memory, which are not read again at each wake.
const WOKEN_DELAY_MANY: Duration = Duration::from_millis(100);
/// Deliveries in memory from which endpoints are not read at each wake.
const MANY_ROWS: usize = 200;
/// A store in memory.
#[derive(Debug, Default)]
struct Store {
    endpoints: BTreeMap<EndpointId, EndpointQueue>,
    lanes: usize,
    /// Deliveries in memory, and healthy endpoints that have some, as last counted.
    rows: usize,
    sharing: usize,
    /// It is in the list of those to be read.
    is_listed: bool,
    /// All of its endpoints are to be read, and not only those that have too little.
    reads_all: bool,
    /// Its entry in the list of times.
    timer: Option<Timestamp>,
    /// Since when nothing of it is in memory.
    idle_since: Option<Instant>,
    /// When all of it is to be read because something woke it.
    read_at: Option<Timestamp>,
    /// Endpoints of it had to be left out; it is not to be looked at before then.
    not_before: Option<Timestamp>,
    read_mode: ReadMode,
}

impl Store {
    /// Returns what is read of it after it was woken, and when. An endpoint that is full may be one that hangs, for which the others
    /// do not wait.
    fn woken(&self, now: Timestamp) -> Woken {
        let (full, others): (Vec<&EndpointQueue>, Vec<&EndpointQueue>) =
            self.endpoints.values().partition(|queue| queue.is_full(now));
        let rows: usize = others.iter().map(|queue| queue.len()).sum();
        match (full.is_empty(), others.is_empty(), rows > MANY_ROWS) {
            _ if self.is_unreadable() => Woken::Later(WOKEN_DELAY),
            (_, _, true) => Woken::Later(WOKEN_DELAY_MANY),
            (true, _, false) => Woken::Now,
            (false, true, false) => Woken::Later(WOKEN_DELAY),
            (false, false, false) => Woken::PartlyNow,
        }
    }

    /// Begins to read it: all of it, or without the endpoints that are full.
    fn begin_read(&mut self, now: Timestamp) {
        self.is_listed = false;
        if self.is_unreadable() {
            self.read_mode = ReadMode::Few(1);
        }
        let all = std::mem::take(&mut self.reads_all);
        if all {
            self.read_at = None;
        }
        for queue in self.endpoints.values_mut() {
            queue.is_skipped = !all && queue.is_full(now);
            if !queue.is_skipped {
                queue.refilling();
            }
        }
    }

    fn is_unreadable(&self) -> bool {
        self.read_mode == ReadMode::Unreadable
    }

    /// Returns until when the first of its endpoints is withheld.
    fn withheld_until(&self) -> Option<Timestamp> {
        self.endpoints.values().filter_map(EndpointQueue::withheld_until).min()
    }
}

/// What is read of a store that was woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    /// All of it, at once.
    Now,
    /// At once without the endpoints that are full, and all of it after [`WOKEN_DELAY`].
    PartlyNow,
    /// All of it, later.
    Later(Duration),
}

/// How many endpoints of a class that is not healthy wait in memory, and what becomes of the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backlog {
    pub(super) max: usize,
    /// Until when the others are left out.
    pub(super) defer_until: Timestamp,
}

/// All stores in memory.
#[derive(Debug, Default)]
pub(super) struct Stores {
    by_merchant: BTreeMap<MerchantId, Store>,
    /// Deliveries in memory, and healthy endpoints that have some.
    rows: usize,
    sharing: usize,
    /// Stores to be read from the database with any others.
    to_read: VecDeque<MerchantId>,
    /// The same with few others, and how many are read together.
    to_read_apart: VecDeque<(MerchantId, usize)>,
    /// The same of those that could not be read, and until when none of them is.
    to_read_again: VecDeque<MerchantId>,
    rests_until: Option<Timestamp>,
    /// When stores are to be read: at most one time for each.
    timers: BTreeSet<(Timestamp, MerchantId)>,
    /// Stores in the order in which they became idle. Some of them are not idle any more.
    idle: VecDeque<(Instant, MerchantId)>,
}

impl Stores {
    pub(super) fn len(&self) -> usize {
        self.by_merchant.len()
    }

    /// Returns whether other stores may be claimed.
    pub(super) fn has_room(&self) -> bool {
        self.len() < STORES_MAX
    }

    /// Returns how many deliveries of a healthy endpoint may wait in memory: the more endpoints have some, the fewer.
    pub(super) fn share(&self) -> usize {
        let share = if self.rows < ROWS_MAX { ROWS_MAX / self.sharing.max(1) } else { 0 };
        share.clamp(WAITING_UNPROVEN_MAX, WAITING_MAX)
    }

    pub(super) fn contains(&self, merchant: MerchantId) -> bool {
        self.by_merchant.contains_key(&merchant)
    }

    pub(super) fn merchants(&self) -> Vec<MerchantId> {
        self.by_merchant.keys().copied().collect()
    }

    pub(super) fn endpoint(&mut self, key: EndpointKey) -> Option<&mut EndpointQueue> {
        self.by_merchant.get_mut(&key.merchant)?.endpoints.get_mut(&key.endpoint)
    }

    /// Adds a store that was woken to those that are to be read, and endpoints that have enough to send a little later. Each event of a
    /// burst wakes its store, and all of its deliveries would be read again for each.
    pub(super) fn wake(&mut self, merchant: MerchantId, now: Timestamp) {
        let woken = self.by_merchant.get(&merchant).map_or(Woken::Now, |store| store.woken(now));
        let delay = match woken {
            Woken::Now => return self.mark_for_read(merchant),
            Woken::PartlyNow => {
                self.list(merchant, false);
                WOKEN_DELAY
            }
            Woken::Later(delay) => delay,
        };
        if let Some(store) = self.by_merchant.get_mut(&merchant) {
            let at = now.plus(delay);
            let sooner = store.read_at.filter(|known| store.is_unreadable() || *known < at);
            store.read_at = sooner.or(Some(at));
        }
        self.review(merchant, now);
    }

    /// Takes over what was read of stores, with the `share` that was returned before. Returns deliveries that are quarantined
    /// now.
    pub(super) fn refill(
        &mut self,
        merchants: &[MerchantId],
        loaded: &[Loaded],
        share: usize,
        now: Timestamp,
    ) -> Vec<(EndpointKey, Pending)> {
        let mut quarantined = Vec::new();
        for merchant in merchants {
            // Not more than were read, although another store may have less now.
            let share = share.min(self.share());
            let store = self.by_merchant.entry(*merchant).or_default();
            if std::mem::take(&mut store.read_mode) == ReadMode::Few(1) {
                // Others may be readable again, too.
                self.rests_until = None;
            }
            let start = loaded.partition_point(|it| it.key.merchant < *merchant);
            let of_store = loaded[start..].iter().take_while(|it| it.key.merchant == *merchant);
            let of_store: Vec<&Loaded> = of_store.collect();
            store.endpoints.retain(|id, queue| {
                let is_loaded = of_store.iter().any(|it| it.key.endpoint == *id);
                if is_loaded || std::mem::take(&mut queue.is_skipped) {
                    return true;
                }
                queue.drop_waiting();
                !queue.is_idle()
            });
            for endpoint in of_store {
                let queue =
                    store.endpoints.entry(endpoint.key.endpoint).or_insert_with(EndpointQueue::new);
                queue.share = share;
                queue.adopt_health_version(endpoint.health_version, endpoint.health);
                let found = queue.refill(endpoint.health, &endpoint.pending, now);
                quarantined.extend(found.into_iter().map(|pending| (endpoint.key, pending)));
            }
            store.not_before = store.withheld_until();
            self.count(*merchant);
        }
        quarantined
    }

    /// Lets the endpoints of a store wait for a slot if they can start. Those of a class in which too many wait are left out,
    /// and the store is released until `defer_until` unless it has something else to do.
    pub(super) fn offer_all(
        &mut self,
        merchant: MerchantId,
        slots: &mut Slots,
        now: Timestamp,
        backlog: Backlog,
    ) {
        let Some(store) = self.by_merchant.get_mut(&merchant) else { return };
        for (endpoint, queue) in &mut store.endpoints {
            let key = EndpointKey { merchant, endpoint: *endpoint };
            if is_beyond(backlog.max, queue, slots, now) {
                queue.clear();
                queue.refill_at(backlog.defer_until);
                store.not_before = Some(backlog.defer_until);
            } else {
                offer(key, queue, store.lanes, slots, now);
            }
        }
    }

    /// Returns whether endpoints of a store were left out when it was read.
    #[cfg(feature = "simulation")]
    pub(super) fn is_deferred(&self, merchant: MerchantId) -> bool {
        self.by_merchant.get(&merchant).is_some_and(|store| store.not_before.is_some())
    }

    /// Leaves an endpoint out until a time, and the store, unless it has something else to do.
    pub(super) fn defer(&mut self, key: EndpointKey, until: Timestamp) {
        let Some(store) = self.by_merchant.get_mut(&key.merchant) else { return };
        if let Some(queue) = store.endpoints.get_mut(&key.endpoint) {
            queue.clear();
            queue.refill_at(until);
            store.not_before = Some(until);
        }
    }

    /// Lets an endpoint of this version, which this process cannot sign for, get no attempts before a time, whatever wakes the
    /// store. The store is released until then, unless an event wakes it: a process that can sign may take it.
    pub(super) fn withhold(&mut self, key: EndpointKey, health_version: i32, until: Timestamp) {
        let Some(store) = self.by_merchant.get_mut(&key.merchant) else { return };
        if let Some(queue) = store.endpoints.get_mut(&key.endpoint) {
            queue.withhold(health_version, until);
            store.not_before = store.withheld_until().or(store.not_before);
        }
    }

    /// Lets an endpoint that had a lane wait for another slot if it can start. If too many of its class wait with it, it is left out,
    /// as by [`offer_all`](Self::offer_all), and leaves its place to one that was: otherwise those in memory would keep it for ever.
    pub(super) fn offer(
        &mut self,
        key: EndpointKey,
        slots: &mut Slots,
        now: Timestamp,
        backlog: Backlog,
    ) {
        let Some(store) = self.by_merchant.get_mut(&key.merchant) else { return };
        let Some(queue) = store.endpoints.get_mut(&key.endpoint) else { return };
        if is_beyond(backlog.max.saturating_sub(1), queue, slots, now) {
            self.defer(key, backlog.defer_until);
        } else {
            offer(key, queue, store.lanes, slots, now);
        }
    }

    /// Counts the start of a lane.
    pub(super) fn lane_started(&mut self, key: EndpointKey) {
        let Some(store) = self.by_merchant.get_mut(&key.merchant) else { return };
        if let Some(queue) = store.endpoints.get_mut(&key.endpoint) {
            queue.lane_started();
            store.lanes += 1;
        }
    }

    /// Counts the end of a lane, and lets the endpoints of the store wait for a slot that could not because of it.
    pub(super) fn lane_ended(
        &mut self,
        key: EndpointKey,
        slots: &mut Slots,
        now: Timestamp,
        backlog: Backlog,
    ) {
        let Some(store) = self.by_merchant.get_mut(&key.merchant) else { return };
        let Some(queue) = store.endpoints.get_mut(&key.endpoint) else { return };
        queue.lane_ended();
        let was_full = store.lanes >= STORE_LANES_MAX;
        store.lanes = store.lanes.saturating_sub(1);
        self.offer(key, slots, now, backlog);
        if was_full {
            self.offer_all(key.merchant, slots, now, backlog);
        }
    }

    /// Returns whether another lane of the store may start.
    pub(super) fn has_lane(&self, merchant: MerchantId) -> bool {
        self.by_merchant.get(&merchant).is_some_and(|store| store.lanes < STORE_LANES_MAX)
    }

    /// Counts what a store has in memory.
    fn count(&mut self, merchant: MerchantId) {
        let Some(store) = self.by_merchant.get_mut(&merchant) else { return };
        let rows: usize = store.endpoints.values().map(EndpointQueue::len).sum();
        let sharing = store.endpoints.values().filter(|queue| queue.has_share()).count();
        self.rows = (self.rows + rows).saturating_sub(store.rows);
        self.sharing = (self.sharing + sharing).saturating_sub(store.sharing);
        (store.rows, store.sharing) = (rows, sharing);
    }

    /// Counts what a store has in memory and notes when it needs attention. Called after every change.
    pub(super) fn review(&mut self, merchant: MerchantId, now: Timestamp) {
        self.count(merchant);
        let Some(store) = self.by_merchant.get_mut(&merchant) else { return };
        let needs_refill = || store.endpoints.values().any(|queue| queue.needs_refill(now));
        let is_read_due = store.read_at.is_some_and(|at| at <= now);
        let is_low = !store.is_unreadable() && needs_refill();
        store.reads_all |= is_read_due;
        if is_read_due || is_low {
            self.add_to_list(merchant);
        }
        let Some(store) = self.by_merchant.get_mut(&merchant) else { return };
        let due = store.endpoints.values().filter_map(EndpointQueue::next_due);
        let due = due.filter(|_| !store.is_unreadable());
        let next = due.chain(store.read_at).min();
        // One that has passed has listed the store, which is read anyway.
        let timer = next.filter(|_| !store.is_listed);
        if timer != store.timer {
            if let Some(at) = std::mem::replace(&mut store.timer, timer) {
                self.timers.remove(&(at, merchant));
            }
            self.timers.extend(timer.map(|at| (at, merchant)));
        }
        // Released with an endpoint that was left out, the others would wait for it.
        let is_needed = store.not_before.zip(next).is_some_and(|(until, next)| next < until);
        let has_to_read = store.is_listed || store.read_at.is_some();
        let is_idle =
            !has_to_read && !is_needed && store.endpoints.values().all(EndpointQueue::is_idle);
        match (is_idle, store.idle_since) {
            (true, None) => {
                let since = Instant::now();
                store.idle_since = Some(since);
                self.idle.push_back((since, merchant));
            }
            (false, Some(_)) => store.idle_since = None,
            _ => {}
        }
    }

    /// Lists the stores that are to be read now: of most, a delivery has become due since they were read, and is not in memory.
    /// It ends, because a review sets no timer for a time that has passed.
    pub(super) fn list_due(&mut self, now: Timestamp) {
        while self.timers.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, merchant)) = self.timers.pop_first()
        {
            if let Some(store) = self.by_merchant.get_mut(&merchant) {
                store.timer = None;
            }
            self.review(merchant, now);
        }
    }

    /// Returns the stores that have been idle for a while, or all idle ones. They stay until they are removed.
    pub(super) fn idle(&mut self, all: bool, limit: usize) -> Vec<Release> {
        let mut found = Vec::new();
        while let Some((since, merchant)) = self.idle.front().copied() {
            let is_ripe = all || since.elapsed() >= LINGER;
            if !is_ripe || found.len() >= limit {
                break;
            }
            self.idle.pop_front();
            let store = self.by_merchant.get_mut(&merchant);
            if let Some(store) = store.filter(|store| store.idle_since == Some(since)) {
                store.idle_since = None;
                found.push(Release { merchant, not_before: store.not_before });
            }
        }
        found
    }

    /// Forgets everything that waits, so that stores become idle once their requests have ended.
    pub(super) fn drop_waiting(&mut self, now: Timestamp) {
        self.to_read.clear();
        self.to_read_apart.clear();
        self.to_read_again.clear();
        for store in self.by_merchant.values_mut() {
            (store.is_listed, store.reads_all) = (false, false);
            (store.read_at, store.not_before) = (None, None);
            store.read_mode = ReadMode::Together;
            store.endpoints.values_mut().for_each(EndpointQueue::drop_waiting);
        }
        for merchant in self.merchants() {
            self.review(merchant, now);
        }
    }

    /// Removes a store.
    pub(super) fn remove(&mut self, merchant: MerchantId) {
        if let Some(store) = self.by_merchant.remove(&merchant) {
            self.rows = self.rows.saturating_sub(store.rows);
            self.sharing = self.sharing.saturating_sub(store.sharing);
            if let Some(at) = store.timer {
                self.timers.remove(&(at, merchant));
            }
        }
    }
}

/// Returns whether an endpoint could wait for a slot, is not healthy, and so many of its class wait already.
fn is_beyond(max: usize, queue: &EndpointQueue, slots: &Slots, now: Timestamp) -> bool {
    let class = queue.health.class();
    let is_new = queue.queued != Some(class) && queue.can_start(now);
    is_new && class != Class::Healthy && slots.waiting(class) >= max
}

/// Lets an endpoint wait for a slot if it can start and does not wait in its class already, and for the turn of its
/// suspects.
fn offer(
    key: EndpointKey,
    queue: &mut EndpointQueue,
    store_lanes: usize,
    slots: &mut Slots,
    now: Timestamp,
) {
    let class = queue.health.class();
    if store_lanes >= STORE_LANES_MAX {
        return;
    }
    if queue.queued != Some(class) && queue.can_start(now) {
        queue.queued = Some(class);
        slots.wait(class, key);
    }
    if !queue.awaits_turn && queue.can_start_alone(now) {
        queue.awaits_turn = true;
        slots.wait_alone(class, key);
    }
}

#[cfg(test)]
mod tests;
