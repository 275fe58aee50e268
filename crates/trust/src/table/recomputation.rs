//! Stores whose score is computed outside of the schedule.

use database::Work;
use jobs::SweepRow;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

/// Marks stores, to be computed at a time. One that is marked stays due when it was, with a new mark.
pub(crate) async fn mark(
    work: &mut Work,
    stores: &[MerchantId],
    due_at: Timestamp,
) -> sqlx::Result<()> {
    let mark = work.new_id::<MerchantId>().uuid();
    sqlx::query!(
        "INSERT INTO trust_recomputation (merchant_id, due_at, mark)
         SELECT DISTINCT marked.merchant_id, $2::timestamptz, $3::uuid FROM unnest($1::uuid[]) AS marked (merchant_id)
         ORDER BY marked.merchant_id
         ON CONFLICT (merchant_id) DO UPDATE SET mark = excluded.mark",
        stores as &[MerchantId],
        due_at as Timestamp,
        mark,
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

/// Returns the mark of a store, if it is due.
pub(crate) async fn due_mark(
    sql: &mut PgConnection,
    merchant: MerchantId,
    now: Timestamp,
) -> sqlx::Result<Option<Uuid>> {
    sqlx::query_scalar!(
        "SELECT mark FROM trust_recomputation WHERE merchant_id = $1 AND due_at <= $2",
        merchant as MerchantId,
        now as Timestamp,
    )
    .fetch_optional(sql)
    .await
}

/// Removes the mark of a store. One that was marked again since the mark was read is due at `again_at`. Returns whether the store
/// is marked at all: otherwise another run has computed its score.
pub(crate) async fn settle(
    work: &mut Work,
    merchant: MerchantId,
    mark: Uuid,
    again_at: Timestamp,
) -> sqlx::Result<bool> {
    let removed = sqlx::query!(
        "DELETE FROM trust_recomputation WHERE merchant_id = $1 AND mark = $2",
        merchant as MerchantId,
        mark,
    )
    .execute(work.sql())
    .await?;
    Ok(removed.rows_affected() > 0 || postpone(work, merchant, again_at).await?)
}

/// Sets when a store that is marked is due. Returns whether it is marked.
pub(crate) async fn postpone(
    work: &mut Work,
    merchant: MerchantId,
    due_at: Timestamp,
) -> sqlx::Result<bool> {
    let postponed = sqlx::query!(
        "UPDATE trust_recomputation SET due_at = $2 WHERE merchant_id = $1",
        merchant as MerchantId,
        due_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(postponed.rows_affected() > 0)
}
