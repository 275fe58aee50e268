//! Rows of days: facts counted by store, day and account, and what is counted over all days.

mod facts;
mod stale;

use std::collections::HashMap;

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{AccountRef, AgentDay, Day, DayCounts};

pub(crate) use facts::{days_with_facts, facts_of_day, facts_of_days};
pub(crate) use stale::*;

/// A row of a day.
struct Row {
    merchant: MerchantId,
    /// Days since 1970-01-01.
    day: i32,
    account: Uuid,
    started: i32,
    completed: i32,
    kept: i32,
    orders: i32,
    amount_minor: i64,
    in_stock: i32,
    out_of_stock: i32,
    on_time: i32,
    late: i32,
    delivered: i32,
    price_equal: i32,
    price_different: i32,
    disputes_lost: i32,
}

impl From<Row> for AgentDay {
    /// Counts are never negative, by checks of the table.
    fn from(row: Row) -> Self {
        let counts = DayCounts {
            started: row.started.unsigned_abs(),
            completed: row.completed.unsigned_abs(),
            kept: row.kept.unsigned_abs(),
            orders: row.orders.unsigned_abs(),
            in_stock: row.in_stock.unsigned_abs(),
            out_of_stock: row.out_of_stock.unsigned_abs(),
            on_time: row.on_time.unsigned_abs(),
            late: row.late.unsigned_abs(),
            delivered: row.delivered.unsigned_abs(),
            price_equal: row.price_equal.unsigned_abs(),
            price_different: row.price_different.unsigned_abs(),
            disputes_lost: row.disputes_lost.unsigned_abs(),
            amount_minor: row.amount_minor,
        };
        Self { day: Day(row.day), account: AccountRef(row.account), counts }
    }
}

/// Returns the rows of stores between two days, both included: those of each store ordered by account and day.
pub(crate) async fn days_of(
    sql: &mut PgConnection,
    merchants: &[MerchantId],
    from: Day,
    to: Day,
) -> sqlx::Result<HashMap<MerchantId, Vec<AgentDay>>> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT merchant_id AS "merchant: MerchantId", day - DATE '1970-01-01' AS "day!", account_id AS account,
                  started, completed, kept, orders, amount_minor, in_stock, out_of_stock, on_time, late, delivered,
                  price_equal, price_different, disputes_lost
           FROM trust_agent_day
           WHERE merchant_id = ANY ($1)
             AND day >= DATE '1970-01-01' + $2::int AND day <= DATE '1970-01-01' + $3::int
           ORDER BY merchant_id, account_id, day"#,
        merchants as &[MerchantId],
        from.0,
        to.0,
    )
    .fetch_all(sql)
    .await?;
    let mut days: HashMap<MerchantId, Vec<AgentDay>> = HashMap::new();
    for row in rows {
        days.entry(row.merchant).or_default().push(row.into());
    }
    Ok(days)
}

/// Returns the rows of one store between two days, both included, ordered by account and day.
pub(crate) async fn stored_days(
    sql: &mut PgConnection,
    merchant: MerchantId,
    (first, last): (Day, Day),
) -> sqlx::Result<Vec<AgentDay>> {
    Ok(days_of(sql, &[merchant], first, last).await?.remove(&merchant).unwrap_or_default())
}

