//! The simulated tables, with the rules of the statements in `table/`. Each function is one transaction.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::time::Duration;

use primitives::{EventId, Id, MerchantId, Timestamp};
use uuid::Uuid;

use super::receiver::Receiver;
use crate::dispatcher::StartCounts;
use crate::dispatcher::decision::Report;
use crate::dispatcher::endpoint_queue::loaded_max;
use crate::dispatcher::results::{self, Recording, Settled, ToDisable};
use crate::table::delivery::{
    DeliveryKey, EndpointKey, Loaded, Pending, Startable, StoredHealth, Wanted,
};
use crate::table::queue::Release;
use crate::table::settlement::{HealthChange, Next};

/// A row of `webhook_delivery`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) due_at: Timestamp,
    pub(super) counts: StartCounts,
}

/// A row that is a dead letter.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeadRow {
    pub(super) counts: StartCounts,
    /// Its endpoint was disabled, because it was gone or had failed for too long.
    pub(super) is_disabled: bool,
}

/// A row of `webhook_endpoint`, with its health.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoint {
    pub(super) is_enabled: bool,
    /// The merchant has disabled it: what is pending waits.
    pub(super) is_disabled_by_merchant: bool,
    pub(super) health_version: i32,
    /// What is at its URL.
    pub(super) receiver: Receiver,
    pub(super) health: Option<StoredHealth>,
}

/// A row of `webhook_queue`.
#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    due_at: Option<Timestamp>,
    owner: Option<Uuid>,
}

/// What a merchant does with an endpoint.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    Disable,
    Enable,
    /// Another URL.
    Move(Receiver),
}

/// All tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// Deliveries that are pending.
    pub(super) deliveries: BTreeMap<DeliveryKey, Row>,
    /// The same by due time, of each endpoint: the index `webhook_delivery_due`.
    by_due_time: BTreeMap<EndpointKey, BTreeMap<(Timestamp, DeliveryKey), StartCounts>>,
    pub(super) dead: BTreeMap<DeliveryKey, DeadRow>,
    pub(super) endpoints: BTreeMap<EndpointKey, Endpoint>,
    queue: BTreeMap<MerchantId, Queue>,
    wakes: VecDeque<MerchantId>,
    /// When the lease of an owner ends. `None` while its process runs, which renews it.
    pub(super) leases: BTreeMap<Uuid, Option<Timestamp>>,
    /// Deliveries that were removed.
    pub(super) delivered: BTreeSet<DeliveryKey>,
}

impl Tables {
    pub(super) fn add_endpoint(&mut self, key: EndpointKey, receiver: Receiver) {
        let endpoint = Endpoint {
            is_enabled: true,
            is_disabled_by_merchant: false,
            health_version: 1,
            receiver,
            health: None,
        };
        self.endpoints.insert(key, endpoint);
        self.queue.entry(key.merchant).or_default();
    }

    /// Changes an endpoint, as `write_change` in `endpoints.rs`. Returns whether anything differs.
    pub(super) fn change(&mut self, key: EndpointKey, change: Change) -> bool {
        let Some(endpoint) = self.endpoints.get_mut(&key) else { return false };
        match change {
            Change::Disable if endpoint.is_enabled => {
                (endpoint.is_enabled, endpoint.is_disabled_by_merchant) = (false, true);
            }
            Change::Enable if !endpoint.is_enabled => {
                (endpoint.is_enabled, endpoint.is_disabled_by_merchant) = (true, false);
                endpoint.health = None;
            }
            Change::Move(receiver) => (endpoint.receiver, endpoint.health) = (receiver, None),
            Change::Disable | Change::Enable => return false,
        }
        endpoint.health_version += i32::from(!matches!(change, Change::Disable));
        self.wakes.push_back(key.merchant);
        true
    }

