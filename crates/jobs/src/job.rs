//! A job is a struct with a name.

use std::time::Duration;

use primitives::MerchantId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{JobContext, JobError};

/// Work to be done later, once. The fields are what it needs to know; they are kept as JSON, so
/// they hold ids, never secrets and never large data.
pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name it is kept under. It never changes while jobs of the kind are queued.
    const NAME: &'static str;

    /// After so many failed attempts it becomes a dead letter.
    const ATTEMPTS_MAX: u32 = 12;

    /// What it is given at registration: senders, settings.
    type Needs: Clone + Send + Sync + 'static;

    /// The merchant it is about, if it is about one.
    fn merchant(&self) -> Option<MerchantId> {
        None
    }

    /// Does it. A job can be run again after a crash, so either its effect is committed by
    /// `context.finish` (exactly once) or doing it twice is harmless.
    fn run(
        self,
        context: JobContext,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Outcome, JobError>> + Send;
}

/// How a run ended.
#[derive(Debug)]
pub struct Outcome(pub(crate) Ended);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The runner takes it off the queue.
    Done,
    /// `context.finish` took it off, together with its effect.
    Finished,
}

impl Outcome {
    /// Done; the runner may take it off the queue in its own time. For jobs that may run twice.
    pub const DONE: Self = Self(Ended::Done);
}

/// The wait before the next attempt: one second, doubling, at most an hour. Spread by ±20 % so
/// that jobs that failed together do not come back together.
pub(crate) fn backoff(attempts: u32, spread: f64) -> Duration {
    let seconds = 2_f64.powi(i32::try_from(attempts.min(12)).unwrap_or(12)).min(3_600.0);
    Duration::from_secs_f64(seconds * (0.8 + 0.4 * spread.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_an_hour() {
        assert_eq!(backoff(0, 0.5), Duration::from_secs(1));
        assert_eq!(backoff(3, 0.5), Duration::from_secs(8));
        assert_eq!(backoff(40, 0.5), Duration::from_hours(1));
        assert!(backoff(3, 0.0) < backoff(3, 1.0));
    }
}
