//! Job types.

use std::time::Duration;

use primitives::MerchantId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{JobContext, JobError};

/// A background job. Its fields are the payload, stored as JSON; they hold ids, never secrets and never large data.
pub trait Job: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The stored name of the kind. It must not change while jobs of the kind are queued.
    const NAME: &'static str;

    /// Number of failed attempts after which a job becomes a dead letter.
    const ATTEMPTS_MAX: u32 = 12;

    /// Whether the job may use the reserved slots of a runner: it is short, and orders, payments or held stock wait for
    /// it. Other jobs never fill all slots. Scheduled jobs need no slot.
    const IS_URGENT: bool = false;

    /// Dependencies passed at registration, such as clients and settings.
    type Dependencies: Clone + Send + Sync + 'static;

    /// Returns the merchant the job belongs to, or `None` for platform jobs.
    fn merchant(&self) -> Option<MerchantId> {
        None
    }

    /// Runs the job. A job can run again after a crash, so that its effect is either committed by `context.finish`
    /// (exactly once) or idempotent.
    fn run(
        self,
        context: JobContext,
        dependencies: Self::Dependencies,
    ) -> impl Future<Output = Result<Outcome, JobError>> + Send;
}

/// Which slots of a runner a job may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// All but the reserved slots, and of those as many as one merchant may use.
    Bulk,
    /// All slots.
    Urgent,
    /// A slot of its own: at most one job of each schedule exists.
    Scheduled,
}

impl Priority {
    pub(crate) fn of<J: Job>() -> Self {
        if J::IS_URGENT { Self::Urgent } else { Self::Bulk }
    }

    /// Returns the stored number.
    pub(crate) const fn number(self) -> i16 {
        match self {
            Self::Bulk => 0,
            Self::Urgent => 1,
            Self::Scheduled => 2,
        }
    }
}

impl From<i16> for Priority {
    fn from(number: i16) -> Self {
        match number {
            2 => Self::Scheduled,
            1 => Self::Urgent,
            _ => Self::Bulk,
        }
    }
}

/// The outcome of a successful run.
#[derive(Debug)]
pub struct Outcome(pub(crate) Removal);

/// The removal of a completed job from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The runner removes the job.
    Pending,
    /// `context.finish` removed the job together with its effect.
    Done,
}

impl Outcome {
    /// The job is done; the runner removes it afterwards. For idempotent jobs.
    pub const DONE: Self = Self(Removal::Pending);
}

/// Returns the delay before the next attempt: one second, doubling, at most an hour, with a jitter of ±20 %. `jitter` is
/// uniform in 0..1.
pub(crate) fn backoff(attempts: u32, jitter: f64) -> Duration {
    let seconds = 2_f64.powi(i32::try_from(attempts.min(12)).unwrap_or(12)).min(3_600.0);
    Duration::from_secs_f64(seconds * (0.8 + 0.4 * jitter.clamp(0.0, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_an_hour() {
        assert_eq!(backoff(0, 0.5), Duration::from_secs(1));
        assert_eq!(backoff(3, 0.5), Duration::from_secs(8));
        assert_eq!(backoff(40, 0.5), Duration::from_hours(1));
        assert!(backoff(3, 0.0) < backoff(3, 1.0));
    }
}
