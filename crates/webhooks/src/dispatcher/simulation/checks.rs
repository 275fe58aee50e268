//! What must hold in a simulation.

use std::collections::HashMap;

use super::SimulationSummary;
use super::receiver::Receiver;
use super::world::World;
use crate::dispatcher::slots::Class;
use crate::table::delivery::EndpointKey;

/// Attempts of a delivery.
pub(super) const ATTEMPTS_MAX: i16 = 10;
/// Starts without a result before a delivery is quarantined.
const QUARANTINE_LOST: u32 = 3;
/// Requests at an endpoint, and at the endpoints of a store, at the same time.
const ENDPOINT_LANES_MAX: usize = 2;
const STORE_LANES_MAX: usize = 20;

impl World {
    /// What must hold at any time.
    pub(super) fn check_limits(&self) -> Result<(), String> {
        let mut open: HashMap<EndpointKey, usize> = HashMap::new();
        for process in &self.processes {
            let Some(memory) = &process.memory else { continue };
            let [healthy, untried, failing] = Class::ALL.map(|class| memory.slots.used_by(class));
            let total = memory.slots.total();
            let holds = healthy + untried + failing <= total
                && untried + failing <= total / 2
                && untried <= total / 4;
            if !holds {
                return Err(format!("slots: {healthy}, {untried}, {failing} of {total}"));
            }
            if healthy + untried + failing != memory.lanes.len() {
                return Err(format!("{} lanes in other slots", memory.lanes.len()));
            }
            if memory.is_suspect_disturbed() {
                return Err(String::from("something is attempted beside a suspect"));
            }
            if self.merchants.iter().any(|it| memory.lanes_of(*it) > STORE_LANES_MAX) {
                return Err(String::from("too many requests at the endpoints of a store"));
            }
            // The requests of a paused process are given up when its lease ends.
            if !self.tables.has_lost_lease(memory.owner, self.now) {
                for lane in memory.lanes.values() {
                    *open.entry(lane.endpoint).or_default() += 1;
                }
            }
        }
        match open.iter().find(|(_, count)| **count > ENDPOINT_LANES_MAX) {
            Some((key, count)) => Err(format!("{count} requests at {key:?}")),
            None => Ok(()),
        }
    }

    /// What must hold in the end: every delivery has ended, for a reason.
    pub(super) fn finish(mut self) -> Result<SimulationSummary, String> {
        for (key, row) in &self.tables.deliveries {
            let endpoint = self.tables.endpoints.get(&key.endpoint);
            let is_enabled = endpoint.is_some_and(|endpoint| endpoint.is_enabled);
            if !row.is_dead {
                return Err(format!("{key:?} is never delivered: {row:?}"));
            }
            let is_quarantined = self.quarantined.contains(key);
            let has_reason = row.attempts >= ATTEMPTS_MAX || !is_enabled || is_quarantined;
            if !has_reason {
                return Err(format!("{key:?} is a dead letter without a reason: {row:?}"));
            }
            let lost = self.lost.get(key).copied().unwrap_or(0);
            let is_poison = self.poison.contains(&key.event);
            // Of others, also those before an attempt that had a result are counted here.
            let is_enough = lost == QUARANTINE_LOST || (lost > QUARANTINE_LOST && !is_poison);
            if is_quarantined && !is_enough {
                return Err(format!("{key:?} is quarantined after {lost} lost starts"));
            }
            if is_quarantined && !is_poison && !self.disturbed_alone.contains(key) {
                return Err(format!("{key:?} is quarantined for what another event did"));
            }
        }
        if let Some(key) = self.tables.delivered.iter().find(|key| !self.received.contains(key)) {
            return Err(format!("{key:?} is recorded as delivered and was not received"));
        }
        let delivered = &self.tables.delivered;
        if let Some(key) = delivered.iter().find(|key| self.poison.contains(&key.event)) {
            return Err(format!("{key:?} ends its process and was delivered"));
        }
        for (key, endpoint) in &self.tables.endpoints {
            let is_gone = self.receivers.get(key).is_some_and(Receiver::is_gone);
            if is_gone && endpoint.health.is_some() && endpoint.is_enabled {
                return Err(format!("{key:?} is gone and enabled"));
            }
        }
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        self.summary.delivered = count(self.tables.delivered.len());
        self.summary.quarantined = count(self.quarantined.len());
        self.summary.dead = count(self.tables.deliveries.len()) - self.summary.quarantined;
        Ok(self.summary)
    }
}
