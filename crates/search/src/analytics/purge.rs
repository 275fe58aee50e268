//! Purges old tallies.

use std::time::Duration;

use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

use crate::table;

/// How long tallies are retained.
const RETENTION: Duration = Duration::from_hours(90 * 24);
/// Rows deleted per transaction.
const BATCH: i64 = 1_000;

/// Deletes tallies after their retention.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeTallies {}

impl Job for PurgeTallies {
    const NAME: &'static str = "search.sweep_tallies";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        loop {
            let mut work = context.work_for_platform().await?;
            let before = work.now().minus(RETENTION);
            let removed = table::remove_tallies(&mut work, before, BATCH).await?;
            work.commit().await?;
            if removed == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}

impl Scheduled for PurgeTallies {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}
