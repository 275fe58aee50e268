//! Idempotency keys.

use database::Work;
use primitives::{MerchantId, Timestamp};
use serde_json::Value;

use crate::IdempotencyKey;

pub(crate) async fn claim_key(work: &mut Work, key: &IdempotencyKey) -> sqlx::Result<bool> {
    let now = work.now();
    let inserted = sqlx::query!(
        "INSERT INTO idempotency (merchant_id, caller, key, request_hash, created_at)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
        key.merchant as MerchantId,
        key.caller,
        key.key,
        key.request_hash,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub(crate) async fn find_key(
    work: &mut Work,
    key: &IdempotencyKey,
) -> sqlx::Result<Option<(Vec<u8>, Option<Value>)>> {
    let row = sqlx::query!(
        "SELECT request_hash, answer FROM idempotency
         WHERE merchant_id = $1 AND caller = $2 AND key = $3",
        key.merchant as MerchantId,
        key.caller,
        key.key,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(row.map(|row| (row.request_hash, row.answer)))
}

pub(crate) async fn record_response(
    work: &mut Work,
    key: &IdempotencyKey,
    response: &Value,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE idempotency SET answer = $4 WHERE merchant_id = $1 AND caller = $2 AND key = $3",
        key.merchant as MerchantId,
        key.caller,
        key.key,
        response,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn purge_keys(work: &mut Work, before: Timestamp, limit: i64) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM idempotency WHERE (merchant_id, caller, key) IN (
             SELECT merchant_id, caller, key FROM idempotency WHERE created_at < $1 LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
