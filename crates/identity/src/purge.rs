//! The job that purges expired data.

use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

/// Rows of a table deleted at a time.
const BATCH_SIZE: i64 = 1_000;

/// Deletes old login attempts and expired sandbox keys, in batches. The audit log is kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeLoginAttempts {}

impl Job for PurgeLoginAttempts {
    const NAME: &'static str = "identity.sweep_attempts";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        loop {
            let mut work = context.work_for_platform().await?;
            let attempts = crate::purge_login_attempts(&mut work, BATCH_SIZE).await?;
            let keys = crate::purge_sandbox_keys(&mut work, BATCH_SIZE).await?;
            work.commit().await?;
            if attempts + keys == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}

impl Scheduled for PurgeLoginAttempts {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}
