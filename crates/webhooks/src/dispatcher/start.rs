//! Starting attempts: records their start beside the session, and then runs their lanes.

use std::sync::Arc;

use database::DatabaseError;
use primitives::EventId;
use tokio::task::JoinError;
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::attempt::{Delivery, Lane};
use crate::dispatcher::memory::{Chosen, LaneNumber};
use crate::dispatcher::ownership::{self, Deadline, Starts};
use crate::dispatcher::session::Session;
use crate::schedule::Jitter;
use crate::table::delivery::{DeliveryKey, Startable, Started};

/// Transactions that record starts at the same time: while one ends, the next can begin.
pub(super) const TRANSACTIONS_MAX: usize = 2;

/// Lanes whose starts are recorded in one transaction.
struct Batch {
    lanes: Vec<Chosen>,
    /// The lease under which they were chosen.
    owner: Uuid,
    deadline: Deadline,
    /// When they were chosen, by the clock of this process.
    chosen_at: Instant,
}

/// The end of the transaction of a batch.
pub(super) struct BatchEnd {
    batch: Batch,
    starts: Result<Starts, DatabaseError>,
}

/// A delivery whose start is recorded.
struct StartedDelivery {
    started: Started,
    jitter: Jitter,
    is_first: bool,
}

impl Session<'_> {
    /// Begins to start attempts in free slots.
    pub(super) fn start(&mut self) {
        while self.can_start() {
            let Some(lease) = &self.lease else { return };
            let (owner, deadline, chosen_at) =
                (lease.owner, lease.deadline.clone(), Instant::now());
            let lanes = self.memory.choose(chosen_at);
            if lanes.is_empty() {
                return;
            }
            let startable: Vec<Startable> = lanes.iter().flat_map(Chosen::startable).collect();
            let is_alone = lanes.iter().any(|lane| lane.is_alone);
            let batch = Batch { lanes, owner, deadline, chosen_at };
            let database = self.dispatcher.database.clone();
            self.starting.spawn(async move {
                let starts = ownership::start(&database, owner, &startable, is_alone).await;
                BatchEnd { batch, starts }
            });
        }
    }

    /// Returns whether an attempt can start.
    pub(super) fn can_start(&mut self) -> bool {
        let now = Instant::now();
        self.starting.len() < TRANSACTIONS_MAX
            && self.backoff.wait_until(now).is_none()
            && self.may_send()
            && self.memory.can_start(now)
    }

    /// Runs the lanes of a batch. If their starts were not recorded, the next step fails.
    pub(super) fn batch_ended(&mut self, end: Result<BatchEnd, JoinError>) {
        let BatchEnd { batch, starts } = match end {
            Ok(end) => end,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // It was aborted with the lease, and its lanes are forgotten.
            Err(_) => return,
        };
        match starts {
            Ok(starts) => {
                self.backoff.succeed();
                self.memory.now = self.memory.now.max(starts.now);
                self.spawn_all(&batch, starts);
            }
            Err(error) => {
                for lane in &batch.lanes {
                    self.memory.undo(lane);
                }
                self.failed_start = Some(error);
            }
        }
    }

    /// Runs lanes with the deliveries whose start is recorded.
    fn spawn_all(&mut self, batch: &Batch, mut starts: Starts) {
        for lane in &batch.lanes {
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
            if let Some(number) = self.memory.begin(lane, &missing, is_owned) {
                let lane = self.prepare(batch, number, lane.is_alone, found, &starts);
                self.spawn(lane);
            }
        }
    }

    fn prepare(
        &self,
        batch: &Batch,
        number: LaneNumber,
        is_alone: bool,
        found: Vec<StartedDelivery>,
        starts: &Starts,
    ) -> Lane {
        let first = found.first().map(|delivery| &delivery.started);
        let secrets = first.and_then(|started| self.dispatcher.secrets(started, starts.now));
        let url = first.map(|started| started.url.clone()).unwrap_or_default();
        let health_version = first.map_or(0, |started| started.health_version);
        let delivery = |StartedDelivery { started, jitter, is_first }| Delivery {
            key: started.key,
            counts: started.counts,
            is_first,
            jitter,
            body: starts.bodies.get(&(started.key.endpoint.merchant, started.key.event)).cloned(),
        };
        Lane {
            owner: batch.owner,
            deadline: batch.deadline.clone(),
            number,
            is_alone,
            url,
            health_version,
            secrets,
            deliveries: found.into_iter().map(delivery).collect(),
            started_at: starts.now,
            since: batch.chosen_at,
        }
    }

    fn spawn(&mut self, lane: Lane) {
        let number = lane.number;
        let (client, stop) = (self.dispatcher.client.clone(), Arc::clone(&self.stop_lanes));
        let task = self.lanes.spawn(lane.run(client, stop, self.result_sender.clone()));
        self.lane_numbers.insert(task.id(), number);
    }
}
