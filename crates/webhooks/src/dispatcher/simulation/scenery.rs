//! What a simulation begins with, and what is to happen: drawn from its seed.

use std::time::Duration;

use primitives::{EndpointId, Id, MerchantId, Timestamp};
use rand::RngExt;

use super::receiver::Receiver;
use super::tables::Change;
use super::world::{Happening, PROCESSES, World};
use crate::table::delivery::EndpointKey;

/// Time in which events are published, endpoints changed, and processes killed and paused.
const ACTIVE: Duration = Duration::from_mins(1);
/// Every so many seeds there is a simulation that has more to send than fits into memory or slots.
pub(super) const CROWDED_EVERY: u64 = 80;
/// Events of such a simulation, and how many of them are published at once.
const CROWD: u32 = 300;
const BURST: u32 = 250;
/// The place after such a seed of one with many receivers that succeed slowly.
pub(super) const SLOW_AFTER: u64 = CROWDED_EVERY / 2;
/// The same for receivers that answer every other request.
pub(super) const HANGING_AFTER: u64 = CROWDED_EVERY / 4;
/// Stores of such a simulation, and its events.
const SLOW_STORES: u32 = 10;
const SLOW_EVENTS: u32 = 150;
/// Events that crash their process.
const POISON_MAX: usize = 3;

impl World {
    /// Draws stores, endpoints, events, changes and faults.
    pub(super) fn furnish(&mut self, seed: u64) {
        if seed.is_multiple_of(CROWDED_EVERY) {
            self.furnish_crowded(seed / CROWDED_EVERY);
        } else if seed % CROWDED_EVERY == SLOW_AFTER {
            let receivers = [false, true].map(|slow| Receiver::that_succeeds(slow, self.now));
            self.furnish_slow(receivers);
        } else if seed % CROWDED_EVERY == HANGING_AFTER {
            let works = Receiver::that_succeeds(false, self.now);
            self.furnish_slow([works, Receiver::that_hangs_in_turn(self.now)]);
        } else {
            self.furnish_small();
        }
        for process in 0..PROCESSES {
            self.plan(self.now, Happening::Start(process));
        }
        for _ in 0..self.rng.random_range(0..=3_u32) {
            self.plan_change();
        }
    }

    /// A few stores with a few endpoints and events.
    fn furnish_small(&mut self) {
        self.slots = self.rng.random_range(4..=16);
        for _ in 0..self.rng.random_range(1..=3_u32) {
            let endpoints = self.rng.random_range(1..=3);
            self.add_store(endpoints);
        }
        for _ in 0..self.rng.random_range(5..=30_u32) {
            let at = self.moment();
            self.plan(at, Happening::Publish);
        }
        self.is_calm = self.rng.random_bool(0.3);
        if !self.is_calm {
            self.poison_max = POISON_MAX;
            self.plan_faults();
        }
    }

    /// Many events, most of them at once. In turn: more slots than a store may use; few slots, and more endpoints than may wait
    /// for one, of one store or of several, so that some are left out. None was attempted before: they are of one class.
    fn furnish_crowded(&mut self, number: u64) {
        let burst_at = if number.is_multiple_of(2) {
            self.slots = self.rng.random_range(32..=48);
            self.add_store(20);
            self.moment()
        } else {
            self.slots = self.rng.random_range(4..=5);
            let (stores, endpoints) = if number % 4 == 1 { (1, 20) } else { (15, 2) };
            (0..stores).for_each(|_| self.add_store(endpoints));
            self.now
        };
        for number in 0..CROWD {
            let at = if number < BURST { burst_at } else { self.moment() };
            self.plan(at, Happening::Publish);
        }
        if self.rng.random_bool(0.5) {
            self.plan_faults();
        }
    }

    /// Stores with a receiver that works and one that takes long, always or in turn: these could use all slots. None that works has
    /// to wait.
    fn furnish_slow(&mut self, receivers: [Receiver; 2]) {
        (self.slots, self.is_calm) = (8, true);
        for _ in 0..SLOW_STORES {
            self.add_store_of(receivers);
        }
        for _ in 0..SLOW_EVENTS {
            let at = self.moment();
            self.plan(at, Happening::Publish);
        }
    }

    fn add_store(&mut self, endpoints: u32) {
        let receivers: Vec<Receiver> =
            (0..endpoints).map(|_| Receiver::random(&mut self.rng, self.now)).collect();
        self.add_store_of(receivers);
    }

    fn add_store_of(&mut self, receivers: impl IntoIterator<Item = Receiver>) {
        let merchant = MerchantId::from_random(self.rng.random());
        self.merchants.push(merchant);
        for receiver in receivers {
            let endpoint = EndpointId::from_random(self.rng.random());
            self.tables.add_endpoint(EndpointKey { merchant, endpoint }, receiver);
        }
    }

    /// Plans that a merchant disables an endpoint, nearly always to enable it later, enables one that is disabled then, or moves
    /// one.
    fn plan_change(&mut self) {
        let index = self.rng.random_range(0..self.tables.endpoints.len());
        let Some(key) = self.tables.endpoints.keys().nth(index).copied() else { return };
        let at = self.moment();
        match self.rng.random_range(0..3_u32) {
            0 => {
                self.plan(at, Happening::Change(key, Change::Disable));
                if self.rng.random_bool(0.9) {
                    let pause = Duration::from_millis(self.rng.random_range(1..60_000));
                    self.plan(at.plus(pause), Happening::Change(key, Change::Enable));
                }
            }
            1 => self.plan(at, Happening::Change(key, Change::Enable)),
            _ => {
                let receiver = Receiver::random(&mut self.rng, at);
                self.plan(at, Happening::Change(key, Change::Move(receiver)));
            }
        }
    }

    /// Plans that processes are killed and paused.
    fn plan_faults(&mut self) {
        for _ in 0..self.rng.random_range(0..=2_u32) {
            let (at, process) = (self.moment(), self.rng.random_range(0..PROCESSES));
            self.plan(at, Happening::Kill(process));
        }
        for _ in 0..self.rng.random_range(0..=2_u32) {
            let (at, process) = (self.moment(), self.rng.random_range(0..PROCESSES));
            self.plan(at, Happening::Pause(process));
        }
    }

    /// A time at which something happens.
    fn moment(&mut self) -> Timestamp {
        let micros = u64::try_from(ACTIVE.as_micros()).unwrap_or(u64::MAX);
        self.now.plus(Duration::from_micros(self.rng.random_range(0..micros)))
    }
}
