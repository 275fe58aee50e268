//! Throwing old tallies away.

use std::time::Duration;

use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

use crate::table;

/// Tallies are kept this long.
const KEPT: Duration = Duration::from_hours(90 * 24);
/// Rows removed in one work.
const ROWS_AT_ONCE: i64 = 1_000;

/// Removes tallies that are older than anybody asks for.
#[derive(Debug, Serialize, Deserialize)]
pub struct SweepTallies {}

impl Job for SweepTallies {
    const NAME: &'static str = "search.sweep_tallies";
    type Needs = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        loop {
            let mut work = context.work_for_platform().await?;
            let before = work.now().minus(KEPT);
            let removed = table::remove_tallies(&mut work, before, ROWS_AT_ONCE).await?;
            work.commit().await?;
            if removed == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}

impl Scheduled for SweepTallies {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}
