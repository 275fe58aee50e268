//! Counts of what waits.

use primitives::Timestamp;
use sqlx::PgConnection;

use crate::Backlog;

/// Counts disputes under review, and returns requested until a time that were not answered. The order is looked up for each row that
/// is counted: a join would read all of them.
pub(crate) async fn backlog(
    sql: &mut PgConnection,
    now: Timestamp,
    until: Timestamp,
) -> sqlx::Result<Backlog> {
    sqlx::query_as!(
        Backlog,
        r#"SELECT dispute.under_review AS "disputes_under_review!", dispute.overdue AS "disputes_overdue!",
                  unanswered.returns AS "returns_unanswered!"
           FROM (SELECT count(*) AS under_review, count(*) FILTER (WHERE decide_by <= $1) AS overdue
                 FROM (SELECT decide_by FROM order_dispute AS it
                       WHERE status = 'under_review'
                         AND (SELECT NOT is_sandbox FROM placed_order AS placed
                              WHERE (placed.merchant_id, placed.order_id) = (it.merchant_id, it.order_id))
                       ORDER BY decide_by LIMIT 1000) AS it) AS dispute,
                (SELECT count(*) AS returns
                 FROM (SELECT FROM order_return AS it
                       WHERE status = 'requested' AND requested_at <= $2
                         AND (SELECT NOT is_sandbox FROM placed_order AS placed
                              WHERE (placed.merchant_id, placed.order_id) = (it.merchant_id, it.order_id))
                       ORDER BY requested_at LIMIT 1000) AS it) AS unanswered"#,
        now as Timestamp,
        until as Timestamp,
    )
    .fetch_one(sql)
    .await
}
