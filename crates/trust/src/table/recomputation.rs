//! Stores whose score is computed outside of the schedule.

use database::Work;
use jobs::SweepRow;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;

/// Marks stores, to be computed at a time. One that is marked stays as it is. Waits for a computation that has taken the mark.
pub(crate) async fn mark(
    work: &mut Work,
    stores: &[MerchantId],
    due_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO trust_recomputation (merchant_id, due_at)
         SELECT DISTINCT marked.merchant_id, $2::timestamptz FROM unnest($1::uuid[]) AS marked (merchant_id)
         ORDER BY marked.merchant_id
         ON CONFLICT (merchant_id) DO NOTHING",
        stores as &[MerchantId],
        due_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns stores that are due, after a row, the oldest mark first.
pub(crate) async fn find_due(
    sql: &mut PgConnection,
    now: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", due_at AS "due_at: Timestamp"
           FROM trust_recomputation
           WHERE due_at <= $1 AND ($2::timestamptz IS NULL OR (due_at, merchant_id) > ($2, $3))
           ORDER BY due_at, merchant_id LIMIT $4"#,
        now as Timestamp,
        after.map(|row| row.due_at) as Option<Timestamp>,
        after.map(|row| row.id),
        limit,
    )
    .fetch_all(sql)
    .await?;
    let row = |merchant: MerchantId, due_at| SweepRow { merchant, id: merchant.uuid(), due_at };
    Ok(rows.into_iter().map(|it| row(it.merchant, it.due_at)).collect())
}

/// Removes the mark of a store that is due. Returns whether there was one.
pub(crate) async fn take(work: &mut Work, merchant: MerchantId) -> sqlx::Result<bool> {
    let now = work.now();
    let taken = sqlx::query!(
        "DELETE FROM trust_recomputation WHERE merchant_id = $1 AND due_at <= $2",
        merchant as MerchantId,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(taken.rows_affected() > 0)
}
