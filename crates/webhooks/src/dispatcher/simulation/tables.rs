//! The simulated tables, with the rules of the statements in `table/`. Each function is one transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use primitives::{EventId, Id, MerchantId, Timestamp};
use uuid::Uuid;

use crate::dispatcher::decision::Report;
use crate::dispatcher::endpoint_queue::LOADED_MAX;
use crate::dispatcher::results::{self, Fate, RecordedHealth, Settled};
use crate::table::delivery::{DeliveryKey, EndpointKey, Loaded, Pending, StoredHealth};
use crate::table::queue::Release;
use crate::table::settlement::{HealthChange, Next};

/// A row of `webhook_delivery`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) due_at: Timestamp,
    pub(super) attempts: i16,
    pub(super) starts: i16,
    pub(super) lone_starts: i16,
    pub(super) is_dead: bool,
}

/// A row of `webhook_endpoint`, with its health.
#[derive(Debug, Clone, Copy)]
pub(super) struct Endpoint {
    pub(super) is_enabled: bool,
    pub(super) health: Option<StoredHealth>,
}

/// A row of `webhook_queue`.
#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    due_at: Option<Timestamp>,
    owner: Option<Uuid>,
}

/// All tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) deliveries: BTreeMap<DeliveryKey, Row>,
    pub(super) endpoints: BTreeMap<EndpointKey, Endpoint>,
    queue: BTreeMap<MerchantId, Queue>,
    wakes: VecDeque<MerchantId>,
    /// When the lease of an owner ends. `None` while its process runs, which renews it.
    pub(super) leases: HashMap<Uuid, Option<Timestamp>>,
    /// Deliveries that were removed.
    pub(super) delivered: BTreeSet<DeliveryKey>,
}

