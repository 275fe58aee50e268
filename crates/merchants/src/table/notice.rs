//! Notices to merchants.

use database::Work;
use primitives::{MerchantId, NoticeId, Timestamp};
use serde_json::Value;
use sqlx::PgConnection;

use crate::notice::{Notice, NoticeKind};

pub(crate) async fn insert_notice(
    work: &mut Work,
    merchant: MerchantId,
    notice: &Notice,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO merchant_notice (merchant_id, notice_id, kind, details, created_at)
         VALUES ($1, $2, $3, $4, $5)",
        merchant as MerchantId,
        notice.id as NoticeId,
        notice.kind.as_str(),
        Value::Object(notice.details.clone()),
        notice.created_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns notices before a position, newest first, each with its position. A notice that this version cannot read is
/// logged and left out.
pub(crate) async fn notices(
    sql: &mut PgConnection,
    merchant: MerchantId,
    before: i64,
    limit: i64,
) -> sqlx::Result<Vec<(i64, Option<Notice>)>> {
    let rows = sqlx::query!(
        r#"SELECT position, notice_id AS "id: NoticeId", kind, details, created_at AS "created_at: Timestamp"
           FROM merchant_notice WHERE merchant_id = $1 AND position < $2
           ORDER BY position DESC LIMIT $3"#,
        merchant as MerchantId,
        before,
        limit,
    )
    .fetch_all(sql)
    .await?;
    let notice = |id: NoticeId, kind: &str, details: Value, created_at| {
        let (Some(kind), Value::Object(details)) = (NoticeKind::parse(kind), details) else {
            tracing::error!(%id, kind, "a notice cannot be read and is left out");
            return None;
        };
        Some(Notice { id, kind, details, created_at })
    };
    let row = rows
        .into_iter()
        .map(|row| (row.position, notice(row.id, &row.kind, row.details, row.created_at)));
    Ok(row.collect())
}

/// Returns the number of notices of a store.
pub(crate) async fn count_notices(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM merchant_notice WHERE merchant_id = $1"#,
        merchant as MerchantId,
    )
    .fetch_one(sql)
    .await
}

/// Deletes notices that were posted before a time.
pub(crate) async fn delete_notices(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let deleted = sqlx::query!(
        "DELETE FROM merchant_notice WHERE (merchant_id, position) IN (
             SELECT merchant_id, position FROM merchant_notice
             WHERE created_at < $1 ORDER BY created_at LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(deleted.rows_affected())
}
