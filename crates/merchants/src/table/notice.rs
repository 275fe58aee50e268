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
