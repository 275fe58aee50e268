//! The scheduled job that deletes notices which are kept no longer (docs/retention.md).

use std::time::Duration;

use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

use crate::table;

/// How long notices are retained.
const RETENTION: Duration = Duration::from_hours(2 * 365 * 24);
/// Rows deleted per transaction.
const BATCH: i64 = 1_000;

/// Deletes old notices, in batches. Scheduled every day.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeNotices {}

impl Scheduled for PurgeNotices {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}

impl Job for PurgeNotices {
    const NAME: &'static str = "merchants.purge_notices";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        loop {
            let mut work = context.work_for_platform().await?;
            let before = work.now().minus(RETENTION);
            let deleted = table::delete_notices(&mut work, before, BATCH).await?;
            work.commit().await?;
            if deleted == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}
