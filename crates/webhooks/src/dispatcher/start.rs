//! Starting attempts: which deliveries, in how many lanes.

use std::sync::Arc;

use bytes::Bytes;
use database::DatabaseError;
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::attempt::{Delivery, Lane};
use crate::dispatcher::endpoint_queue::{RUN_MAX, is_suspect};
use crate::dispatcher::ownership::{self, Deadline, Starts};
use crate::dispatcher::session::{LaneInfo, Session};
use crate::dispatcher::slots::Class;
use crate::schedule::Jitter;
use crate::table::delivery::{DeliveryKey, EndpointKey, Started};

/// Deliveries that are started at a time.
const STARTS_PER_STEP: usize = 500;

/// The deliveries of a lane before their start is recorded.
struct Chosen {
    endpoint: EndpointKey,
    class: Class,
    has_suspect: bool,
    deliveries: Vec<DeliveryKey>,
}

impl Session<'_> {
    /// Starts attempts in free slots.
    pub(super) async fn start(&mut self) -> Result<(), DatabaseError> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let (owner, deadline) = (lease.owner, lease.deadline.clone());
        let chosen = if self.can_start() { self.choose() } else { Vec::new() };
        if chosen.is_empty() {
            return Ok(());
        }
        let keys: Vec<DeliveryKey> =
            chosen.iter().flat_map(|lane| lane.deliveries.iter().copied()).collect();
        let since = Instant::now();
        match ownership::start(&self.dispatcher.database, owner, &keys).await {
            Ok(starts) => {
                self.now = starts.now;
                self.spawn_all((owner, &deadline), chosen, starts, since);
                Ok(())
            }
            Err(error) => {
                for lane in chosen {
                    self.undo(&lane);
                }
                Err(error)
            }
        }
    }

    /// Returns whether an attempt can start: not while too many results wait to be recorded.
    pub(super) fn can_start(&self) -> bool {
        let is_behind = self.unsettled > self.slots.total() * 4;
        self.slots.can_start() && self.may_send() && !is_behind
    }

    /// Chooses deliveries for free slots, in turn.
    fn choose(&mut self) -> Vec<Chosen> {
        let mut chosen = Vec::new();
        let mut count = 0;
        let now = self.now;
        let run_max = self.run_max();
        while count < STARTS_PER_STEP
            && let Some((class, endpoint)) = self.slots.next()
        {
            let has_lane = self.stores.has_lane(endpoint.merchant);
            let Some(queue) = self.stores.endpoint(endpoint) else { continue };
            if queue.queued != Some(class) {
                continue;
            }
            queue.queued = None;
            if !has_lane || !queue.can_start(now) {
                continue;
            }
            let pending = queue.take(run_max, !self.has_suspect);
            if pending.is_empty() {
                queue.awaits_suspect = true;
                self.awaiting_suspect.push(endpoint);
                continue;
            }
            let has_suspect = pending.iter().any(is_suspect);
            self.has_suspect |= has_suspect;
            let deliveries: Vec<DeliveryKey> =
                pending.iter().map(|pending| DeliveryKey::of(endpoint, pending)).collect();
            count += deliveries.len();
            self.slots.occupy(class);
            self.stores.lane_started(endpoint);
            self.stores.offer(endpoint, &mut self.slots, now);
            chosen.push(Chosen { endpoint, class, has_suspect, deliveries });
        }
        chosen
    }

    /// Returns how many deliveries a lane may have: the fewer endpoints wait, the more.
    fn run_max(&self) -> usize {
        let room = (self.slots.total() * 2).saturating_sub(self.in_lanes);
        let waiting: usize = Class::ALL.iter().map(|class| self.slots.waiting(*class)).sum();
        (room / waiting.clamp(1, self.slots.total())).clamp(1, RUN_MAX)
    }

    /// Returns deliveries that were not started.
    fn undo(&mut self, lane: &Chosen) {
        if let Some(queue) = self.stores.endpoint(lane.endpoint) {
            lane.deliveries.iter().for_each(|key| queue.settled(key.event));
            queue.expect_more();
        }
        self.vacate(lane.endpoint, lane.class, lane.has_suspect);
    }

    /// Returns the slot of a lane, and lets those wait for a slot that waited for its end.
    pub(super) fn vacate(&mut self, endpoint: EndpointKey, class: Class, had_suspect: bool) {
        self.slots.vacate(class);
        self.stores.lane_ended(endpoint, &mut self.slots, self.now);
        if had_suspect {
            self.has_suspect = false;
            for key in std::mem::take(&mut self.awaiting_suspect) {
                if let Some(queue) = self.stores.endpoint(key) {
                    queue.awaits_suspect = false;
                }
                self.stores.offer(key, &mut self.slots, self.now);
            }
        }
        self.stores.review(endpoint.merchant, self.now);
    }

    /// Starts the lanes of deliveries whose start is recorded. The others do not exist any more, or their endpoint is disabled
    /// or deleted, or another process delivers for the store.
    fn spawn_all(
        &mut self,
        lease: (Uuid, &Deadline),
        chosen: Vec<Chosen>,
        mut starts: Starts,
        since: Instant,
    ) {
        for lane in chosen {
            let mut started = Vec::new();
            let mut missing = Vec::new();
            for key in &lane.deliveries {
                match starts.started.remove(key) {
                    Some(delivery) => started.push(delivery),
                    None => missing.push(*key),
                }
            }
            if !starts.owned.contains(&lane.endpoint.merchant) {
                self.stores.remove(lane.endpoint.merchant);
            }
            if let Some(queue) = self.stores.endpoint(lane.endpoint) {
                missing.iter().for_each(|key| queue.settled(key.event));
            }
            if started.is_empty() {
                self.vacate(lane.endpoint, lane.class, lane.has_suspect);
            } else {
                self.spawn(self.prepare(lease, &lane, started, since));
            }
        }
    }

    fn prepare(
        &self,
        (owner, deadline): (Uuid, &Deadline),
        chosen: &Chosen,
        started: Vec<(Started, Jitter)>,
        since: Instant,
    ) -> Lane {
        let first = started.first().map(|(started, _)| started);
        let secrets = first.and_then(|started| self.dispatcher.secrets(started, self.now));
        let url = first.map(|started| started.url.clone()).unwrap_or_default();
        let version = first.map_or(0, |started| started.version);
        let delivery = |(started, jitter): (Started, Jitter)| Delivery {
            key: started.key,
            attempts: started.attempts,
            starts: started.starts,
            jitter,
            body: started.body.map(Bytes::from),
        };
        Lane {
            owner,
            deadline: deadline.clone(),
            endpoint: chosen.endpoint,
            class: chosen.class,
            has_suspect: chosen.has_suspect,
            url,
            version,
            secrets,
            deliveries: started.into_iter().map(delivery).collect(),
            started_at: self.now,
            since,
        }
    }

    fn spawn(&mut self, lane: Lane) {
        let Lane { endpoint, class, has_suspect, .. } = lane;
        self.in_lanes += lane.deliveries.len();
        let (client, stop) = (self.dispatcher.client.clone(), Arc::clone(&self.stop_lanes));
        let task = self.lanes.spawn(lane.run(client, stop, self.ended_sender.clone()));
        self.lane_infos.insert(task.id(), LaneInfo { endpoint, class, has_suspect });
    }
}
