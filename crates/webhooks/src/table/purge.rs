//! Deleting what is kept no longer.

use database::Work;
use primitives::{EndpointId, MerchantId, Timestamp};

/// Deletes former secrets that sign nothing any more.
pub(crate) async fn former_secrets(work: &mut Work) -> sqlx::Result<()> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE webhook_endpoint SET former_secret = NULL, former_secret_until = NULL
         WHERE (merchant_id, endpoint_id) IN (SELECT merchant_id, endpoint_id FROM webhook_endpoint
                                              WHERE former_secret_until < $1 FOR NO KEY UPDATE SKIP LOCKED)",
        now as Timestamp,
    );
    done.execute(work.sql()).await.map(drop)
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

/// Deletes deliveries of old events, pending ones and dead letters, whether their endpoint exists or not. The endpoints that have
/// deliveries are found one after another by the key, and the rows are deleted at their place: no others are read to find the old ones.
pub(crate) async fn deliveries(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "WITH RECURSIVE endpoint AS (
             (SELECT merchant_id, endpoint_id FROM webhook_delivery ORDER BY merchant_id, endpoint_id LIMIT 1)
             UNION ALL
             SELECT next.merchant_id, next.endpoint_id
             FROM endpoint
             CROSS JOIN LATERAL (
                 SELECT merchant_id, endpoint_id FROM webhook_delivery
                 WHERE (merchant_id, endpoint_id) > (endpoint.merchant_id, endpoint.endpoint_id)
                 ORDER BY merchant_id, endpoint_id LIMIT 1) AS next
         )
         DELETE FROM webhook_delivery
         WHERE ctid = ANY (ARRAY(
             SELECT old.place
             FROM endpoint
             CROSS JOIN LATERAL (
                 SELECT ctid AS place FROM webhook_delivery
                 WHERE merchant_id = endpoint.merchant_id AND endpoint_id = endpoint.endpoint_id AND event_at < $1
                 ORDER BY event_at LIMIT $2) AS old
             LIMIT $2))",
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
         WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM webhook_delivery
             WHERE merchant_id = $1 AND endpoint_id = $2 ORDER BY event_at, event_id LIMIT $3))",
        merchant as MerchantId,
        endpoint as EndpointId,
        limit,
    );
    Ok(done.execute(work.sql()).await?.rows_affected())
}
