//! Webhooks of payment processors.

use database::Work;
use primitives::{MerchantId, Timestamp};

use crate::ProviderName;

/// Inserts a webhook. Returns `false` if it was received before.
pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    provider: ProviderName,
    event: &str,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "INSERT INTO payment_webhook (merchant_id, provider, event, received_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING",
        merchant as MerchantId,
        provider.as_str(),
        event,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Deletes webhooks that were received before a timestamp. Returns their number.
pub(crate) async fn delete_before(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM payment_webhook WHERE (merchant_id, provider, event) IN (
             SELECT merchant_id, provider, event FROM payment_webhook WHERE received_at < $1
             ORDER BY received_at LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}
