//! All SQL of this crate.

use database::Work;
use primitives::{KeyId, MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::StoreKey;
use crate::secret::Mac;

pub(crate) async fn insert_store_key(
    work: &mut Work,
    merchant: MerchantId,
    mac: &Mac,
    key: &StoreKey,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO platform.store_key
             (key_id, mac, merchant_id, prefix, name, created_at, expires_at, revoked_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        key.key_id as KeyId,
        mac.as_slice(),
        merchant as MerchantId,
        key.prefix,
        key.name,
        key.created_at as Timestamp,
        key.expires_at as Option<Timestamp>,
        key.revoked_at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Answers whether the store has such a key. The first moment of revoking stays.
pub(crate) async fn revoke_store_key(
    work: &mut Work,
    merchant: MerchantId,
    key: KeyId,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE platform.store_key SET revoked_at = coalesce(revoked_at, $3)
         WHERE key_id = $1 AND merchant_id = $2",
        key as KeyId,
        merchant as MerchantId,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() > 0)
}

pub(crate) async fn store_keys(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Vec<StoreKey>> {
    sqlx::query_as!(
        StoreKey,
        r#"SELECT key_id AS "key_id: KeyId", prefix, name, created_at AS "created_at: Timestamp",
                  expires_at AS "expires_at: Timestamp", revoked_at AS "revoked_at: Timestamp"
           FROM platform.store_key WHERE merchant_id = $1
           ORDER BY created_at DESC, key_id LIMIT 1000"#,
        merchant as MerchantId,
    )
    .fetch_all(sql)
    .await
}

/// Whose key this is, if it works at this moment.
pub(crate) async fn merchant_of(
    sql: &mut PgConnection,
    mac: &Mac,
    now: Timestamp,
) -> sqlx::Result<Option<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM platform.store_key
           WHERE mac = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)"#,
        mac.as_slice(),
        now as Timestamp,
    )
    .fetch_optional(sql)
    .await
}
