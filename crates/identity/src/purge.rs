//! The job that purges expired data.

use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

/// Deletes old login attempts and expired sandbox keys. The audit log is kept.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeLoginAttempts {}

impl Job for PurgeLoginAttempts {
    const NAME: &'static str = "identity.sweep_attempts";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let mut work = context.work_for_platform().await?;
        crate::purge_login_attempts(&mut work).await?;
        crate::purge_sandbox_keys(&mut work).await?;
        work.commit().await?;
        Ok(Outcome::DONE)
    }
}

impl Scheduled for PurgeLoginAttempts {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}
