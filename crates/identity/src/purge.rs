//! Throwing away what has ended.

use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

/// Removes attempts to log in that no rule looks at any more, and sandbox keys that have ended. What was done with
/// them stays on record.
#[derive(Debug, Serialize, Deserialize)]
pub struct SweepAttempts {}

impl Job for SweepAttempts {
    const NAME: &'static str = "identity.sweep_attempts";
    type Needs = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let mut work = context.work_for_platform().await?;
        crate::forget_attempts(&mut work).await?;
        crate::forget_sandbox_keys(&mut work).await?;
        work.commit().await?;
        Ok(Outcome::DONE)
    }
}

impl Scheduled for SweepAttempts {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}