impl Tables {
    pub(super) fn add_endpoint(&mut self, key: EndpointKey) {
        self.endpoints.insert(key, Endpoint { is_enabled: true, health: None });
        self.queue.entry(key.merchant).or_default();
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
            let row = Row { due_at: now, attempts: 0, starts: 0, lone_starts: 0, is_dead: false };
            self.deliveries.insert(*key, row);
        }
        if !keys.is_empty() {
            self.wakes.push_back(merchant);
        }
        keys
    }

    fn is_expired(&self, owner: Uuid, now: Timestamp) -> bool {
        self.leases.get(&owner).is_some_and(|until| until.is_some_and(|until| until <= now))
    }

    /// Processes wakes, claims stores, and reads these and the listed ones.
    pub(super) fn take(
        &mut self,
        owner: Uuid,
        listed: Vec<MerchantId>,
        now: Timestamp,
    ) -> (Vec<MerchantId>, Vec<Loaded>) {
        let mut merchants: BTreeSet<MerchantId> = listed.into_iter().collect();
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
        let loaded = self.load(&merchants);
        (merchants.into_iter().collect(), loaded)
    }

    fn load(&self, merchants: &BTreeSet<MerchantId>) -> Vec<Loaded> {
        let enabled = self.endpoints.iter().filter(|(_, endpoint)| endpoint.is_enabled);
        let of_stores = enabled.filter(|(key, _)| merchants.contains(&key.merchant));
        of_stores
            .map(|(key, endpoint)| {
                let mut pending = self.pending_of(*key);
                pending.sort_by_key(|pending| pending.due_at);
                pending.truncate(LOADED_MAX);
                Loaded { key: *key, health: endpoint.health, pending }
            })
            .collect()
    }

    fn pending_of(&self, endpoint: EndpointKey) -> Vec<Pending> {
        let first = Timestamp::from_unix_micros(0);
        let first = DeliveryKey { endpoint, event_at: first, event: EventId::from_random(0) };
        let rows = self.deliveries.range(first..).take_while(|(key, _)| key.endpoint == endpoint);
        rows.filter(|(_, row)| !row.is_dead)
            .map(|(key, row)| Pending {
                event_at: key.event_at,
                event: key.event,
                due_at: row.due_at,
                attempts: row.attempts,
                starts: row.starts,
                lone_starts: row.lone_starts,
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

    /// Records the start of a delivery, and returns its row. `None` if it or its endpoint is gone.
    pub(super) fn start(&mut self, key: DeliveryKey, is_alone: bool) -> Option<Row> {
        let is_enabled = self.endpoints.get(&key.endpoint)?.is_enabled;
        let row = self.deliveries.get_mut(&key).filter(|row| is_enabled && !row.is_dead)?;
        row.starts += 1;
        row.lone_starts += i16::from(is_alone);
        Some(*row)
    }

    /// Records reports of one owner. Those of stores that it does not have any more are refused.
    pub(super) fn record(&mut self, reports: &[Report], now: Timestamp) -> Vec<Settled> {
        let Some(owner) = reports.first().map(|report| report.owner) else { return Vec::new() };
        let held = self.owned(owner, false, now);
        let (own, fenced): (Vec<&Report>, Vec<&Report>) =
            reports.iter().partition(|report| held.contains(&report.key.endpoint.merchant));
        let disabled = self.disable(&own);
        let health = results::note_health(&own, now);
        let mut settled: Vec<Settled> =
            fenced.into_iter().map(|report| results::settled_as(report, Fate::Fenced)).collect();
        for report in own {
            let (settlement, fate) = results::settle(report, &disabled, now);
            self.settle(settlement.key, (settlement.attempts, settlement.starts), settlement.next);
            let recorded = health.get(&report.endpoint()).filter(|_| report.health.is_some());
            settled.push(Settled {
                health: recorded.map(|change| RecordedHealth {
                    failing_since: change.failing_since,
                    probe_at: change.probe_at,
                }),
                is_disabled: disabled.contains(&report.endpoint()),
                ..results::settled_as(report, fate)
            });
        }
        for key in &disabled {
            let rows = self.deliveries.iter_mut().filter(|(row, _)| row.endpoint == *key);
            rows.for_each(|(_, row)| row.is_dead = true);
        }
        for change in health.into_values() {
            self.put_health(&change, now);
        }
        settled
    }

    fn disable(&mut self, reports: &[&Report]) -> HashSet<EndpointKey> {
        let wanted = reports.iter().filter(|report| report.disable.is_some());
        let wanted: HashSet<EndpointKey> = wanted.map(|report| report.endpoint()).collect();
        let mut disabled = HashSet::new();
        for key in wanted {
            if let Some(endpoint) = self.endpoints.get_mut(&key).filter(|it| it.is_enabled) {
                endpoint.is_enabled = false;
                disabled.insert(key);
            }
        }
        disabled
    }

    /// Changes the row of a delivery, unless something else has decided about it.
    fn settle(&mut self, key: DeliveryKey, (attempts, starts): (i16, i16), next: Next) {
        let row = self.deliveries.get_mut(&key);
        let is_same = |row: &&mut Row| (row.attempts, row.starts) == (attempts, starts);
        let Some(row) = row.filter(is_same) else { return };
        match next {
            Next::Removed => {
                self.deliveries.remove(&key);
                self.delivered.insert(key);
            }
            Next::Pending { attempts, starts, lone_starts, due_at } if !row.is_dead => {
                let due_at = due_at.unwrap_or(row.due_at);
                *row = Row { due_at, attempts, starts, lone_starts, is_dead: false };
            }
            Next::Dead { attempts } if !row.is_dead => {
                let due_at = row.due_at;
                *row = Row { due_at, attempts, starts: attempts, lone_starts: 0, is_dead: true };
            }
            Next::Pending { .. } | Next::Dead { .. } => {}
        }
    }

    fn put_health(&mut self, change: &HealthChange, now: Timestamp) {
        let Some(endpoint) = self.endpoints.get_mut(&change.key) else { return };
        let before = endpoint.health.and_then(|health| health.last_success_at);
        endpoint.health = Some(StoredHealth {
            last_success_at: if change.has_succeeded { Some(now) } else { before },
            failing_since: change.failing_since,
            consecutive_failures: change.consecutive_failures,
            probe_at: change.probe_at,
        });
    }

    /// Releases a store: it is due when its first delivery can be attempted.
    pub(super) fn release(&mut self, owner: Uuid, release: &Release) {
        let enabled = self
            .endpoints
            .iter()
            .filter(|(key, endpoint)| key.merchant == release.merchant && endpoint.is_enabled);
        let first = enabled.filter_map(|(key, endpoint)| {
            let due_at = self.pending_of(*key).iter().map(|pending| pending.due_at).min()?;
            Some(due_at.max(probe_at(endpoint).unwrap_or(due_at)))
        });
        let first = first.min().map(|at| at.max(release.not_before.unwrap_or(at)));
        let Some(queue) = self.queue.get_mut(&release.merchant) else { return };
        if queue.owner == Some(owner) {
            let due_at = queue.due_at.into_iter().chain(first).min();
            *queue = Queue { owner: None, due_at };
        }
    }

    /// Returns whether a delivery can be attempted now that is up to an owner, and when the next one can be later: of its own
    /// stores, of those that nobody has, and of those whose owner has ended, once its lease is over.
    pub(super) fn next_for(&self, owner: Uuid, now: Timestamp) -> (bool, Option<Timestamp>) {
        let pending = self.deliveries.iter().filter(|(_, row)| !row.is_dead);
        let times = pending.filter_map(|(key, row)| {
            let endpoint = self.endpoints.get(&key.endpoint).filter(|it| it.is_enabled)?;
            let due_at = row.due_at.max(probe_at(endpoint).unwrap_or(row.due_at));
            let other = self.queue.get(&key.endpoint.merchant)?.owner.filter(|it| *it != owner);
            match other {
                None => Some(due_at),
                Some(other) => self.leases.get(&other)?.map(|until| until.max(due_at)),
            }
        });
        let (due, later): (Vec<Timestamp>, Vec<Timestamp>) = times.partition(|at| *at <= now);
        (!due.is_empty(), later.into_iter().min())
    }

    /// Whether the owner of a lease may be replaced.
    pub(super) fn has_lost_lease(&self, owner: Uuid, now: Timestamp) -> bool {
        self.is_expired(owner, now)
    }
}

fn probe_at(endpoint: &Endpoint) -> Option<Timestamp> {
    endpoint.health.and_then(|health| health.probe_at)
}
