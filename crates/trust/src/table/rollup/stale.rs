//! Days whose rows have to be computed again.

use database::Work;
use jobs::SweepRow;
use primitives::{CheckoutId, MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::Day;

/// Marks the days that have facts of these orders, each with its merchant: those since a day, to be computed at `due_at`. The day
/// by which an order has to be delivered is computed when that time has passed. The days of the checkout, of the order and of
/// reports of its payment are among them at every change, because a cancellation changes what they count.
pub(crate) async fn mark_orders(
    work: &mut Work,
    merchants: &[MerchantId],
    orders: &[OrderId],
    since: Day,
    due_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO trust_stale_day AS stale (merchant_id, day, due_at, generation)
         SELECT placed.merchant_id, (fact.at AT TIME ZONE 'UTC')::date AS day, min(greatest(fact.at, $4)), nextval('trust_mark')
         FROM unnest($1::uuid[], $2::uuid[]) AS changed (merchant_id, order_id)
         JOIN trust_order AS placed USING (merchant_id, order_id)
         CROSS JOIN LATERAL (
             SELECT placed.created_at
             UNION ALL
             SELECT placed.due_by
             UNION ALL
             SELECT started.at FROM agent_event AS started
             WHERE started.merchant_id = placed.merchant_id AND started.checkout_id = placed.checkout_id
               AND started.kind = 'CHECKOUT_START'
             UNION ALL
             SELECT entry.occurred_at FROM order_history AS entry
             WHERE entry.merchant_id = placed.merchant_id AND entry.order_id = placed.order_id
               AND ((entry.kind = 'status_changed' AND entry.status IN ('shipped', 'delivered'))
                 OR (entry.kind = 'lines_canceled' AND entry.actor = 'merchant'))
             UNION ALL
             SELECT report.at FROM payment_report AS report
             WHERE report.merchant_id = placed.merchant_id AND report.checkout_id = placed.checkout_id
             UNION ALL
             SELECT dispute.resolved_at FROM order_dispute AS dispute
             WHERE dispute.merchant_id = placed.merchant_id AND dispute.order_id = placed.order_id
               AND dispute.status = 'resolved'
         ) AS fact (at)
         WHERE fact.at >= $3
         GROUP BY placed.merchant_id, day
         ORDER BY placed.merchant_id, day
         ON CONFLICT (merchant_id, day) DO UPDATE
         SET due_at = least(stale.due_at, excluded.due_at), generation = excluded.generation",
        merchants as &[MerchantId],
        orders as &[OrderId],
        since.start() as Timestamp,
        due_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Marks the days that have facts of these checkouts, apart from those of their orders, each with its merchant: those since a
/// day, to be computed at `due_at`.
pub(crate) async fn mark_checkouts(
    work: &mut Work,
    merchants: &[MerchantId],
    checkouts: &[CheckoutId],
    since: Day,
    due_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO trust_stale_day AS stale (merchant_id, day, due_at, generation)
         SELECT changed.merchant_id, (fact.at AT TIME ZONE 'UTC')::date AS day, $4::timestamptz, nextval('trust_mark')
         FROM unnest($1::uuid[], $2::uuid[]) AS changed (merchant_id, checkout_id)
         CROSS JOIN LATERAL (
             SELECT started.at FROM agent_event AS started
             WHERE started.merchant_id = changed.merchant_id AND started.checkout_id = changed.checkout_id
               AND started.kind = 'CHECKOUT_START'
             UNION ALL
             SELECT report.at FROM payment_report AS report
             WHERE report.merchant_id = changed.merchant_id AND report.checkout_id = changed.checkout_id
         ) AS fact (at)
         WHERE fact.at >= $3
         GROUP BY changed.merchant_id, day
         ORDER BY changed.merchant_id, day
         ON CONFLICT (merchant_id, day) DO UPDATE
         SET due_at = least(stale.due_at, excluded.due_at), generation = excluded.generation",
        merchants as &[MerchantId],
        checkouts as &[CheckoutId],
        since.start() as Timestamp,
        due_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Marks the days of a store by which orders have to be delivered that are not, to be computed when the times have passed.
pub(crate) async fn mark_promises(work: &mut Work, merchant: MerchantId) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO trust_stale_day AS stale (merchant_id, day, due_at, generation)
         SELECT merchant_id, (due_by AT TIME ZONE 'UTC')::date AS day, min(due_by), nextval('trust_mark')
         FROM trust_order
         WHERE merchant_id = $1 AND due_by > $2 AND status NOT IN ('delivered', 'completed', 'canceled', 'failed')
         GROUP BY merchant_id, day
         ORDER BY merchant_id, day
         ON CONFLICT (merchant_id, day) DO UPDATE
         SET due_at = least(stale.due_at, excluded.due_at), generation = excluded.generation",
        merchant as MerchantId,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns days of all stores that are due, after a row, the oldest first.
pub(crate) async fn find_due(
    sql: &mut PgConnection,
    now: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", row_id AS "id!", due_at AS "due_at: Timestamp"
           FROM trust_stale_day
           WHERE due_at <= $1 AND ($2::timestamptz IS NULL OR (due_at, row_id) > ($2, $3))
           ORDER BY due_at, row_id LIMIT $4"#,
        now as Timestamp,
        after.map(|row| row.due_at) as Option<Timestamp>,
        after.map(|row| row.id),
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| SweepRow { merchant: row.merchant, id: row.id, due_at: row.due_at })
        .collect())
}

/// A day that is due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StaleDay {
    pub(crate) day: Day,
    /// Of its newest mark: another one has a greater number.
    pub(crate) generation: i64,
}

