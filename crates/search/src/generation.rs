//! A generation: one whole index, in shards.

use std::time::Duration;

use database::{Database, Reading, SHARDS, Work};
use primitives::Timestamp;

use crate::IndexError;
use crate::schema::FORMAT;
use crate::table::{self, ShardRow};

/// A generation that is built is put in the place of the one that serves when none of its shards is
/// further behind than this.
const BEHIND_MAX: Duration = Duration::from_secs(5);
/// Indexes of an older form are given up when nobody has written them for so long.
const OLDER_KEPT: Duration = Duration::from_hours(1);

/// What a generation is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is being filled.
    Building,
    /// Searches use it.
    Serving,
    /// Nobody needs it any more.
    Retired,
}

impl State {
    pub(crate) fn from_name(name: &str) -> Self {
        match name {
            "building" => Self::Building,
            "serving" => Self::Serving,
            _ => Self::Retired,
        }
    }
}

/// The ranges of virtual shards, first and last, of so many shards of about the same size.
pub(crate) fn plan(shards: u16) -> Vec<(i16, i16)> {
    let shards = i32::from(shards.clamp(1, SHARDS));
    let all = i32::from(SHARDS);
    let begin = |shard: i32| i16::try_from(shard * all / shards).unwrap_or(i16::MAX);
    (0..shards).map(|shard| (begin(shard), begin(shard + 1) - 1)).collect()
}

/// Whether all shards of a generation may serve: each is published and up to date.
fn is_ready(shards: &[&ShardRow], now: Timestamp) -> bool {
    let behind = now.minus(BEHIND_MAX);
    let ready = |row: &&ShardRow| {
        row.manifest.is_some() && row.caught_up_at.is_some_and(|moment| moment >= behind)
    };
    !shards.is_empty() && shards.iter().all(ready)
}

/// Asks for a new index beside the one that serves; writers fill it and put it in its place when it
/// has caught up. One that is being built in the same number of shards is the answer already; one in
/// another number gives way. Answers its number.
pub async fn rebuild(database: &Database, shards: u16) -> Result<i32, IndexError> {
    let plan = plan(shards);
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::lock_generations(&mut work).await?;
    let rows = table::shards(work.sql(), FORMAT).await?;
    let building: Vec<&ShardRow> =
        rows.iter().filter(|row| row.state() == State::Building).collect();
    let ranges: Vec<_> = building.iter().map(|row| (row.virtual_from, row.virtual_to)).collect();
    let generation = match building.first() {
        Some(row) if ranges == plan => row.generation,
        other => {
            if let Some(row) = other {
                table::retire(&mut work, row.generation, now).await?;
            }
            table::insert_generation(&mut work, FORMAT, &plan, now).await?
        }
    };
    work.commit().await?;
    Ok(generation)
}

/// Whether there is an index to search in, published by whoever.
pub async fn is_published(database: &Database) -> Result<bool, IndexError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let rows = table::shards(&mut snapshot, FORMAT).await?;
    snapshot.close().await?;
    Ok(rows.iter().any(|row| row.state() == State::Serving))
}

/// Makes the first generation, if there is none.
pub(crate) async fn ensure(database: &Database, shards: u16) -> Result<Vec<ShardRow>, IndexError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let rows = table::shards(&mut snapshot, FORMAT).await?;
    snapshot.close().await?;
    if !rows.is_empty() {
        return Ok(rows);
    }
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::lock_generations(&mut work).await?;
    if table::shards(work.sql(), FORMAT).await?.is_empty() {
        let generation = table::insert_generation(&mut work, FORMAT, &plan(shards), now).await?;
        tracing::info!(generation, shards, "a first search index is built");
    }
    let rows = table::shards(work.sql(), FORMAT).await?;
    work.commit().await?;
    Ok(rows)
}

/// Puts the generation that is being built in the place of the one that serves, once it may serve.
pub(crate) async fn turn_over(database: &Database, rows: &[ShardRow]) -> Result<(), IndexError> {
    let built = |rows: &[ShardRow], now: Timestamp| {
        let of_built: Vec<_> = rows.iter().filter(|row| row.state() == State::Building).collect();
        is_ready(&of_built, now).then(|| of_built.first().map(|row| row.generation)).flatten()
    };
    // A cheap look first: mostly nothing is being built.
    if !rows.iter().any(|row| row.state() == State::Building && row.manifest.is_some()) {
        return Ok(());
    }
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::lock_generations(&mut work).await?;
    let rows = table::shards(work.sql(), FORMAT).await?;
    if let Some(generation) = built(&rows, now) {
        let old = rows.iter().find(|row| row.state() == State::Serving);
        if let Some(old) = old {
            table::retire(&mut work, old.generation, now).await?;
        }
        table::serve(&mut work, generation, now).await?;
        tracing::info!(generation, "a new search index serves");
    }
    work.commit().await?;
    Ok(())
}

/// Gives up indexes of older forms that nobody writes any more. Answers the generations that are
/// retired for longer than `kept`, with their numbers of shards.
pub(crate) async fn outdated(
    database: &Database,
    kept: Duration,
) -> Result<Vec<(i32, i64)>, IndexError> {
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::retire_older_forms(&mut work, FORMAT, now, now.minus(OLDER_KEPT)).await?;
    let outdated = table::retired_before(&mut work, now.minus(kept)).await?;
    work.commit().await?;
    Ok(outdated)
}

/// Forgets a retired generation whose objects are gone, and what the outbox kept for it.
pub(crate) async fn forget(
    database: &Database,
    generation: i32,
    shards: i64,
) -> Result<(), IndexError> {
    let mut work = Work::for_platform(database).await?;
    for shard in 0..i16::try_from(shards).unwrap_or(i16::MAX) {
        let place = crate::manifest::Place { generation, shard };
        jobs::forget_cursor(&mut work, &place.cursor_name()).await?;
    }
    table::remove_generation(&mut work, generation).await?;
    work.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_the_virtual_ones_evenly() {
        for shards in [1, 2, 3, 7, 256, 1024, 5000] {
            let plan = plan(shards);
            assert_eq!(plan.len(), usize::from(shards.min(1024)));
            assert_eq!((plan[0].0, plan[plan.len() - 1].1), (0, 1023));
            for pair in plan.windows(2) {
                assert_eq!(pair[0].1 + 1, pair[1].0);
            }
            let sizes = plan.iter().map(|(from, to)| to - from + 1);
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
        }
    }
}
