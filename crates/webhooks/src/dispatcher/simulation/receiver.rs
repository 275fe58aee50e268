//! Simulated receivers.

use std::time::Duration;

use outbound::RequestError;
use primitives::Timestamp;
use rand::rngs::StdRng;
use rand::{Rng, RngExt};

use crate::dispatcher::attempt::Outcome;

/// The limit of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

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
}

impl Receiver {
    /// Draws a receiver: four in ten work, the others begin to work later, a few of them never.
    pub(super) fn random(rng: &mut StdRng, now: Timestamp) -> Self {
        let fault = match rng.random_range(0..20_u32) {
            0..8 => Fault::None,
            8..12 => Fault::Hangs,
            12..15 => Fault::Fails,
            15 => Fault::Resets,
            16 => Fault::AsksToWait,
            17 => Fault::Gone,
            _ => Fault::Flaky,
        };
        let never = Duration::from_hours(24 * 365);
        let later = match rng.random_range(0..60_u32) {
            0 => never,
            1..16 => Duration::from_mins(rng.random_range(10..300)),
            _ => Duration::from_secs(rng.random_range(10..600)),
        };
        let later = if matches!(fault, Fault::Gone | Fault::Flaky) { never } else { later };
        let works_from = if fault == Fault::None { now } else { now.plus(later) };
        Self { fault, works_from }
    }

    /// Whether it always answers 2xx.
    pub(super) fn works(&self) -> bool {
        self.fault == Fault::None
    }

    /// Returns the end of a request that is sent now, and how long it takes.
    pub(super) fn answer(&self, rng: &mut StdRng, now: Timestamp) -> (Outcome, Duration) {
        let quick = Duration::from_millis(rng.random_range(1..80));
        let fault = if now >= self.works_from { Fault::None } else { self.fault };
        match fault {
            Fault::None => (response(200, None), quick),
            Fault::Flaky if rng.next_u32().is_multiple_of(2) => (response(200, None), quick),
            Fault::Flaky | Fault::Fails => (response(500, None), quick),
            Fault::Hangs => (Outcome::NoResponse(RequestError::Timeout), TIMEOUT),
            Fault::Resets => (Outcome::NoResponse(RequestError::ConnectionClosed), quick),
            Fault::AsksToWait => (response(429, Some(Duration::from_secs(40))), quick),
            Fault::Gone => (response(410, None), quick),
        }
    }
}

fn response(status: u16, retry_after: Option<Duration>) -> Outcome {
    Outcome::Response { status, retry_after, start: Vec::new() }
}
