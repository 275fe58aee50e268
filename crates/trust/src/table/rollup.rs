//! Rows of days: facts counted by store, day and account, and what is counted over all days.

mod delivered;
mod facts;
mod stale;

use database::Work;
use futures::TryStreamExt;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{AccountRef, AgentDay, Day, DayCounts};

pub(crate) use delivered::{
    Delivered, add_deliveries_before, count_delivered, delivered_after, replace_delivered,
    set_delivered,
};
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
    lasting: i32,
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
            lasting: row.lasting.unsigned_abs(),
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

/// Reads the rows of stores between two days, both included, one after the other: in the order of store, account and day, at
/// most `limit`.
pub(crate) async fn read_days(
    sql: &mut PgConnection,
    merchants: &[MerchantId],
    (first, last): (Day, Day),
    limit: Option<i64>,
    days: &mut impl Extend<(MerchantId, AgentDay)>,
) -> sqlx::Result<()> {
    let mut rows = sqlx::query_as!(
        Row,
        r#"SELECT merchant_id AS "merchant: MerchantId", day - DATE '1970-01-01' AS "day!", account_id AS account,
                  started, completed, lasting, kept, orders, amount_minor, in_stock, out_of_stock, on_time, late,
                  delivered, price_equal, price_different, disputes_lost
           FROM trust_agent_day
           WHERE merchant_id = ANY ($1)
             AND day >= DATE '1970-01-01' + $2::int AND day <= DATE '1970-01-01' + $3::int
           ORDER BY merchant_id, account_id, day LIMIT $4"#,
        merchants as &[MerchantId],
        first.0,
        last.0,
        limit,
    )
    .fetch(sql);
    while let Some(row) = rows.try_next().await? {
        days.extend(Some((row.merchant, row.into())));
    }
    Ok(())
}

/// Returns the rows of one store between two days, both included, ordered by account and day.
pub(crate) async fn stored_days(
    sql: &mut PgConnection,
    merchant: MerchantId,
    days: (Day, Day),
) -> sqlx::Result<Vec<AgentDay>> {
    let mut rows: Vec<(MerchantId, AgentDay)> = Vec::new();
    read_days(sql, &[merchant], days, None, &mut rows).await?;
    Ok(rows.into_iter().map(|(_, row)| row).collect())
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
             (merchant_id, day, account_id, started, completed, lasting, kept, orders, amount_minor, in_stock,
              out_of_stock, on_time, late, delivered, price_equal, price_different, disputes_lost)
         SELECT $1::uuid, DATE '1970-01-01' + counted.day, counted.account_id, counted.started, counted.completed,
                counted.lasting, counted.kept, counted.orders, counted.amount_minor, counted.in_stock,
                counted.out_of_stock, counted.on_time, counted.late, counted.delivered, counted.price_equal,
                counted.price_different, counted.disputes_lost
         FROM unnest($2::int[], $3::uuid[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[], $9::bigint[],
                     $10::int[], $11::int[], $12::int[], $13::int[], $14::int[], $15::int[], $16::int[], $17::int[])
              AS counted (day, account_id, started, completed, lasting, kept, orders, amount_minor, in_stock,
                          out_of_stock, on_time, late, delivered, price_equal, price_different, disputes_lost)",
        merchant as MerchantId,
        &days,
        &accounts,
        &column(|it| it.started),
        &column(|it| it.completed),
        &column(|it| it.lasting),
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

/// Deletes rows of days before one, of all stores, at most `limit`, and returns their number.
pub(crate) async fn purge_days(work: &mut Work, before: Day, limit: i64) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM trust_agent_day WHERE ctid IN
             (SELECT ctid FROM trust_agent_day WHERE day < DATE '1970-01-01' + $1::int ORDER BY day LIMIT $2)",
        before.0,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
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
