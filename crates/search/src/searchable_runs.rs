//! The sweep that records when the result of an import can be found.

use database::{Database, DatabaseError, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{FeedRunId, Id};

use crate::generation::GenerationState;
use crate::schema::FORMAT;
use crate::table;

/// Records which imports the published index contains.
#[derive(Debug)]
pub struct RecordSearchableRuns;

impl Sweep for RecordSearchableRuns {
    const NAME: &'static str = "search.record_searchable_runs";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let shards = table::shards(sql, FORMAT).await?;
        let serving = shards.iter().filter(|shard| shard.state == GenerationState::Serving);
        // A shard that was never published has caught up with nothing.
        let caught_up_at = serving.map(|shard| shard.caught_up_at).min().flatten();
        match caught_up_at {
            Some(until) => catalog::unsearchable_runs(sql, until, after, limit).await,
            None => Ok(Vec::new()),
        }
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        let mut work = Work::for_store(&database, row.merchant).await?;
        let run = FeedRunId::from_uuid(row.id);
        catalog::set_searchable(&mut work, row.merchant, run).await?;
        work.commit().await?;
        Ok(())
    }
}