/// Marks one day of a store, to be computed now, and returns the id of its row.
pub(crate) async fn mark_day(
    work: &mut Work,
    merchant: MerchantId,
    day: Day,
) -> sqlx::Result<Uuid> {
    let now = work.now();
    sqlx::query_scalar!(
        "INSERT INTO trust_stale_day AS stale (merchant_id, day, due_at)
         VALUES ($1, DATE '1970-01-01' + $2::int, $3)
         ON CONFLICT (merchant_id, day) DO UPDATE
         SET due_at = least(stale.due_at, excluded.due_at), generation = excluded.generation
         RETURNING row_id",
        merchant as MerchantId,
        day.0,
        now as Timestamp,
    )
    .fetch_one(work.sql())
    .await
}

/// Lets no other transaction count days of a store at the same time, until this one ends. Returns `false` if another one does: a
/// store with many days leaves the others their turn.
pub(crate) async fn try_count_alone(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"SELECT pg_try_advisory_xact_lock(hashtext('trust.roll_up'), hashtext($1)) AS "is_alone!""#,
        merchant.to_string(),
    )
    .fetch_one(sql)
    .await
}

/// Returns the day of a row of the sweep, or `None` if it is not due any more. The row is not locked: whoever marks days of many
/// stores does not wait for the computation of one.
pub(crate) async fn due_day(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: Uuid,
    now: Timestamp,
) -> sqlx::Result<Option<StaleDay>> {
    let row = sqlx::query!(
        r#"SELECT day - DATE '1970-01-01' AS "day!", generation FROM trust_stale_day
           WHERE merchant_id = $1 AND row_id = $2 AND due_at <= $3"#,
        merchant as MerchantId,
        id,
        now as Timestamp,
    )
    .fetch_optional(sql)
    .await?;
    Ok(row.map(|row| StaleDay { day: Day(row.day), generation: row.generation }))
}

/// Returns the next time of a day that lies ahead and by which an order has to be delivered that is not.
pub(crate) async fn next_promise(
    work: &mut Work,
    merchant: MerchantId,
    day: Day,
) -> sqlx::Result<Option<Timestamp>> {
    let now = work.now();
    sqlx::query_scalar!(
        r#"SELECT min(due_by) AS "next: Timestamp" FROM trust_order
           WHERE merchant_id = $1 AND due_by > $2 AND due_by < $3
             AND status NOT IN ('delivered', 'completed', 'canceled', 'failed')"#,
        merchant as MerchantId,
        now as Timestamp,
        day.end() as Timestamp,
    )
    .fetch_one(work.sql())
    .await
}