    /// Queues an event for the enabled endpoints of its store, and returns its deliveries.
    pub(super) fn publish(
        &mut self,
        merchant: MerchantId,
        event: EventId,
        now: Timestamp,
    ) -> Vec<DeliveryKey> {
        let of_store = self.endpoints.iter().filter(|(key, _)| key.merchant == merchant);
        let enabled = of_store.filter(|(_, endpoint)| endpoint.is_enabled);
        let keys: Vec<DeliveryKey> = enabled
            .map(|(endpoint, _)| DeliveryKey { endpoint: *endpoint, event_at: now, event })
            .collect();
        for key in &keys {
            self.put_row(*key, Row { due_at: now, counts: StartCounts::default() });
        }
        if !keys.is_empty() {
            self.wakes.push_back(merchant);
        }
        keys
    }

    fn put_row(&mut self, key: DeliveryKey, row: Row) {
        self.remove_row(key);
        self.deliveries.insert(key, row);
        let due = self.by_due_time.entry(key.endpoint).or_default();
        due.insert((row.due_at, key), row.counts);
    }

    fn remove_row(&mut self, key: DeliveryKey) {
        if let Some(row) = self.deliveries.remove(&key)
            && let Some(due) = self.by_due_time.get_mut(&key.endpoint)
        {
            due.remove(&(row.due_at, key));
        }
    }

    /// Returns the pending deliveries of an endpoint, the longest due first.
    fn pending_of(&self, endpoint: EndpointKey) -> impl Iterator<Item = Pending> {
        let rows = self.by_due_time.get(&endpoint).into_iter().flatten();
        rows.map(|((due_at, key), counts)| Pending {
            event_at: key.event_at,
            event: key.event,
            due_at: *due_at,
            counts: *counts,
        })
    }

    fn is_expired(&self, owner: Uuid, now: Timestamp) -> bool {
        self.leases.get(&owner).is_some_and(|until| until.is_some_and(|until| until <= now))
    }

    /// Processes wakes and claims stores. Returns those that are to be read.
    pub(super) fn take(&mut self, owner: Uuid, now: Timestamp) -> BTreeSet<MerchantId> {
        let mut merchants = BTreeSet::new();
        for woken in self.wakes.drain(..) {
            let queue = self.queue.entry(woken).or_default();
            if queue.owner.is_none_or(|other| other == owner) {
                *queue = Queue { owner: Some(owner), due_at: None };
                merchants.insert(woken);
            } else {
                queue.due_at = Some(queue.due_at.map_or(now, |due_at| due_at.min(now)));
            }
        }
        let claimable: Vec<MerchantId> = self
            .queue
            .iter()
            .filter(|(_, queue)| {
                let is_due = queue.due_at.is_some_and(|due_at| due_at <= now);
                match queue.owner {
                    None => is_due,
                    Some(other) if other == owner => is_due,
                    Some(other) => self.is_expired(other, now),
                }
            })
            .map(|(merchant, _)| *merchant)
            .collect();
        for merchant in claimable {
            self.queue.insert(merchant, Queue { owner: Some(owner), due_at: None });
            merchants.insert(merchant);
        }
        merchants
    }

    /// Reads stores, in ascending order of the endpoints.
    pub(super) fn load(&self, wanted: Wanted<'_>, share: usize) -> Vec<Loaded> {
        let is_wanted = |key: &EndpointKey| {
            wanted.merchants.contains(&key.merchant) && !wanted.skipped.contains(&key.endpoint)
        };
        let enabled = self.endpoints.iter().filter(|(_, endpoint)| endpoint.is_enabled);
        let wanted = enabled.filter(|(key, _)| is_wanted(key));
        wanted
            .map(|(key, endpoint)| {
                let pending =
                    self.pending_of(*key).take(loaded_max(endpoint.health, share)).collect();
                let Endpoint { health_version, health, .. } = *endpoint;
                Loaded { key: *key, health_version, health, pending }
            })
            .collect()
    }

