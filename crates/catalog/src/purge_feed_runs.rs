//! The scheduled job that fails orphaned feed runs and deletes the bytes of ended ones.

use std::time::Duration;

use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

use crate::{ApplyFeedRun, table};

/// An upload without progress for this long counts as aborted.
const UPLOAD_TIMEOUT: Duration = Duration::from_hours(6);
/// Chunks deleted per transaction.
const CHUNK_BATCH: i64 = 100;

/// Fails feed runs whose upload or job was lost, and deletes the chunks of ended runs.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeFeedRuns {}

impl Job for PurgeFeedRuns {
    const NAME: &'static str = "catalog.sweep_runs";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let mut work = context.work_for_platform().await?;
        let before = work.now().minus(UPLOAD_TIMEOUT);
        table::fail_orphaned_runs(&mut work, before, ApplyFeedRun::NAME).await?;
        work.commit().await?;
        loop {
            let mut work = context.work_for_platform().await?;
            let deleted = table::delete_chunks(&mut work, CHUNK_BATCH).await?;
            work.commit().await?;
            if deleted == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}

impl Scheduled for PurgeFeedRuns {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}