/// Removes the mark of a day, or sets when it is due next. A day that was marked again since it was read is computed again at
/// `again_at`.
pub(crate) async fn settle(
    work: &mut Work,
    merchant: MerchantId,
    stale: StaleDay,
    next: Option<Timestamp>,
    again_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE trust_stale_day SET due_at = $4
         WHERE merchant_id = $1 AND day = DATE '1970-01-01' + $2::int AND generation <> $3 AND due_at < $4",
        merchant as MerchantId,
        stale.day.0,
        stale.generation,
        again_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    match next {
        Some(next) => {
            sqlx::query!(
                "UPDATE trust_stale_day SET due_at = $4
                 WHERE merchant_id = $1 AND day = DATE '1970-01-01' + $2::int AND generation = $3",
                merchant as MerchantId,
                stale.day.0,
                stale.generation,
                next as Timestamp,
            )
            .execute(work.sql())
            .await?;
        }
        None => {
            sqlx::query!(
                "DELETE FROM trust_stale_day
                 WHERE merchant_id = $1 AND day = DATE '1970-01-01' + $2::int AND generation = $3",
                merchant as MerchantId,
                stale.day.0,
                stale.generation,
            )
            .execute(work.sql())
            .await?;
        }
    }
    Ok(())
}

/// Returns for how long the oldest day that is due has waited, in seconds; 0 if none is due.
pub(crate) async fn oldest_due_seconds(
    sql: &mut PgConnection,
    now: Timestamp,
) -> sqlx::Result<f64> {
    let oldest = sqlx::query_scalar!(
        r#"SELECT min(due_at) AS "oldest: Timestamp" FROM trust_stale_day WHERE due_at <= $1"#,
        now as Timestamp,
    )
    .fetch_one(sql)
    .await?;
    Ok(oldest.map_or(0.0, |oldest| now.since(oldest).as_secs_f64()))
}

/// Returns for how long the oldest day has waited that is due and that no run of the sweep failed to compute, in seconds; 0 if there
/// is none. Days that were due until `due_after` are left out.
pub(crate) async fn oldest_untried_seconds(
    sql: &mut PgConnection,
    now: Timestamp,
    due_after: Option<Timestamp>,
    sweep: &str,
) -> sqlx::Result<f64> {
    let oldest = sqlx::query_scalar!(
        r#"SELECT due_at AS "oldest!: Timestamp" FROM trust_stale_day AS stale
           WHERE due_at <= $1 AND ($2::timestamptz IS NULL OR due_at > $2)
             AND NOT EXISTS (SELECT FROM sweep_failure AS failed
                             WHERE failed.sweep = $3 AND failed.row_id = stale.row_id)
           ORDER BY due_at LIMIT 1"#,
        now as Timestamp,
        due_after as Option<Timestamp>,
        sweep,
    )
    .fetch_optional(sql)
    .await?;
    Ok(oldest.map_or(0.0, |oldest| now.since(oldest).as_secs_f64()))
}

/// Returns the number of days that the sweep failed to compute. They are tried again.
pub(crate) async fn failed_days(sql: &mut PgConnection, sweep: &str) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "failed!" FROM sweep_failure WHERE sweep = $1"#,
        sweep,
    )
    .fetch_one(sql)
    .await
}

/// Returns the days of a store that are due before a time.
pub(crate) async fn waiting_days(
    sql: &mut PgConnection,
    merchant: MerchantId,
    before: Timestamp,
) -> sqlx::Result<Vec<Day>> {
    let days = sqlx::query_scalar!(
        r#"SELECT day - DATE '1970-01-01' AS "day!" FROM trust_stale_day WHERE merchant_id = $1 AND due_at < $2"#,
        merchant as MerchantId,
        before as Timestamp,
    )
    .fetch_all(sql)
    .await?;
    Ok(days.into_iter().map(Day).collect())
}
