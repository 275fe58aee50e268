//! Orders of sandboxes for which a job acts as the merchant.

use jobs::SweepRow;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;

/// Returns orders of sandboxes that were placed or shipped, or of which a return was requested, by this time, and that wait
/// for the next step since then; after a row, the oldest first.
pub(crate) async fn find_simulated(
    sql: &mut PgConnection,
    until: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant!: MerchantId", order_id AS "id!", due_at AS "due_at!: Timestamp"
           FROM (SELECT merchant_id, order_id, created_at AS due_at
                 FROM placed_order WHERE is_sandbox AND status = 'pending'
                 UNION ALL
                 SELECT merchant_id, order_id, max(shipped_at)
                 FROM placed_order JOIN order_fulfillment USING (merchant_id, order_id)
                 WHERE is_sandbox AND placed_order.status = 'shipped'
                 GROUP BY merchant_id, order_id
                 UNION ALL
                 SELECT merchant_id, order_id, min(requested_at)
                 FROM placed_order JOIN order_return USING (merchant_id, order_id)
                 WHERE is_sandbox AND placed_order.status = 'delivered'
                   AND order_return.status IN ('requested', 'approved', 'in_transit', 'received', 'inspected')
                 GROUP BY merchant_id, order_id) AS waiting
           WHERE due_at <= $1 AND ($2::timestamptz IS NULL OR (due_at, order_id) > ($2, $3))
           ORDER BY due_at, order_id LIMIT $4"#,
        until as Timestamp,
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
