//! How far the scores of an epoch are computed.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::Epoch;

/// An epoch of which scores are to be computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenEpoch {
    pub(crate) epoch: Epoch,
    /// All stores with an id up to this one are done; `None`: none is.
    pub(crate) position: Option<Uuid>,
}

/// Adds the epochs since the newest known one, but none before `oldest`. If none is known, the current one is the first.
pub(crate) async fn add(work: &mut Work, oldest: Epoch, current: Epoch) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO trust_epoch (epoch, updated_at)
         SELECT missing, $3
         FROM generate_series(
             greatest($1::bigint, (SELECT coalesce(max(epoch) + 1, $2) FROM trust_epoch)), $2::bigint) AS missing
         ON CONFLICT (epoch) DO NOTHING",
        oldest.0,
        current.0,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the epochs from `oldest` on that are not done, the oldest first.
pub(crate) async fn open(sql: &mut PgConnection, oldest: Epoch) -> sqlx::Result<Vec<OpenEpoch>> {
    let rows = sqlx::query!(
        "SELECT epoch, position FROM trust_epoch
         WHERE epoch >= $1 AND (position IS NULL OR position < $2) ORDER BY epoch",
        oldest.0,
        Uuid::max(),
    )
    .fetch_all(sql)
    .await?;
    let open = rows.into_iter().map(|row| (Epoch(row.epoch), row.position));
    Ok(open.map(|(epoch, position)| OpenEpoch { epoch, position }).collect())
}

/// Returns the newest epoch that is known.
pub(crate) async fn newest(sql: &mut PgConnection) -> sqlx::Result<Option<Epoch>> {
    let newest = sqlx::query_scalar!("SELECT max(epoch) FROM trust_epoch").fetch_one(sql).await?;
    Ok(newest.map(Epoch))
}

/// Records that all stores with an id up to this one have a score of the epoch.
pub(crate) async fn advance(work: &mut Work, epoch: Epoch, position: Uuid) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE trust_epoch SET position = $2, updated_at = $3
         WHERE epoch = $1 AND (position IS NULL OR position < $2)",
        epoch.0,
        position,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns stores with an id after `after` and up to `last` that existed at a time and have catalog figures, in the order of
/// their ids.
pub(crate) async fn stores(
    sql: &mut PgConnection,
    (after, last): (Option<Uuid>, Uuid),
    existed_at: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<MerchantId>> {
    // No store has the id 0.
    let after = after.unwrap_or(Uuid::nil());
    sqlx::query_scalar!(
        r#"SELECT store.merchant_id AS "merchant: MerchantId"
           FROM store JOIN catalog_quality AS quality ON quality.merchant_id = store.merchant_id
           WHERE store.merchant_id > $1 AND store.merchant_id <= $2
             AND quality.merchant_id > $1 AND quality.merchant_id <= $2 AND store.member_since <= $3
           ORDER BY store.merchant_id LIMIT $4"#,
        after,
        last,
        existed_at as Timestamp,
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns stores with an id after `after`, in the order of their ids.
pub(crate) async fn all_stores(
    sql: &mut PgConnection,
    after: Option<Uuid>,
    limit: i64,
) -> sqlx::Result<Vec<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM store
           WHERE merchant_id > $1 ORDER BY merchant_id LIMIT $2"#,
        after.unwrap_or(Uuid::nil()),
        limit,
    )
    .fetch_all(sql)
    .await
}
