//! The scheduled job that deletes what the catalog keeps for a time only (docs/retention.md).

use std::time::Duration;

use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

use crate::table;

const DAY: Duration = Duration::from_hours(24);

/// How long the errors of rejected rows are retained after the end of their run.
const ROW_ERRORS_RETENTION: Duration = DAY.saturating_mul(30);
/// How long ended feed runs are retained. The last run that completed a catalog stays.
const RUNS_RETENTION: Duration = DAY.saturating_mul(400);
/// How long the bytes that a store sent per day are retained.
const UPLOADS_RETENTION: Duration = DAY.saturating_mul(30);
/// How long former prices are retained. The last price of a product or variant stays.
const PRICES_RETENTION: Duration = DAY.saturating_mul(2 * 365);
/// Rows deleted per transaction.
const BATCH: i64 = 1_000;

/// Deletes old feed runs, their row errors, old upload counts and old prices.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeFeedRuns {}

impl Job for PurgeFeedRuns {
    const NAME: &'static str = "catalog.purge_feed_runs";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        for (table, retention) in [
            (Purged::RowErrors, ROW_ERRORS_RETENTION),
            (Purged::Runs, RUNS_RETENTION),
            (Purged::Uploads, UPLOADS_RETENTION),
            (Purged::Prices, PRICES_RETENTION),
        ] {
            loop {
                let mut work = context.work_for_platform().await?;
                let before = work.now().minus(retention);
                let deleted = match table {
                    Purged::RowErrors => table::delete_row_errors(&mut work, before, BATCH).await,
                    Purged::Runs => table::delete_runs(&mut work, before, BATCH).await,
                    Purged::Uploads => table::delete_uploads(&mut work, before, BATCH).await,
                    Purged::Prices => table::delete_prices(&mut work, before, BATCH).await,
                }?;
                work.commit().await?;
                if deleted == 0 {
                    break;
                }
            }
        }
        Ok(Outcome::DONE)
    }
}

/// What is purged.
#[derive(Debug, Clone, Copy)]
enum Purged {
    RowErrors,
    Runs,
    Uploads,
    Prices,
}

impl Scheduled for PurgeFeedRuns {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}
