//! Dispatchers in a simulated world: its clock, network and database follow from a seed, and days take milliseconds. A seed
//! replays exactly.
//!
//! What runs is the code of this crate that decides: `Memory` (what is in memory, whose turn it is, what follows from a
//! request), `Recording` (what is recorded of it) and `schedule` (when to try again). What is simulated is around it: the tables
//! with the rules of `table/`, requests, and the loop of `session.rs` and `start.rs`, which awaits real ones. So this does not
//! find mistakes in SQL, in that loop or in HTTP; the proofs with real processes do.
//!
//! Two processes deliver the events of a few stores. They are killed and paused at random, the receivers answer, at once or after
//! a long time, fail, hang, are gone and recover, merchants disable, enable and move endpoints, and some events crash the process
//! that attempts them. Some simulations have more to send than fits into memory and slots. At every step the limits must hold;
//! in the end every delivery must have ended as it should.

mod checks;
mod process;
mod receiver;
mod scenery;
mod tables;
mod world;

use std::time::Duration;

use self::world::World;

/// What happened in a simulation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimulationSummary {
    pub deliveries: u32,
    /// Removed after a response 2xx.
    pub delivered: u32,
    /// Given up: after ten attempts, or because the endpoint was disabled.
    pub dead: u32,
    pub quarantined: u32,
    pub attempts: u32,
    /// Processes that were killed, or crashed by an event.
    pub crashes: u32,
    pub pauses: u32,
    /// Results that were refused, because another process had taken over.
    pub fenced: u32,
    /// Changes of endpoints by their merchants.
    pub changes: u32,
    /// Steps at which a store had as many lanes as it may have.
    pub full_stores: u32,
    /// Reads of a store of which endpoints were left out, because too many waited.
    pub deferred: u32,
    /// Releases of such a store.
    pub released_later: u32,
    /// Reads that left out endpoints with enough in memory.
    pub partial_reads: u32,
    /// Reads of an endpoint with more deliveries than are read at a time.
    pub long_queues: u32,
    /// Attempts at receivers that succeed after a long time.
    pub slow: u32,
    /// The longest time from an event to its first attempt at an endpoint that works, in a simulation without kills and pauses.
    pub longest_wait: Duration,
}

/// Runs the simulation that follows from a seed. Returns what was violated if something was.
pub fn simulate(seed: u64) -> Result<SimulationSummary, String> {
    World::new(seed).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_replays_exactly() {
        for seed in 0..60 {
            let (first, second) = (simulate(seed), simulate(seed));
            assert!(first.is_ok(), "{seed}: {first:?}");
            assert_eq!(first, second, "{seed}");
        }
    }

    #[test]
    fn receivers_that_succeed_slowly_keep_no_other_waiting() {
        for number in 0..4 {
            let done = simulate(number * scenery::CROWDED_EVERY + scenery::SLOW_AFTER);
            assert!(done.as_ref().is_ok_and(|it| it.slow > 0), "{done:?}");
        }
    }

    #[test]
    fn receivers_that_answer_every_other_request_keep_no_other_waiting() {
        for number in 0..4 {
            let done = simulate(number * scenery::CROWDED_EVERY + scenery::HANGING_AFTER);
            assert!(done.as_ref().is_ok_and(|it| it.attempts > it.delivered), "{done:?}");
        }
    }

    /// An endpoint moves from a slow receiver to one that works while requests to the former are in flight.
    #[test]
    fn an_endpoint_that_moved_is_not_slow_because_of_its_former_receiver() {
        const SEED: u64 = 2_276_015_240;
        assert_eq!(SEED % scenery::CROWDED_EVERY, scenery::SLOW_AFTER);
        let done = simulate(SEED);
        assert!(done.as_ref().is_ok_and(|it| it.slow > 0 && it.changes > 0), "{done:?}");
    }

    #[test]
    fn crowded_simulations_reach_the_limits() {
        let simulations = (0..4).map(|number| simulate(number * scenery::CROWDED_EVERY));
        let done: Vec<SimulationSummary> = simulations.collect::<Result<_, _>>().unwrap();
        assert!(done.iter().any(|it| it.full_stores > 0), "{done:?}");
        assert!(done.iter().any(|it| it.deferred > 0), "{done:?}");
        assert!(done.iter().any(|it| it.released_later > 0), "{done:?}");
        assert!(done.iter().any(|it| it.long_queues > 0), "{done:?}");
        assert!(done.iter().any(|it| it.partial_reads > 0), "{done:?}");
    }
}
