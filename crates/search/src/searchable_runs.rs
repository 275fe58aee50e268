//! The sweep that records when the result of an import can be found.

use database::{Database, DatabaseError, Snapshot, Work, shard_of};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{FeedRunId, Id, MerchantId, Timestamp};

use crate::generation::GenerationState;
use crate::schema::FORMAT;
use crate::table::{self, ShardRow};

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
        let mut shards = table::shards(sql, FORMAT).await?;
        shards.retain(|shard| shard.state == GenerationState::Serving);
        let newest = shards.iter().map(|shard| shard.small_caught_up_at.max(shard.caught_up_at));
        let Some(until) = newest.max().flatten() else { return Ok(Vec::new()) };
        let size = usize::try_from(limit).unwrap_or(usize::MAX);
        let (mut found, mut after) = (Vec::new(), after);
        loop {
            let rows = catalog::unsearchable_runs(sql, until, after, limit).await?;
            let is_end = rows.len() < size;
            after = rows.last().copied();
            let is_searchable =
                |row: &SweepRow| caught_up_at(&shards, row.merchant) >= Some(row.due_at);
            found.extend(rows.into_iter().filter(is_searchable));
            if is_end || found.len() >= size {
                found.truncate(size);
                return Ok(found);
            }
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

/// Returns the time before which every committed change of a store is published; `None` if its shard was never published.
/// Only stores that change many products at once wait for one another.
fn caught_up_at(serving: &[ShardRow], merchant: MerchantId) -> Option<Timestamp> {
    let number = i16::try_from(shard_of(merchant)).ok()?;
    let holds = |shard: &&ShardRow| (shard.virtual_from..=shard.virtual_to).contains(&number);
    let of_shard = |shard: &ShardRow| {
        if shard.bulk_merchants.contains(&merchant) {
            shard.caught_up_at
        } else {
            shard.small_caught_up_at.max(shard.caught_up_at)
        }
    };
    serving.iter().filter(holds).map(of_shard).min().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_in_bulk_delays_no_other_one() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let merchant = |number| MerchantId::from_uuid(uuid::Uuid::from_u128(number));
        let (early, late) = (time("2026-01-01T00:00:00Z"), time("2026-01-01T01:00:00Z"));
        let shard = ShardRow {
            generation: 1,
            shard: 0,
            state: GenerationState::Serving,
            virtual_from: 0,
            virtual_to: i16::MAX,
            manifest: None,
            caught_up_at: Some(early),
            small_caught_up_at: Some(late),
            bulk_merchants: vec![merchant(1)],
        };
        let shards = [shard];
        assert_eq!(caught_up_at(&shards, merchant(1)), Some(early));
        assert_eq!(caught_up_at(&shards, merchant(2)), Some(late));
        assert_eq!(caught_up_at(&[], merchant(2)), None);
    }
}
