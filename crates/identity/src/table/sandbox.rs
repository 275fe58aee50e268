//! Sandbox keys: agent keys without an account.

use database::Work;
use primitives::{KeyId, Timestamp};

use crate::secret::Mac;

/// Serializes the keys issued to one network until the work ends.
pub(crate) async fn lock_network(work: &mut Work, network: &Mac) -> sqlx::Result<()> {
    sqlx::query!(
        "SELECT pg_advisory_xact_lock(hashtextextended('sandbox/' || encode($1::bytea, 'hex'), 0))",
        network.as_slice(),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Revokes the keys of a network that work, except the newest ones. Revoked keys leave the index of the network's keys.
pub(crate) async fn end_oldest(work: &mut Work, network: &Mac, kept: i64) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE platform.agent_key SET revoked_at = $2, sandbox_network = NULL
           WHERE revoked_at IS NULL AND key_id IN
               (SELECT key_id FROM platform.agent_key
                WHERE sandbox_network = $1 AND revoked_at IS NULL AND expires_at > $2
                ORDER BY created_at DESC, key_id DESC OFFSET $3)",
        network.as_slice(),
        now as Timestamp,
        kept,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Records the network a key was issued to.
pub(crate) async fn set_network(work: &mut Work, key: KeyId, network: &Mac) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.agent_key SET sandbox_network = $2 WHERE key_id = $1",
        key as KeyId,
        network.as_slice(),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes expired sandbox keys.
pub(crate) async fn purge(work: &mut Work, limit: i64) -> sqlx::Result<u64> {
    let now = work.now();
    let deleted = sqlx::query!(
        "DELETE FROM platform.agent_key WHERE key_id IN
             (SELECT key_id FROM platform.agent_key WHERE user_id IS NULL AND expires_at <= $1 LIMIT $2)",
        now as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(deleted.rows_affected())
}