    /// Returns the stores that the owner has, or none if its lease has expired and `needs_lease` is set.
    pub(super) fn owned(
        &self,
        owner: Uuid,
        needs_lease: bool,
        now: Timestamp,
    ) -> HashSet<MerchantId> {
        if needs_lease && (self.is_expired(owner, now) || !self.leases.contains_key(&owner)) {
            return HashSet::new();
        }
        let own = self.queue.iter().filter(|(_, queue)| queue.owner == Some(owner));
        own.map(|(merchant, _)| *merchant).collect()
    }

    /// Records the start of a delivery, and returns its counts. `None` if it is not pending, was changed since it was read, or its
    /// endpoint is disabled.
    pub(super) fn start(&mut self, startable: Startable, is_alone: bool) -> Option<StartCounts> {
        let Startable { key, counts } = startable;
        let is_enabled = self.endpoints.get(&key.endpoint)?.is_enabled;
        let row = self.deliveries.get(&key).filter(|_| is_enabled)?;
        if (row.counts.attempts, row.counts.starts) != (counts.attempts, counts.starts) {
            return None;
        }
        let row = Row { counts: row.counts.started(is_alone), ..*row };
        self.put_row(key, row);
        Some(row.counts)
    }

    /// Records reports of one owner. Those of stores that it does not have any more are refused.
    pub(super) fn record(&mut self, reports: &[Report], now: Timestamp) -> Vec<Settled> {
        let Some(owner) = reports.first().map(|report| report.owner) else { return Vec::new() };
        let held = self.owned(owner, false, now);
        for change in results::health_of(reports, &held, now).into_values() {
            self.put_health(&change, now);
        }
        let disabled = self.disable(results::to_disable(reports, &held));
        let Recording { rows, settled } = Recording::of(reports, &held, &disabled, now);
        for row in rows {
            let is_disabled = disabled.contains(&row.key.endpoint);
            self.settle(row.key, row.counts, row.next, is_disabled);
        }
        for key in &disabled {
            self.dead_letter(*key);
        }
        settled
    }

    fn disable(&mut self, wanted: ToDisable) -> BTreeSet<EndpointKey> {
        let mut disabled = BTreeSet::new();
        for (key, (health_version, _)) in wanted {
            let endpoint = self.endpoints.get_mut(&key);
            let is_same = |it: &&mut Endpoint| it.is_enabled && it.health_version == health_version;
            if let Some(endpoint) = endpoint.filter(is_same) {
                endpoint.is_enabled = false;
                disabled.insert(key);
            }
        }
        disabled
    }

    /// Moves the pending deliveries of an endpoint to the dead letters.
    fn dead_letter(&mut self, endpoint: EndpointKey) {
        let pending: Vec<Pending> = self.pending_of(endpoint).collect();
        for pending in pending {
            let key = DeliveryKey::of(endpoint, &pending);
            self.remove_row(key);
            self.dead.insert(key, DeadRow { counts: pending.counts, is_disabled: true });
        }
    }

    /// Changes the row of a delivery, unless something else has decided about it.
    fn settle(&mut self, key: DeliveryKey, before: StartCounts, next: Next, is_disabled: bool) {
        let is_same = |counts: StartCounts| {
            (counts.attempts, counts.starts) == (before.attempts, before.starts)
        };
        let row = self.deliveries.get(&key).copied().filter(|row| is_same(row.counts));
        let is_same_dead = self.dead.get(&key).is_some_and(|row| is_same(row.counts));
        match (row, next) {
            (Some(_), Next::Removed) => {
                self.remove_row(key);
                self.delivered.insert(key);
            }
            (None, Next::Removed) if is_same_dead => {
                self.dead.remove(&key);
                self.delivered.insert(key);
            }
            (Some(row), Next::Pending { counts, due_at }) => {
                let due_at = due_at.unwrap_or(row.due_at);
                self.put_row(key, Row { due_at, counts });
            }
            (Some(_), Next::Dead { attempts, .. }) => {
                self.remove_row(key);
                let counts = StartCounts::resulted(attempts);
                self.dead.insert(key, DeadRow { counts, is_disabled });
            }
            (None, _) => {}
        }
    }