/// Deletes rows, each by its day and account.
pub(crate) async fn delete_rows(
    work: &mut Work,
    merchant: MerchantId,
    rows: &[AgentDay],
) -> sqlx::Result<()> {
    let days: Vec<i32> = rows.iter().map(|row| row.day.0).collect();
    let accounts: Vec<Uuid> = rows.iter().map(|row| row.account.0).collect();
    sqlx::query!(
        "DELETE FROM trust_agent_day AS stored
         USING unnest($2::int[], $3::uuid[]) AS obsolete (day, account_id)
         WHERE stored.merchant_id = $1 AND stored.day = DATE '1970-01-01' + obsolete.day
           AND stored.account_id = obsolete.account_id",
        merchant as MerchantId,
        &days,
        &accounts,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Inserts rows.
pub(crate) async fn insert_rows(
    work: &mut Work,
    merchant: MerchantId,
    rows: &[AgentDay],
) -> sqlx::Result<()> {
    let days: Vec<i32> = rows.iter().map(|row| row.day.0).collect();
    let accounts: Vec<Uuid> = rows.iter().map(|row| row.account.0).collect();
    let amounts: Vec<i64> = rows.iter().map(|row| row.counts.amount_minor).collect();
    let column = |count: fn(&DayCounts) -> u32| -> Vec<i32> {
        rows.iter().map(|row| i32::try_from(count(&row.counts)).unwrap_or(i32::MAX)).collect()
    };
    sqlx::query!(
        "INSERT INTO trust_agent_day
             (merchant_id, day, account_id, started, completed, kept, orders, amount_minor, in_stock, out_of_stock,
              on_time, late, delivered, price_equal, price_different, disputes_lost)
         SELECT $1::uuid, DATE '1970-01-01' + counted.day, counted.account_id, counted.started, counted.completed,
                counted.kept, counted.orders, counted.amount_minor, counted.in_stock, counted.out_of_stock,
                counted.on_time, counted.late, counted.delivered, counted.price_equal, counted.price_different,
                counted.disputes_lost
         FROM unnest($2::int[], $3::uuid[], $4::int[], $5::int[], $6::int[], $7::int[], $8::bigint[], $9::int[],
                     $10::int[], $11::int[], $12::int[], $13::int[], $14::int[], $15::int[], $16::int[])
              AS counted (day, account_id, started, completed, kept, orders, amount_minor, in_stock, out_of_stock,
                          on_time, late, delivered, price_equal, price_different, disputes_lost)",
        merchant as MerchantId,
        &days,
        &accounts,
        &column(|it| it.started),
        &column(|it| it.completed),
        &column(|it| it.kept),
        &column(|it| it.orders),
        &amounts,
        &column(|it| it.in_stock),
        &column(|it| it.out_of_stock),
        &column(|it| it.on_time),
        &column(|it| it.late),
        &column(|it| it.delivered),
        &column(|it| it.price_equal),
        &column(|it| it.price_different),
        &column(|it| it.disputes_lost),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Locks the tally of a store until the work ends, and creates it if there is none.
pub(crate) async fn lock_tally(work: &mut Work, merchant: MerchantId) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO trust_tally (merchant_id, delivered, rolled_up_at) VALUES ($1, 0, $2)
         ON CONFLICT (merchant_id) DO UPDATE SET rolled_up_at = excluded.rolled_up_at",
        merchant as MerchantId,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Adds to the delivered orders of a store.
pub(crate) async fn add_delivered(
    work: &mut Work,
    merchant: MerchantId,
    more: i64,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE trust_tally SET delivered = delivered + $2 WHERE merchant_id = $1",
        merchant as MerchantId,
        more,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Sets the delivered orders of a store.
pub(crate) async fn set_delivered(
    work: &mut Work,
    merchant: MerchantId,
    delivered: i64,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE trust_tally SET delivered = $2 WHERE merchant_id = $1",
        merchant as MerchantId,
        delivered,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// The delivered orders of a store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeliveredTotal {
    /// As the tally has them.
    pub(crate) stored: i64,
    /// As the facts of days before a day and the rows since then have them.
    pub(crate) counted: i64,
}

/// Counts the delivered orders of a store: before a day from the facts, which are kept, and since then from the rows, so that
/// facts that are not in the rows yet are not counted twice later.
pub(crate) async fn count_delivered(
    sql: &mut PgConnection,
    merchant: MerchantId,
    since: Day,
) -> sqlx::Result<DeliveredTotal> {
    sqlx::query_as!(
        DeliveredTotal,
        r#"SELECT coalesce((SELECT delivered FROM trust_tally WHERE merchant_id = $1), 0) AS "stored!",
                  (SELECT count(*)
                   FROM order_history AS entry
                   JOIN placed_order AS placed USING (merchant_id, order_id)
                   JOIN platform.agent_key AS owned ON owned.key_id = placed.agent_key_id
                   WHERE entry.merchant_id = $1 AND entry.occurred_at < $2
                     AND entry.kind = 'status_changed' AND entry.status = 'delivered'
                     AND NOT placed.is_sandbox AND owned.user_id IS NOT NULL)
                  + (SELECT coalesce(sum(delivered), 0)::bigint FROM trust_agent_day
                     WHERE merchant_id = $1 AND day >= DATE '1970-01-01' + $3::int) AS "counted!""#,
        merchant as MerchantId,
        since.start() as Timestamp,
        since.0,
    )
    .fetch_one(sql)
    .await
}
