//! A generation: one complete index, in shards.

use std::time::Duration;

use database::{Database, Reading, SHARDS, Work};
use primitives::Timestamp;

use crate::IndexError;
use crate::schema::FORMAT;
use crate::table::{self, ShardRow};

/// Maximum lag of the shards of a new generation when it replaces the serving one.
const LAG_MAX: Duration = Duration::from_secs(5);
/// Generations of an older format are retired when no writer has held them for this long.
const OLDER_FORMAT_GRACE_PERIOD: Duration = Duration::from_hours(1);

primitives::text_enum! {
    /// State of a generation.
    #[strum(serialize_all = "snake_case")]
    pub(crate) enum GenerationState {
        /// Its shards are being filled from PostgreSQL.
        Building,
        /// Searches use it.
        Serving,
        /// It was replaced, and is deleted after a grace period.
        Retired,
    }
}

/// Divides the virtual shards into this many ranges of about the same size; returns the first and last of each.
pub(crate) fn shard_ranges(shards: u16) -> Vec<(i16, i16)> {
    let shards = i32::from(shards.clamp(1, SHARDS));
    let all = i32::from(SHARDS);
    let first = |shard: i32| i16::try_from(shard * all / shards).unwrap_or(i16::MAX);
    (0..shards).map(|shard| (first(shard), first(shard + 1) - 1)).collect()
}

/// Returns whether a generation may serve: each shard is published and up to date.
fn is_ready(shards: &[&ShardRow], now: Timestamp) -> bool {
    let oldest = now.minus(LAG_MAX);
    let ready = |row: &&ShardRow| {
        row.manifest.is_some()
            && row.caught_up_at.is_some_and(|caught_up_at| caught_up_at >= oldest)
    };
    !shards.is_empty() && shards.iter().all(ready)
}

/// Creates a new generation beside the serving one; writers fill it, and it replaces the serving one when it has
/// caught up. A generation already being built with the same number of shards is returned instead; one with another
/// number of shards is retired. Returns the number of the generation.
pub async fn rebuild(database: &Database, shards: u16) -> Result<i32, IndexError> {
    let requested = shard_ranges(shards);
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::lock_generations(&mut work).await?;
    let rows = table::shards(work.sql(), FORMAT).await?;
    let building: Vec<&ShardRow> =
        rows.iter().filter(|row| row.state == GenerationState::Building).collect();
    let ranges: Vec<_> = building.iter().map(|row| (row.virtual_from, row.virtual_to)).collect();
    let generation = match building.first() {
        Some(row) if ranges == requested => row.generation,
        other => {
            if let Some(row) = other {
                table::retire(&mut work, row.generation, now).await?;
            }
            table::insert_generation(&mut work, FORMAT, &requested, now).await?
        }
    };
    work.commit().await?;
    Ok(generation)
}

/// Retires every generation and creates one that is filled from PostgreSQL: no published index belongs to a database that was
/// restored from a backup. Returns the number of the generation.
pub async fn start_over(database: &Database, shards: u16) -> Result<i32, IndexError> {
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::lock_generations(&mut work).await?;
    table::retire_all(&mut work, now).await?;
    let generation =
        table::insert_generation(&mut work, FORMAT, &shard_ranges(shards), now).await?;
    work.commit().await?;
    Ok(generation)
}

/// Returns whether an index is published.
pub async fn is_published(database: &Database) -> Result<bool, IndexError> {
    let rows = all_shards(database).await?;
    Ok(rows.iter().any(|row| row.state == GenerationState::Serving))
}

/// Returns how far the published index is behind the database, without the changes of stores that change many products
/// at once; `None` if no index is published.
pub async fn published_lag(database: &Database) -> Result<Option<Duration>, IndexError> {
    let reading = Reading::for_platform(database);
    let (rows, now) = reading
        .run(async |sql| {
            let now = sql.now().await?;
            Ok::<_, IndexError>((table::shards(sql, FORMAT).await?, now))
        })
        .await?;
    let serving = rows.iter().filter(|row| row.state == GenerationState::Serving);
    let lags = serving.map(|row| {
        let caught_up_at = row.small_caught_up_at.max(row.caught_up_at);
        caught_up_at.map_or(Duration::MAX, |at| now.since(at))
    });
    Ok(lags.max())
}

