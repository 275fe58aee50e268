//! Generations of the index.

use database::Work;
use primitives::Timestamp;

/// Locks the generations, so that transactions change them one after another.
pub(crate) async fn lock_generations(work: &mut Work) -> sqlx::Result<()> {
    sqlx::query!("LOCK TABLE platform.search_generation IN SHARE ROW EXCLUSIVE MODE")
        .execute(work.sql())
        .await?;
    Ok(())
}

/// Inserts a generation to be built, with shards of these ranges. Returns its number.
pub(crate) async fn insert_generation(
    work: &mut Work,
    format: i32,
    ranges: &[(i16, i16)],
    now: Timestamp,
) -> sqlx::Result<i32> {
    let generation = sqlx::query_scalar!(
        "INSERT INTO platform.search_generation (format, state, created_at)
         VALUES ($1, 'building', $2) RETURNING generation",
        format,
        now as Timestamp,
    )
    .fetch_one(work.sql())
    .await?;
    let (first, last): (Vec<i16>, Vec<i16>) = ranges.iter().copied().unzip();
    sqlx::query!(
        "INSERT INTO platform.search_shard (generation, shard, virtual_from, virtual_to)
         SELECT $1, number - 1, first, last
         FROM unnest($2::smallint[], $3::smallint[]) WITH ORDINALITY AS part (first, last, number)",
        generation,
        &first,
        &last,
    )
    .execute(work.sql())
    .await?;
    Ok(generation)
}

pub(crate) async fn mark_serving(
    work: &mut Work,
    generation: i32,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.search_generation SET state = 'serving', served_at = $2 WHERE generation = $1",
        generation,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn retire(work: &mut Work, generation: i32, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.search_generation SET state = 'retired', retired_at = $2 WHERE generation = $1",
        generation,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn retire_all(work: &mut Work, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.search_generation SET state = 'retired', retired_at = $1 WHERE state <> 'retired'",
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Retires generations of older formats that no writer has held since a time.
pub(crate) async fn retire_older_formats(
    work: &mut Work,
    format: i32,
    now: Timestamp,
    before: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.search_generation AS old SET state = 'retired', retired_at = $2
         WHERE format < $1 AND state <> 'retired' AND created_at < $3
           AND NOT EXISTS (SELECT FROM platform.search_shard
                           WHERE search_shard.generation = old.generation AND lease_until > $3)",
        format,
        now as Timestamp,
        before as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the generations that were retired before a time, with their numbers of shards.
pub(crate) async fn retired_before(
    work: &mut Work,
    before: Timestamp,
) -> sqlx::Result<Vec<(i32, i64)>> {
    let rows = sqlx::query!(
        r#"SELECT generation,
                  (SELECT count(*) FROM platform.search_shard
                   WHERE search_shard.generation = old.generation) AS "shards!"
           FROM platform.search_generation AS old
           WHERE state = 'retired' AND retired_at < $1 ORDER BY generation"#,
        before as Timestamp,
    )
    .fetch_all(work.sql())
    .await?;
    Ok(rows.into_iter().map(|row| (row.generation, row.shards)).collect())
}

pub(crate) async fn remove_generation(work: &mut Work, generation: i32) -> sqlx::Result<()> {
    // Millions of changes may wait.
    sqlx::query_scalar!("SELECT set_config('statement_timeout', '0', true)")
        .fetch_one(work.sql())
        .await?;
    sqlx::query!("DELETE FROM platform.search_bulk WHERE generation = $1", generation)
        .execute(work.sql())
        .await?;
    sqlx::query!(
        "DELETE FROM platform.search_generation WHERE generation = $1 AND state = 'retired'",
        generation,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
