//! Dispatchers in a simulated world: its clock, network and database follow from a seed, and days take milliseconds.
//!
//! What runs is the code of this crate that decides: `Stores`, `Slots` and `EndpointQueue` (what is in memory and whose turn it is),
//! `decide` and `settle` (what follows from a request, and what is recorded of it) and `schedule` (when to try again). What is
//! simulated is around it: the tables with the rules of `table/queue.rs` and `table/settlement.rs`, requests, and the loop of
//! `session.rs` and `start.rs`, which awaits real ones. So this does not find mistakes in SQL, in that loop or in HTTP; the proofs with
//! real processes do.
//!
//! Two processes deliver the events of a few stores. They are killed and paused at random, the receivers answer, fail, hang, are
//! gone and recover, and some events end the process that attempts them. At every step the limits must hold; in the end every
//! delivery must have ended as it should.
//!
//! Iteration of hash maps is not part of the seed, so that a run with the same seed can differ in the order within a store.

mod checks;
mod process;
mod receiver;
mod tables;
mod world;

use std::time::Duration;

use self::world::World;

/// What happened in a simulation.
#[derive(Debug, Clone, Copy, Default)]
pub struct SimulationSummary {
    pub deliveries: u32,
    /// Removed after a response 2xx.
    pub delivered: u32,
    /// Given up: after ten attempts, or because the endpoint was disabled.
    pub dead: u32,
    pub quarantined: u32,
    pub attempts: u32,
    /// Processes that were killed, or ended by an event.
    pub ends: u32,
    pub pauses: u32,
    /// Results that were refused, because another process had taken over.
    pub fenced: u32,
    /// The longest time from an event to its first attempt at an endpoint that works, in a simulation without kills and pauses.
    pub longest_wait: Duration,
}

/// Runs the simulation that follows from a seed. Returns what was violated if something was.
pub fn simulate(seed: u64) -> Result<SimulationSummary, String> {
    World::new(seed).run()
}
