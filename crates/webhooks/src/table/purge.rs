//! Deleting what is kept no longer.

use database::Work;
use primitives::{EndpointId, MerchantId, Timestamp};

/// Deletes former secrets that sign nothing any more.
pub(crate) async fn former_secrets(work: &mut Work) -> sqlx::Result<u64> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE webhook_endpoint SET former_secret = NULL, former_secret_until = NULL
         WHERE (merchant_id, endpoint_id) IN (SELECT merchant_id, endpoint_id FROM webhook_endpoint
                                              WHERE former_secret_until < $1 FOR NO KEY UPDATE SKIP LOCKED)",
        now as Timestamp,
    );
    Ok(done.execute(work.sql()).await?.rows_affected())
}

/// What a bucket of the ring holds.
pub(crate) struct BucketAge {
    pub(crate) has_rows: bool,
    /// Whether it has rows that are to be kept.
    pub(crate) has_younger: bool,
}

/// Returns what a bucket holds.
pub(crate) async fn bucket(
    work: &mut Work,
    bucket: i16,
    before: Timestamp,
) -> sqlx::Result<BucketAge> {
    sqlx::query_as!(
        BucketAge,
        r#"SELECT EXISTS (SELECT FROM webhook_body WHERE bucket = $1)
                  OR EXISTS (SELECT FROM webhook_attempt WHERE bucket = $1) AS "has_rows!",
                  EXISTS (SELECT FROM webhook_body WHERE bucket = $1 AND created_at >= $2)
                  OR EXISTS (SELECT FROM webhook_attempt WHERE bucket = $1 AND attempted_at >= $2) AS "has_younger!""#,
        bucket,
        before as Timestamp,
    )
    .fetch_one(work.sql())
    .await
}

/// Empties a bucket, without reading its rows.
pub(crate) async fn empty_bucket(work: &mut Work, bucket: i16) -> sqlx::Result<()> {
    sqlx::query!("SELECT webhook_empty_bucket($1)", bucket).fetch_one(work.sql()).await?;
    Ok(())
}

/// Deletes events without their bodies, which are in the ring.
pub(crate) async fn events(work: &mut Work, before: Timestamp, limit: i64) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM webhook_event
         WHERE (merchant_id, event_id) IN (SELECT merchant_id, event_id FROM webhook_event
                                           WHERE created_at < $1 ORDER BY created_at LIMIT $2)",
        before as Timestamp,
        limit,
    );
    Ok(done.execute(work.sql()).await?.rows_affected())
}

pub(crate) async fn dead_letters(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM webhook_delivery
         WHERE (merchant_id, endpoint_id, event_at, event_id) IN (
             SELECT merchant_id, endpoint_id, event_at, event_id FROM webhook_delivery
             WHERE dead_at < $1 ORDER BY dead_at LIMIT $2)",
        before as Timestamp,
        limit,
    );
    Ok(done.execute(work.sql()).await?.rows_affected())
}

/// Deletes pending deliveries of events whose bodies are gone, such as those of endpoints that were disabled long ago.
pub(crate) async fn stale_deliveries(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM webhook_delivery
         WHERE (merchant_id, endpoint_id, event_at, event_id) IN (
             SELECT stale.merchant_id, stale.endpoint_id, stale.event_at, stale.event_id
             FROM webhook_endpoint AS endpoint
             CROSS JOIN LATERAL (
                 SELECT merchant_id, endpoint_id, event_at, event_id FROM webhook_delivery
                 WHERE merchant_id = endpoint.merchant_id AND endpoint_id = endpoint.endpoint_id
                   AND event_at < $1 AND dead_at IS NULL
                 LIMIT $2
             ) AS stale
             LIMIT $2)",
        before as Timestamp,
        limit,
    );
    Ok(done.execute(work.sql()).await?.rows_affected())
}

/// Deletes deliveries of an endpoint.
pub(crate) async fn deliveries_of(
    work: &mut Work,
    merchant: MerchantId,
    endpoint: EndpointId,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM webhook_delivery
         WHERE merchant_id = $1 AND endpoint_id = $2 AND (event_at, event_id) IN (
             SELECT event_at, event_id FROM webhook_delivery
             WHERE merchant_id = $1 AND endpoint_id = $2 ORDER BY event_at, event_id LIMIT $3)",
        merchant as MerchantId,
        endpoint as EndpointId,
        limit,
    );
    Ok(done.execute(work.sql()).await?.rows_affected())
}
