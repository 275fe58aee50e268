//! Store keys.

use std::collections::BTreeSet;

use database::Work;
use primitives::{KeyId, MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::secret::Mac;
use crate::table::parse_name;
use crate::{StoreKey, StoreProgram, StoreScope};

fn scopes(names: &[String]) -> sqlx::Result<BTreeSet<StoreScope>> {
    names.iter().map(|name| parse_name(name)).collect()
}

pub(crate) async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    mac: &Mac,
    key: &StoreKey,
) -> sqlx::Result<()> {
    let scopes: Vec<String> = key.scopes.iter().map(|scope| scope.as_str().to_owned()).collect();
    sqlx::query!(
        "INSERT INTO platform.store_key
             (key_id, mac, merchant_id, prefix, name, created_at, expires_at, revoked_at, scopes)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        key.key_id as KeyId,
        mac.as_slice(),
        merchant as MerchantId,
        key.prefix,
        key.name,
        key.created_at as Timestamp,
        key.expires_at as Option<Timestamp>,
        key.revoked_at as Option<Timestamp>,
        &scopes,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Revokes a key. Returns `false` if it was already revoked, and `None` if the store has no such key.
pub(crate) async fn revoke(
    work: &mut Work,
    merchant: MerchantId,
    key: KeyId,
) -> sqlx::Result<Option<bool>> {
    let now = work.now();
    sqlx::query_scalar!(
        r#"UPDATE platform.store_key AS now_ended SET revoked_at = coalesce(former.revoked_at, $3)
           FROM (SELECT key_id, revoked_at FROM platform.store_key
                 WHERE key_id = $1 AND merchant_id = $2 FOR UPDATE) AS former
           WHERE now_ended.key_id = former.key_id
           RETURNING former.revoked_at IS NULL AS "worked!""#,
        key as KeyId,
        merchant as MerchantId,
        now as Timestamp,
    )
    .fetch_optional(work.sql())
    .await
}

pub(crate) async fn of_store(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Vec<StoreKey>> {
    let rows = sqlx::query!(
        r#"SELECT key_id AS "key_id: KeyId", prefix, name, scopes, created_at AS "created_at: Timestamp",
                  expires_at AS "expires_at: Timestamp", revoked_at AS "revoked_at: Timestamp"
           FROM platform.store_key WHERE merchant_id = $1
           ORDER BY created_at DESC, key_id LIMIT 1000"#,
        merchant as MerchantId,
    )
    .fetch_all(sql)
    .await?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in rows {
        keys.push(StoreKey {
            key_id: row.key_id,
            prefix: row.prefix,
            name: row.name,
            scopes: scopes(&row.scopes)?,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
        });
    }
    Ok(keys)
}

/// Returns the merchant of a key in any state.
pub(crate) async fn owner(work: &mut Work, key: KeyId) -> sqlx::Result<Option<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM platform.store_key WHERE key_id = $1"#,
        key as KeyId,
    )
    .fetch_optional(work.sql())
    .await
}

/// Returns the program of an active key, and the stored MAC.
pub(crate) async fn program_of(
    sql: &mut PgConnection,
    mac: &Mac,
    now: Timestamp,
) -> sqlx::Result<Option<(StoreProgram, Vec<u8>)>> {
    let row = sqlx::query!(
        r#"SELECT key_id AS "key: KeyId", merchant_id AS "merchant: MerchantId", scopes, mac
           FROM platform.store_key
           WHERE mac = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)"#,
        mac.as_slice(),
        now as Timestamp,
    )
    .fetch_optional(sql)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let scopes = scopes(&row.scopes)?;
    Ok(Some((StoreProgram { key: row.key, merchant: row.merchant, scopes }, row.mac)))
}
