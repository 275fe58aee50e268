//! Starting attempts: records their start beside the session, and then runs their lanes.

use std::error::Error;
use std::sync::Arc;

use database::{Database, DatabaseError};
use primitives::EventId;
use tokio::task::JoinError;
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::attempt::{Delivery, Lane};
use crate::dispatcher::memory::{Chosen, LaneNumber};
use crate::dispatcher::ownership::{self, Deadline, Starts};
use crate::dispatcher::session::Session;
use crate::schedule::Jitter;
use crate::table::delivery::{DeliveryKey, EndpointKey, Startable, Started};

/// Transactions that record starts at the same time: while one ends, the next can begin.
pub(super) const TRANSACTIONS_MAX: usize = 2;

/// Lanes whose starts are recorded in one transaction.
struct Batch {
    lanes: Vec<Chosen>,
    /// The lease under which they were chosen.
    owner: Uuid,
    deadline: Deadline,
}

/// A part of a batch, after its transaction.
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

impl Batch {
    /// Records the starts: in parts if the database refuses one of them. A part that it refuses is one lane.
    async fn record(self, database: Database) -> Vec<BatchEnd> {
        let (mut ends, mut waiting) = (Vec::new(), vec![self]);
        while let Some(mut batch) = waiting.pop() {
            let startable: Vec<Startable> =
                batch.lanes.iter().flat_map(Chosen::startable).collect();
            let is_alone = batch.lanes.iter().any(|lane| lane.is_alone);
            let starts = ownership::start(&database, batch.owner, &startable, is_alone).await;
            if is_refused(&starts) && batch.lanes.len() > 1 {
                let lanes = batch.lanes.split_off(batch.lanes.len() / 2);
                let (owner, deadline) = (batch.owner, batch.deadline.clone());
                waiting.extend([Self { lanes, owner, deadline }, batch]);
            } else {
                ends.push(BatchEnd { batch, starts });
            }
        }
        ends
    }
}

/// Returns whether the database refuses starts because of a row, such as a damaged one, and not for a while.
const fn is_refused(starts: &Result<Starts, DatabaseError>) -> bool {
    matches!(starts, Err(DatabaseError::Internal(_)))
}

impl Session<'_> {
    /// Begins to start attempts in free slots.
    pub(super) fn start(&mut self) {
        while self.can_start() {
            let Some(lease) = &self.lease else { return };
            let (owner, deadline) = (lease.owner, lease.deadline.clone());
            let lanes = self.memory.choose(Instant::now());
            if lanes.is_empty() {
                return;
            }
            let batch = Batch { lanes, owner, deadline };
            self.starting.spawn(batch.record(self.dispatcher.database.clone()));
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

    /// Runs the lanes of a batch. If their starts could not be recorded, the next step fails.
    pub(super) fn batch_ended(&mut self, ends: Result<Vec<BatchEnd>, JoinError>) {
        match ends {
            Ok(ends) => ends.into_iter().for_each(|end| self.part_ended(end)),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // It was aborted with the lease, and its lanes are forgotten.
            Err(_) => {}
        }
    }

    fn part_ended(&mut self, BatchEnd { batch, starts }: BatchEnd) {
        let is_refused = is_refused(&starts);
        match starts {
            Ok(starts) => {
                self.backoff.succeed();
                self.memory.now = self.memory.now.max(starts.now);
                self.spawn_all(&batch, starts);
            }
            Err(error) if is_refused => {
                for lane in &batch.lanes {
                    let EndpointKey { merchant, endpoint } = lane.endpoint;
                    tracing::error!(
                        error = &error as &dyn Error, %merchant, %endpoint, events = ?lane.events(),
                        "the attempts of webhooks cannot be started; their endpoint is tried again in a minute"
                    );
                    self.memory.refuse(lane);
                }
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
            since: starts.since,
        }
    }

    fn spawn(&mut self, lane: Lane) {
        let number = lane.number;
        let (client, stop) = (self.dispatcher.client.clone(), Arc::clone(&self.stop_lanes));
        let task = self.lanes.spawn(lane.run(client, stop, self.result_sender.clone()));
        self.lane_numbers.insert(task.id(), number);
    }
}
