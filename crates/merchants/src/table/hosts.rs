//! Hosts to which a store may send people to pay.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;

/// Returns the hosts in alphabetical order.
pub(crate) async fn hosts(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "SELECT host FROM store_host WHERE merchant_id = $1 ORDER BY host",
        merchant as MerchantId,
    )
    .fetch_all(sql)
    .await
}

/// Allows a host. Returns false if it was allowed before.
pub(crate) async fn allow_host(
    work: &mut Work,
    merchant: MerchantId,
    host: &str,
) -> sqlx::Result<bool> {
    let now = work.now();
    let added = sqlx::query!(
        "INSERT INTO store_host (merchant_id, host, allowed_at) VALUES ($1, $2, $3)
         ON CONFLICT DO NOTHING",
        merchant as MerchantId,
        host,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(added.rows_affected() == 1)
}

/// Removes a host. Returns false if it was not allowed.
pub(crate) async fn disallow_host(
    work: &mut Work,
    merchant: MerchantId,
    host: &str,
) -> sqlx::Result<bool> {
    let removed = sqlx::query!(
        "DELETE FROM store_host WHERE merchant_id = $1 AND host = $2",
        merchant as MerchantId,
        host,
    )
    .execute(work.sql())
    .await?;
    Ok(removed.rows_affected() == 1)
}
