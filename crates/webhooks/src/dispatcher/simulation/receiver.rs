//! Simulated receivers.

use std::time::Duration;

use outbound::RequestError;
use primitives::Timestamp;
use rand::rngs::StdRng;
use rand::{Rng, RngExt};

use crate::dispatcher::attempt::Outcome;

/// Longer than any simulation.
const NEVER: Duration = Duration::from_hours(24 * 365);
/// The limit of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a slow receiver takes.
const SLOW: Duration = Duration::from_secs(9);

/// What a receiver does until it works, and when that is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receiver {
    fault: Fault,
    works_from: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Hangs,
    Fails,
    Resets,
    AsksToWait,
    Gone,
    /// Half of the requests fail.
    Flaky,
    /// It always answers 2xx, after a long time.
    Slow,
    /// Every other request is answered with 2xx at once; the others, from the first one on, never.
    HangsInTurn,
}

impl Receiver {
    /// Draws a receiver: four in ten work, one in ten is slow, the others begin to work later, a few of them never.
    pub(super) fn random(rng: &mut StdRng, now: Timestamp) -> Self {
        let fault = match rng.random_range(0..20_u32) {
            0..8 => Fault::None,
            8..11 => Fault::Hangs,
            11..13 => Fault::Fails,
            13..15 => Fault::Slow,
            15 => Fault::Resets,
            16 => Fault::AsksToWait,
            17 => Fault::Gone,
            _ => Fault::Flaky,
        };
        let later = match rng.random_range(0..60_u32) {
            0 => NEVER,
            1..16 => Duration::from_mins(rng.random_range(10..300)),
            _ => Duration::from_secs(rng.random_range(10..600)),
        };
        let later =
            if matches!(fault, Fault::Gone | Fault::Flaky | Fault::Slow) { NEVER } else { later };
        let works_from = if fault == Fault::None { now } else { now.plus(later) };
        Self { fault, works_from }
    }

    /// A receiver that works, or a slow one.
    pub(super) fn that_succeeds(is_slow: bool, now: Timestamp) -> Self {
        let fault = if is_slow { Fault::Slow } else { Fault::None };
        Self { fault, works_from: now.plus(NEVER) }
    }

    /// A receiver that answers every other request.
    pub(super) fn that_hangs_in_turn(now: Timestamp) -> Self {
        Self { fault: Fault::HangsInTurn, works_from: now.plus(NEVER) }
    }

    /// Whether it always answers 2xx, and at once.
    pub(super) fn works(&self) -> bool {
        self.fault == Fault::None
    }

    /// Whether it always answers 2xx, after a long time.
    pub(super) fn is_slow(&self) -> bool {
        self.fault == Fault::Slow
    }

    /// Returns the end of a request that is sent now, after so many others, and how long it takes.
    pub(super) fn answer(
        &self,
        rng: &mut StdRng,
        now: Timestamp,
        others: u32,
    ) -> (Outcome, Duration) {
        let quick = Duration::from_millis(rng.random_range(1..80));
        let fault = if now >= self.works_from { Fault::None } else { self.fault };
        match fault {
            Fault::None => (response(200, None), quick),
            Fault::Flaky if rng.next_u32().is_multiple_of(2) => (response(200, None), quick),
            Fault::Flaky | Fault::Fails => (response(500, None), quick),
            Fault::HangsInTurn if others % 2 == 1 => (response(200, None), quick),
            Fault::Hangs | Fault::HangsInTurn => {
                (Outcome::NoResponse(RequestError::Timeout), TIMEOUT)
            }
            Fault::Resets => (Outcome::NoResponse(RequestError::ConnectionClosed), quick),
            Fault::AsksToWait => (response(429, Some(Duration::from_secs(40))), quick),
            Fault::Gone => (response(410, None), quick),
            Fault::Slow => (response(200, None), SLOW),
        }
    }
}

fn response(status: u16, retry_after: Option<Duration>) -> Outcome {
    Outcome::Response { status, retry_after, start: Vec::new() }
}
