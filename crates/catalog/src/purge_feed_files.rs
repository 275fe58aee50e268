//! The sweep that deletes the bytes of feeds whose runs have ended.

use database::{Database, DatabaseError, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{FeedRunId, Id};

use crate::table;

/// Chunks deleted per transaction.
const CHUNKS: i64 = 50;
/// Transactions per run of the sweep; the rest of a large feed is deleted in the next one.
const TRANSACTIONS: usize = 40;

/// Deletes the bytes of feeds whose runs have ended.
#[derive(Debug)]
pub struct PurgeFeedFiles;

impl Sweep for PurgeFeedFiles {
    const NAME: &'static str = "catalog.purge_feed_files";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        Ok(table::ended_runs_with_files(sql, after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        let run = FeedRunId::from_uuid(row.id);
        for _ in 0..TRANSACTIONS {
            let mut work = Work::for_platform(&database).await?;
            let is_done = table::delete_chunks(&mut work, row.merchant, run, CHUNKS).await?;
            work.commit().await?;
            if is_done {
                break;
            }
        }
        Ok(())
    }
}
