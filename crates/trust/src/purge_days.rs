//! A job: deletes rows of days that no score counts any more (docs/retention.md).

use jobs::{Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

use crate::follow::COMPLETE_DAYS;
use crate::{Day, table};

/// Days for which rows are kept.
const KEPT_DAYS: i32 = 120;
/// Rows deleted per transaction.
const BATCH: i64 = 1_000;

// What is counted again is compared with rows.
const _: () = assert!(COMPLETE_DAYS < KEPT_DAYS);

/// Deletes old rows of days, in batches. Scheduled every hour.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeDays {}

impl Scheduled for PurgeDays {
    fn for_epoch(_: jobs::Epoch) -> Self {
        Self {}
    }
}

impl Job for PurgeDays {
    const NAME: &'static str = "trust.purge_days";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        loop {
            let mut work = context.work_for_platform().await?;
            let before = Day(Day::of(work.now()).0.saturating_sub(KEPT_DAYS));
            let deleted = table::rollup::purge_days(&mut work, before, BATCH).await?;
            work.commit().await?;
            if deleted == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}
