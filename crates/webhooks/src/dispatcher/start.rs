//! Starting attempts: which deliveries, in how many lanes.

use std::sync::Arc;

use database::DatabaseError;
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::attempt::{Delivery, Lane};
use crate::dispatcher::endpoint_queue::RUN_MAX;
use crate::dispatcher::ownership::{self, Deadline, Starts};
use crate::dispatcher::session::{LaneInfo, Session};
use crate::dispatcher::slots::{Class, Turn};
use crate::schedule::Jitter;
use crate::table::delivery::{Bodies, DeliveryKey, EndpointKey, Started};

/// Deliveries that are started at a time.
const STARTS_PER_STEP: usize = 500;

/// The deliveries of a lane before their start is recorded.
struct Chosen {
    endpoint: EndpointKey,
    class: Class,
    /// Its only delivery is a suspect.
    is_alone: bool,
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
        let is_alone = chosen.iter().any(|lane| lane.is_alone);
        let since = Instant::now();
        match ownership::start(&self.dispatcher.database, owner, &keys, is_alone).await {
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
    pub(super) fn can_start(&mut self) -> bool {
        let is_behind = self.unsettled > self.slots.total() * 4;
        !is_behind && self.may_send() && self.slots.can_start(Instant::now(), self.unsettled == 0)
    }

    /// Chooses deliveries for free slots, in turn: those of any number of lanes, or one suspect.
    fn choose(&mut self) -> Vec<Chosen> {
        let mut chosen = Vec::new();
        let mut count = 0;
        let run_max = self.run_max();
        while count < STARTS_PER_STEP
            && let Some(turn) = self.slots.next(Instant::now(), self.unsettled == 0)
        {
            let lane = match turn {
                Turn::Lane(class, endpoint) => self.choose_lane(class, endpoint, run_max),
                Turn::Alone(endpoint) => self.choose_suspect(endpoint),
            };
            let Some(lane) = lane else { continue };
            count += lane.deliveries.len();
            self.stores.lane_started(lane.endpoint);
            self.stores.offer(lane.endpoint, &mut self.slots, self.now);
            chosen.push(lane);
        }
        chosen
    }

    fn choose_lane(
        &mut self,
        class: Class,
        endpoint: EndpointKey,
        run_max: usize,
    ) -> Option<Chosen> {
        let has_lane = self.stores.has_lane(endpoint.merchant);
        let queue = self.stores.endpoint(endpoint)?;
        if queue.queued != Some(class) {
            return None;
        }
        queue.queued = None;
        if !has_lane || !queue.can_start(self.now) {
            return None;
        }
        let pending = queue.take(run_max);
        let deliveries = pending.iter().map(|pending| DeliveryKey::of(endpoint, pending)).collect();
        self.slots.occupy(class);
        Some(Chosen { endpoint, class, is_alone: false, deliveries })
    }

    /// Chooses the first suspect of an endpoint. Nothing else is in flight.
    fn choose_suspect(&mut self, endpoint: EndpointKey) -> Option<Chosen> {
        let queue = self.stores.endpoint(endpoint)?;
        queue.awaits_turn = false;
        if !queue.can_start_alone(self.now) {
            return None;
        }
        let class = queue.health.class();
        let deliveries = vec![DeliveryKey::of(endpoint, &queue.take_suspect()?)];
        self.slots.occupy_alone(class, Instant::now());
        Some(Chosen { endpoint, class, is_alone: true, deliveries })
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
        self.vacate(lane.endpoint, lane.class, lane.is_alone);
    }

    /// Returns the slot of a lane.
    pub(super) fn vacate(&mut self, endpoint: EndpointKey, class: Class, was_alone: bool) {
        if was_alone {
            self.slots.vacate_alone(class);
        } else {
            self.slots.vacate(class);
        }
        self.stores.lane_ended(endpoint, &mut self.slots, self.now);
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
                for key in &missing {
                    queue.settled(key.event);
                }
            }
            if started.is_empty() {
                self.vacate(lane.endpoint, lane.class, lane.is_alone);
            } else {
                self.spawn(self.prepare(lease, &lane, (started, &starts.bodies), since));
            }
        }
    }

    fn prepare(
        &self,
        (owner, deadline): (Uuid, &Deadline),
        chosen: &Chosen,
        (started, bodies): (Vec<(Started, Jitter)>, &Bodies),
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
            lone_starts: started.lone_starts - i16::from(chosen.is_alone),
            jitter,
            body: bodies.get(&(started.key.endpoint.merchant, started.key.event)).cloned(),
        };
        Lane {
            owner,
            deadline: deadline.clone(),
            endpoint: chosen.endpoint,
            class: chosen.class,
            is_alone: chosen.is_alone,
            url,
            version,
            secrets,
            deliveries: started.into_iter().map(delivery).collect(),
            started_at: self.now,
            since,
        }
    }

    fn spawn(&mut self, lane: Lane) {
        let Lane { endpoint, class, is_alone, .. } = lane;
        self.in_lanes += lane.deliveries.len();
        let (client, stop) = (self.dispatcher.client.clone(), Arc::clone(&self.stop_lanes));
        let task = self.lanes.spawn(lane.run(client, stop, self.ended_sender.clone()));
        self.lane_infos.insert(task.id(), LaneInfo { endpoint, class, is_alone });
    }
}
