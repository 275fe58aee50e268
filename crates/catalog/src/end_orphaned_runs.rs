//! The sweep that fails feed runs whose upload or job was lost.

use std::time::Duration;

use database::{Database, DatabaseError, Snapshot, Work};
use jobs::{Job, JobError, Sweep, SweepRow};
use primitives::{FeedRunId, Id};

use crate::{ApplyFeedRun, table};

/// An upload without progress for this long counts as aborted: a request that receives nothing ends much sooner.
const UPLOAD_TIMEOUT: Duration = Duration::from_mins(15);

/// Fails feed runs whose upload or job was lost.
#[derive(Debug)]
pub struct EndOrphanedRuns;

impl Sweep for EndOrphanedRuns {
    const NAME: &'static str = "catalog.end_orphaned_runs";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let before = sql.now().await?.minus(UPLOAD_TIMEOUT);
        Ok(table::orphaned_runs(sql, before, ApplyFeedRun::NAME, after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        let mut work = Work::for_platform(&database).await?;
        let before = work.now().minus(UPLOAD_TIMEOUT);
        let run = FeedRunId::from_uuid(row.id);
        let kind = ApplyFeedRun::NAME;
        table::fail_orphaned_run(&mut work, row.merchant, run, before, kind).await?;
        work.commit().await?;
        Ok(())
    }
}
