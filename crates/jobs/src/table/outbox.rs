//! The outbox.

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

/// The end of a window.
pub(crate) struct Horizon {
    pub(crate) snapshot: String,
    pub(crate) is_present: bool,
}

/// Returns the end of the next window: the first snapshot recorded after the first event that `low` does not see, or the
/// current snapshot.
pub(crate) async fn next_horizon(sql: &mut PgConnection, low: &str) -> sqlx::Result<Horizon> {
    sqlx::query_as!(
        Horizon,
        r#"SELECT coalesce(recorded.snapshot, outbox_seen(pg_snapshot_xmax(low)))::text
                      AS "snapshot!",
                  recorded.snapshot IS NULL AS "is_present!"
           FROM (SELECT $1::text::pg_snapshot AS low) AS cursor
           LEFT JOIN LATERAL (
               SELECT transaction FROM outbox
               WHERE transaction >= pg_snapshot_xmin(low)
                 AND NOT pg_visible_in_snapshot(transaction, low)
               ORDER BY transaction LIMIT 1
           ) AS unseen ON true
           LEFT JOIN LATERAL (
               SELECT snapshot FROM outbox_horizon
               WHERE upper > unseen.transaction AND upper > pg_snapshot_xmax(low)
               ORDER BY upper LIMIT 1
           ) AS recorded ON true"#,
        low,
    )
    .fetch_one(sql)
    .await
}

/// Returns the events of the window after the position. The first two conditions are for the index; `ORDER BY position +
/// 0` prevents a scan of the primary key from its start.
pub(crate) async fn events(
    sql: &mut PgConnection,
    cursor: &Cursor,
    topics: Option<&[String]>,
    limit: i64,
) -> sqlx::Result<Vec<Event>> {
    sqlx::query_as!(
        Event,
        r#"SELECT position, merchant_id AS "merchant: MerchantId", topic, subject, payload,
                  at AS "at: Timestamp"
           FROM outbox
           WHERE transaction >= pg_snapshot_xmin($1::text::pg_snapshot)
             AND transaction < pg_snapshot_xmax($2::text::pg_snapshot)
             AND NOT pg_visible_in_snapshot(transaction, $1::text::pg_snapshot)
             AND pg_visible_in_snapshot(transaction, $2::text::pg_snapshot)
             AND position > $3 AND ($5::text[] IS NULL OR topic = ANY ($5))
           ORDER BY position + 0 LIMIT $4"#,
        cursor.low,
        cursor.high,
        cursor.position,
        limit,
        topics,
    )
    .fetch_all(sql)
    .await
}

/// Returns the current snapshot.
pub(crate) async fn current_snapshot(sql: &mut PgConnection) -> sqlx::Result<String> {
    sqlx::query_scalar!(r#"SELECT outbox_seen('3')::text AS "snapshot!""#).fetch_one(sql).await
}

pub(crate) async fn cursor(sql: &mut PgConnection, name: &str) -> sqlx::Result<Option<Cursor>> {
    sqlx::query_as!(
        Cursor,
        r#"SELECT low::text AS "low!", high::text AS "high!", position FROM outbox_cursor WHERE name = $1"#,
        name,
    )
    .fetch_optional(sql)
    .await
}

/// Advances a cursor if it is still at `from`.
pub(crate) async fn advance_cursor(
    work: &mut Work,
    name: &str,
    from: &Cursor,
    to: &Cursor,
) -> sqlx::Result<bool> {
    let start = Cursor::default();
    sqlx::query!(
        "INSERT INTO outbox_cursor (name, low, high, position)
         VALUES ($1, $2::text::pg_snapshot, $3::text::pg_snapshot, $4) ON CONFLICT (name) DO NOTHING",
        name,
        start.low,
        start.high,
        start.position,
    )
    .execute(work.sql())
    .await?;
    let moved = sqlx::query!(
        "UPDATE outbox_cursor
         SET low = $5::text::pg_snapshot, high = $6::text::pg_snapshot, position = $7
         WHERE name = $1 AND low::text = $2 AND high::text = $3 AND position = $4",
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

pub(crate) async fn delete_cursor(work: &mut Work, name: &str) -> sqlx::Result<()> {
    sqlx::query!("DELETE FROM outbox_cursor WHERE name = $1", name).execute(work.sql()).await?;
    Ok(())
}

/// Assigns all events to this transaction, deletes the horizons and moves all cursors to the start.
pub(crate) async fn restart_outbox(work: &mut Work, start: &Cursor) -> sqlx::Result<u64> {
    // A large outbox takes longer than a statement of a request may.
    sqlx::query_scalar!("SELECT set_config('statement_timeout', '0', true)")
        .fetch_one(work.sql())
        .await?;
    sqlx::query!("DELETE FROM outbox_horizon").execute(work.sql()).await?;
    sqlx::query!(
        "UPDATE outbox_cursor SET low = $1::text::pg_snapshot, high = $2::text::pg_snapshot, position = $3",
        start.low,
        start.high,
        start.position,
    )
    .execute(work.sql())
    .await?;
    let events = sqlx::query!("UPDATE outbox SET transaction = pg_current_xact_id()");
    Ok(events.execute(work.sql()).await?.rows_affected())
}

pub(crate) async fn outbox_is_ahead(sql: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"SELECT coalesce(greatest(
               (SELECT transaction FROM outbox ORDER BY transaction DESC LIMIT 1),
               (SELECT upper FROM outbox_horizon ORDER BY upper DESC LIMIT 1),
               (SELECT pg_snapshot_xmax(low) FROM outbox_cursor ORDER BY pg_snapshot_xmax(low) DESC LIMIT 1)
           ) > pg_snapshot_xmax(pg_current_snapshot()), false) AS "is_ahead!""#
    )
    .fetch_one(sql)
    .await
}

pub(crate) async fn record_horizon(work: &mut Work, now: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO outbox_horizon (upper, snapshot, seen_at)
         SELECT pg_snapshot_xmax(snapshot), snapshot, $1 FROM outbox_seen('3') AS snapshot
         ON CONFLICT (upper) DO NOTHING",
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes events that are older than `before` and read by every cursor, and horizons older than `before`. Only the
/// oldest rows are examined, so that it is cheap while there is nothing to delete.
pub(crate) async fn purge_events(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM outbox WHERE position = ANY (ARRAY(
             SELECT position
             FROM (SELECT position, transaction, at FROM outbox ORDER BY position LIMIT $2) AS oldest
             WHERE at < $1 AND NOT EXISTS (
                 SELECT FROM outbox_cursor WHERE pg_snapshot_xmin(low) <= oldest.transaction)))",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    sqlx::query!(
        "DELETE FROM outbox_horizon WHERE upper = ANY (ARRAY(
             SELECT upper
             FROM (SELECT upper, seen_at FROM outbox_horizon ORDER BY upper LIMIT $2) AS oldest
             WHERE seen_at < $1))",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
