//! What must hold in a simulation.

use std::collections::BTreeMap;

use super::SimulationSummary;
use super::world::World;
use crate::dispatcher::slots::Class;
use crate::table::delivery::{DeliveryKey, EndpointKey};

/// Attempts of a delivery.
pub(super) const ATTEMPTS_MAX: i16 = 10;
/// Starts without a result before a delivery is quarantined.
const QUARANTINE_LOST: u32 = 3;
/// Requests at an endpoint, and at the endpoints of a store, at the same time.
const ENDPOINT_LANES_MAX: usize = 2;
pub(super) const STORE_LANES_MAX: usize = 20;

impl World {
    /// What must hold at any time.
    pub(super) fn check_limits(&self) -> Result<(), String> {
        let mut open: BTreeMap<EndpointKey, usize> = BTreeMap::new();
        for process in &self.processes {
            let Some(session) = &process.session else { continue };
            let memory = &session.memory;
            let [healthy, untried, failing, slow] =
                Class::ALL.map(|class| memory.slots.used_by(class));
            let unreserved = untried + failing + slow;
            let total = memory.slots.total();
            let holds =
                healthy + unreserved <= total && unreserved <= total / 2 && untried <= total / 4;
            if !holds {
                return Err(format!("slots: {healthy}, {untried}, {failing}, {slow} of {total}"));
            }
            let starting: usize = session.starting.iter().map(Vec::len).sum();
            if healthy + unreserved != starting + session.lanes.len() {
                let lanes = session.lanes.len();
                return Err(format!("{lanes} lanes and {starting} starts in other slots"));
            }
            if memory.is_settled() != session.reports.is_empty() {
                return Err(format!("{} reports are counted wrongly", session.reports.len()));
            }
            if session.is_suspect_disturbed() {
                return Err(String::from("something is attempted beside a suspect"));
            }
            if self.merchants.iter().any(|it| session.lanes_of(*it) > STORE_LANES_MAX) {
                return Err(String::from("too many requests at the endpoints of a store"));
            }
            // The requests of a paused process are given up when its lease ends.
            if !self.tables.has_lost_lease(session.owner, self.now) {
                for lane in session.lanes.values() {
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
            if !endpoint.is_some_and(|endpoint| endpoint.is_disabled_by_merchant) {
                return Err(format!("{key:?} is never delivered: {row:?}"));
            }
        }
        for (key, row) in &self.tables.dead {
            let is_quarantined = self.quarantined.contains(key);
            let is_exhausted = row.counts.attempts >= ATTEMPTS_MAX;
            if !(is_exhausted || row.is_disabled || is_quarantined) {
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
            return Err(format!("{key:?} crashes its process and was delivered"));
        }
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        self.summary.delivered = count(self.tables.delivered.len());
        self.summary.quarantined = count(self.quarantined.len());
        let is_quarantined = |key: &&DeliveryKey| self.quarantined.contains(key);
        let dead = self.tables.dead.keys().filter(|key| !is_quarantined(key)).count();
        self.summary.dead = count(dead);
        Ok(self.summary)
    }
}
