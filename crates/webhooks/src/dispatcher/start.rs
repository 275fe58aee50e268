//! Starting attempts: records their start, and runs their lanes.

use std::sync::Arc;

use database::DatabaseError;
use primitives::EventId;
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::attempt::{Delivery, Lane};
use crate::dispatcher::memory::{Chosen, LaneNumber};
use crate::dispatcher::ownership::{self, Deadline, Starts};
use crate::dispatcher::session::Session;
use crate::schedule::Jitter;
use crate::table::delivery::{DeliveryKey, Startable, Started};

/// What is started under a lease.
struct Under<'lease> {
    owner: Uuid,
    deadline: &'lease Deadline,
    /// Since when, by the clock of this process.
    since: Instant,
}

/// A delivery whose start is recorded.
struct StartedDelivery {
    started: Started,
    jitter: Jitter,
    is_first: bool,
}

impl Session<'_> {
    /// Starts attempts in free slots.
    pub(super) async fn start(&mut self) -> Result<(), DatabaseError> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let (owner, deadline) = (lease.owner, lease.deadline.clone());
        let chosen = if self.can_start() { self.memory.choose(Instant::now()) } else { Vec::new() };
        if chosen.is_empty() {
            return Ok(());
        }
        let startable: Vec<Startable> = chosen.iter().flat_map(Chosen::startable).collect();
        let is_alone = chosen.iter().any(|lane| lane.is_alone);
        let since = Instant::now();
        match ownership::start(&self.dispatcher.database, owner, &startable, is_alone).await {
            Ok(starts) => {
                self.memory.now = starts.now;
                self.spawn_all(&Under { owner, deadline: &deadline, since }, chosen, starts);
                Ok(())
            }
            Err(error) => {
                for lane in chosen {
                    self.memory.undo(&lane);
                }
                Err(error)
            }
        }
    }

    /// Returns whether an attempt can start.
    pub(super) fn can_start(&mut self) -> bool {
        self.may_send() && self.memory.can_start(Instant::now())
    }

    /// Starts the lanes of deliveries whose start is recorded.
    fn spawn_all(&mut self, under: &Under<'_>, chosen: Vec<Chosen>, mut starts: Starts) {
        for lane in chosen {
            let mut found = Vec::new();
            let mut missing: Vec<EventId> = Vec::new();
            for pending in &lane.deliveries {
                match starts.started.remove(&DeliveryKey::of(lane.endpoint, pending)) {
                    Some((started, jitter)) => {
                        let is_first = pending.is_first();
                        found.push(StartedDelivery { started, jitter, is_first });
                    }
                    None => missing.push(pending.event),
                }
            }
            let is_owned = starts.owned.contains(&lane.endpoint.merchant);
            if let Some(number) = self.memory.begin(&lane, &missing, is_owned) {
                let lane = self.prepare(under, number, lane.is_alone, found, &starts);
                self.spawn(lane);
            }
        }
    }

    fn prepare(
        &self,
        under: &Under<'_>,
        number: LaneNumber,
        is_alone: bool,
        found: Vec<StartedDelivery>,
        starts: &Starts,
    ) -> Lane {
        let first = found.first().map(|delivery| &delivery.started);
        let secrets = first.and_then(|started| self.dispatcher.secrets(started, starts.now));
        let url = first.map(|started| started.url.clone()).unwrap_or_default();
        let version = first.map_or(0, |started| started.version);
        let delivery = |StartedDelivery { started, jitter, is_first }| Delivery {
            key: started.key,
            counts: started.counts,
            is_first,
            jitter,
            body: starts.bodies.get(&(started.key.endpoint.merchant, started.key.event)).cloned(),
        };
        Lane {
            owner: under.owner,
            deadline: under.deadline.clone(),
            number,
            is_alone,
            url,
            version,
            secrets,
            deliveries: found.into_iter().map(delivery).collect(),
            started_at: starts.now,
            since: under.since,
        }
    }

    fn spawn(&mut self, lane: Lane) {
        let number = lane.number;
        let (client, stop) = (self.dispatcher.client.clone(), Arc::clone(&self.stop_lanes));
        let task = self.lanes.spawn(lane.run(client, stop, self.result_sender.clone()));
        self.lane_numbers.insert(task.id(), number);
    }
}
