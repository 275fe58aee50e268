//! The outbox's rows.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{Cursor, Event, NewEvent};

pub(crate) async fn insert_events(work: &mut Work, events: &[NewEvent]) -> sqlx::Result<()> {
    let now = work.now();
    let merchants: Vec<Uuid> = events.iter().map(|event| event.merchant.uuid()).collect();
    let topics: Vec<String> = events.iter().map(|event| event.topic.to_owned()).collect();
    let subjects: Vec<Uuid> = events.iter().map(|event| event.subject).collect();
    let payloads: Vec<serde_json::Value> =
        events.iter().map(|event| event.payload.clone()).collect();
    sqlx::query!(
        "INSERT INTO outbox (merchant_id, topic, subject, payload, at)
         SELECT told.merchant, told.topic, told.subject, told.payload, $5
         FROM unnest($1::uuid[], $2::text[], $3::uuid[], $4::jsonb[])
              WITH ORDINALITY AS told (merchant, topic, subject, payload, number)
         ORDER BY told.number",
        &merchants,
        &topics,
        &subjects,
        &payloads,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// The next place a window may end: the oldest horizon seen beyond `low`, or the present one.
pub(crate) async fn next_horizon(sql: &mut PgConnection, low: i64) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT least(
               pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
               (SELECT min(transaction) FROM outbox_horizon WHERE transaction > $1)
           ) AS "horizon!""#,
        low,
    )
    .fetch_one(sql)
    .await
}

pub(crate) async fn events(
    sql: &mut PgConnection,
    cursor: Cursor,
    limit: i64,
) -> sqlx::Result<Vec<Event>> {
    sqlx::query_as!(
        Event,
        r#"SELECT position, merchant_id AS "merchant: MerchantId", topic, subject, payload,
                  at AS "at: Timestamp"
           FROM outbox
           WHERE transaction >= $1 AND transaction < $2 AND position > $3
           ORDER BY position LIMIT $4"#,
        cursor.low,
        cursor.high,
        cursor.position,
        limit,
    )
    .fetch_all(sql)
    .await
}

pub(crate) async fn cursor(sql: &mut PgConnection, name: &str) -> sqlx::Result<Option<Cursor>> {
    sqlx::query_as!(Cursor, "SELECT low, high, position FROM outbox_cursor WHERE name = $1", name)
        .fetch_optional(sql)
        .await
}

/// Moves a cursor, if it still stands where the reader found it.
pub(crate) async fn advance_cursor(
    work: &mut Work,
    name: &str,
    from: Cursor,
    to: Cursor,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "INSERT INTO outbox_cursor (name) VALUES ($1) ON CONFLICT (name) DO NOTHING",
        name
    )
    .execute(work.sql())
    .await?;
    let moved = sqlx::query!(
        "UPDATE outbox_cursor SET low = $5, high = $6, position = $7
         WHERE name = $1 AND low = $2 AND high = $3 AND position = $4",
        name,
        from.low,
        from.high,
        from.position,
        to.low,
        to.high,
        to.position,
    )
    .execute(work.sql())
    .await?;
    Ok(moved.rows_affected() == 1)
}

pub(crate) async fn record_horizon(work: &mut Work, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO outbox_horizon (transaction, seen_at)
         VALUES (pg_snapshot_xmin(pg_current_snapshot())::text::bigint, $1)
         ON CONFLICT (transaction) DO NOTHING",
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Removes events that are old and behind every cursor, and horizons as old.
pub(crate) async fn remove_old_events(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM outbox WHERE position = ANY (ARRAY(
             SELECT position FROM outbox
             WHERE at < $1
               AND transaction < coalesce((SELECT min(low) FROM outbox_cursor), 9223372036854775807)
             ORDER BY position LIMIT $2))",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    sqlx::query!("DELETE FROM outbox_horizon WHERE seen_at < $1", before as Timestamp)
        .execute(work.sql())
        .await?;
    Ok(())
}