    fn put_health(&mut self, change: &HealthChange, now: Timestamp) {
        let endpoint = self.endpoints.get_mut(&change.key);
        let Some(endpoint) = endpoint.filter(|it| it.health_version == change.health_version)
        else {
            return;
        };
        let before = endpoint.health.and_then(|health| health.last_success_at);
        endpoint.health = Some(StoredHealth {
            last_success_at: if change.has_succeeded { Some(now) } else { before },
            failing_since: change.failing_since,
            consecutive_failures: change.consecutive_failures,
            probe_at: change.probe_at,
            latency: change.latency,
        });
    }

    /// Releases a store: it is due when its first delivery can be attempted. Returns whether the owner had it.
    pub(super) fn release(&mut self, owner: Uuid, release: &Release) -> bool {
        let enabled = self
            .endpoints
            .iter()
            .filter(|(key, endpoint)| key.merchant == release.merchant && endpoint.is_enabled);
        let first = enabled.filter_map(|(key, endpoint)| {
            let due_at = self.pending_of(*key).next()?.due_at;
            Some(due_at.max(probe_at(endpoint).unwrap_or(due_at)))
        });
        let first = first.min().map(|at| at.max(release.not_before.unwrap_or(at)));
        let queue = self.queue.get_mut(&release.merchant);
        let Some(queue) = queue.filter(|queue| queue.owner == Some(owner)) else { return false };
        let due_at = queue.due_at.into_iter().chain(first).min();
        *queue = Queue { owner: None, due_at };
        true
    }

    /// Returns whether a delivery can be attempted now that is up to an owner, and when the next one can be later: of its own
    /// stores, of those that nobody has, and of those whose owner has crashed, once its lease is over.
    pub(super) fn next_for(&self, owner: Uuid, now: Timestamp) -> (bool, Option<Timestamp>) {
        let enabled = self.endpoints.iter().filter(|(_, endpoint)| endpoint.is_enabled);
        let times = enabled.filter_map(|(key, endpoint)| {
            let from = self.up_to(owner, key.merchant, now)?;
            Some(self.next_of(*key, from.max(probe_at(endpoint).unwrap_or(from)), now))
        });
        times.fold((false, None), |(any, first), (is_due, later)| {
            (any || is_due, first.into_iter().chain(later).min())
        })
    }

    /// Returns from when on a store is up to an owner; `None` for as long as another process has it.
    fn up_to(&self, owner: Uuid, merchant: MerchantId, now: Timestamp) -> Option<Timestamp> {
        match self.queue.get(&merchant)?.owner.filter(|it| *it != owner) {
            None => Some(now),
            Some(other) => *self.leases.get(&other)?,
        }
    }

    /// Returns whether a delivery of an endpoint is due, none of which is before `from`, and when the next one is later.
    fn next_of(
        &self,
        key: EndpointKey,
        from: Timestamp,
        now: Timestamp,
    ) -> (bool, Option<Timestamp>) {
        let Some(due) = self.by_due_time.get(&key) else { return (false, None) };
        let first = due.first_key_value().map(|((at, _), _)| *at);
        if from > now {
            return (false, first.map(|at| at.max(from)));
        }
        let is_due = first.is_some_and(|at| at <= now);
        let event_at = Timestamp::from_unix_micros(0);
        let least = DeliveryKey { endpoint: key, event_at, event: EventId::from_random(0) };
        let later = due.range((now.plus(Duration::from_micros(1)), least)..).next();
        (is_due, later.map(|((at, _), _)| *at))
    }

    /// Whether the owner of a lease may be replaced.
    pub(super) fn has_lost_lease(&self, owner: Uuid, now: Timestamp) -> bool {
        self.is_expired(owner, now)
    }
}

fn probe_at(endpoint: &Endpoint) -> Option<Timestamp> {
    endpoint.health.and_then(|health| health.probe_at)
}