/// Returns all shards of the current format.
async fn all_shards(database: &Database) -> Result<Vec<ShardRow>, IndexError> {
    let reading = Reading::for_platform(database);
    reading.run(async |sql| Ok(table::shards(sql, FORMAT).await?)).await
}

/// Returns all shards of the current format. Creates the first generation if there is none.
pub(crate) async fn ensure(database: &Database, shards: u16) -> Result<Vec<ShardRow>, IndexError> {
    let rows = all_shards(database).await?;
    if !rows.is_empty() {
        return Ok(rows);
    }
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::lock_generations(&mut work).await?;
    if table::shards(work.sql(), FORMAT).await?.is_empty() {
        let generation =
            table::insert_generation(&mut work, FORMAT, &shard_ranges(shards), now).await?;
        tracing::info!(generation, shards, "building the first search index");
    }
    let rows = table::shards(work.sql(), FORMAT).await?;
    work.commit().await?;
    Ok(rows)
}

/// Replaces the serving generation by the one being built, if that may serve.
pub(crate) async fn promote_if_ready(
    database: &Database,
    rows: &[ShardRow],
) -> Result<(), IndexError> {
    let ready_generation = |rows: &[ShardRow], now: Timestamp| {
        let building: Vec<_> =
            rows.iter().filter(|row| row.state == GenerationState::Building).collect();
        is_ready(&building, now).then(|| building.first().map(|row| row.generation)).flatten()
    };
    // Usually nothing is being built; this check needs no transaction.
    if !rows.iter().any(|row| row.state == GenerationState::Building && row.manifest.is_some()) {
        return Ok(());
    }
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::lock_generations(&mut work).await?;
    let rows = table::shards(work.sql(), FORMAT).await?;
    if let Some(generation) = ready_generation(&rows, now) {
        let old = rows.iter().find(|row| row.state == GenerationState::Serving);
        if let Some(old) = old {
            table::retire(&mut work, old.generation, now).await?;
        }
        table::mark_serving(&mut work, generation, now).await?;
        tracing::info!(generation, "a new search index is serving");
    }
    work.commit().await?;
    Ok(())
}

/// Retires generations of older formats that no writer holds any more. Returns the generations that were retired
/// longer than `grace_period` ago, with their numbers of shards.
pub(crate) async fn expired(
    database: &Database,
    grace_period: Duration,
) -> Result<Vec<(i32, i64)>, IndexError> {
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::retire_older_formats(&mut work, FORMAT, now, now.minus(OLDER_FORMAT_GRACE_PERIOD))
        .await?;
    let expired = table::retired_before(&mut work, now.minus(grace_period)).await?;
    work.commit().await?;
    Ok(expired)
}

/// Deletes a retired generation, whose objects are deleted already, and its cursors in the outbox.
pub(crate) async fn delete(
    database: &Database,
    generation: i32,
    shards: i64,
) -> Result<(), IndexError> {
    let mut work = Work::for_platform(database).await?;
    for shard in 0..i16::try_from(shards).unwrap_or(i16::MAX) {
        let shard_id = crate::manifest::ShardId { generation, shard };
        jobs::delete_cursor(&mut work, &shard_id.cursor_name()).await?;
    }
    table::remove_generation(&mut work, generation).await?;
    work.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_shards_are_divided_evenly() {
        for shards in [1, 2, 3, 7, 256, 1024, 5000] {
            let ranges = shard_ranges(shards);
            assert_eq!(ranges.len(), usize::from(shards.min(1024)));
            assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (0, 1023));
            for pair in ranges.windows(2) {
                assert_eq!(pair[0].1 + 1, pair[1].0);
            }
            let sizes = ranges.iter().map(|(from, to)| to - from + 1);
            assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
        }
    }
}
