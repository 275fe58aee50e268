//! Shards: their leases and published versions.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::generation::GenerationState;
use crate::manifest::ShardId;

/// A shard of a generation that is being built or serving.
#[derive(Debug, Clone)]
pub(crate) struct ShardRow {
    pub(crate) generation: i32,
    pub(crate) shard: i16,
    /// State of the generation.
    pub(crate) state: GenerationState,
    pub(crate) virtual_from: i16,
    pub(crate) virtual_to: i16,
    /// Checksum of the published manifest; `None` before the first publication.
    pub(crate) manifest: Option<String>,
    /// Every change committed before this time is published; written by the holder of the lease.
    pub(crate) caught_up_at: Option<Timestamp>,
    /// The same for the changes of all stores but the `bulk_merchants`.
    pub(crate) small_caught_up_at: Option<Timestamp>,
    /// Stores whose changes wait in bulk.
    pub(crate) bulk_merchants: Vec<MerchantId>,
}

impl ShardRow {
    pub(crate) fn shard_id(&self) -> ShardId {
        ShardId { generation: self.generation, shard: self.shard }
    }
}

/// Returns all shards of the generations of a format that are being built or serving, in order. Fails if a state is
/// unknown.
pub(crate) async fn shards(sql: &mut PgConnection, format: i32) -> sqlx::Result<Vec<ShardRow>> {
    let rows = sqlx::query!(
        r#"SELECT generation, shard, state, virtual_from, virtual_to, manifest,
                  caught_up_at AS "caught_up_at: Timestamp",
                  small_caught_up_at AS "small_caught_up_at: Timestamp",
                  bulk_merchants AS "bulk_merchants: Vec<MerchantId>"
           FROM platform.search_generation JOIN platform.search_shard USING (generation)
           WHERE format = $1 AND state <> 'retired'
           ORDER BY generation, shard"#,
        format,
    )
    .fetch_all(sql)
    .await?;
    let mut shards = Vec::with_capacity(rows.len());
    for row in rows {
        let state = row.state.parse::<GenerationState>().map_err(|error| {
            sqlx::Error::ColumnDecode { index: String::from("state"), source: Box::new(error) }
        })?;
        shards.push(ShardRow {
            generation: row.generation,
            shard: row.shard,
            state,
            virtual_from: row.virtual_from,
            virtual_to: row.virtual_to,
            manifest: row.manifest,
            caught_up_at: row.caught_up_at,
            small_caught_up_at: row.small_caught_up_at,
            bulk_merchants: row.bulk_merchants,
        });
    }
    Ok(shards)
}

/// A shard whose lease was acquired.
#[derive(Debug, Clone)]
pub(crate) struct LeasedShard {
    pub(crate) virtual_from: i16,
    pub(crate) virtual_to: i16,
    pub(crate) version: i64,
    pub(crate) manifest: Option<String>,
}

/// Acquires the lease on a shard for a new token, which excludes the previous holder. Returns `None` if the lease is
/// held or the generation is retired.
pub(crate) async fn acquire_lease(
    work: &mut Work,
    shard_id: ShardId,
    token: Uuid,
    until: Timestamp,
) -> sqlx::Result<Option<LeasedShard>> {
    let now = work.now();
    sqlx::query_as!(
        LeasedShard,
        "UPDATE platform.search_shard AS shard SET lease_token = $3, lease_until = $4
         FROM platform.search_generation AS whole
         WHERE shard.generation = $1 AND shard.shard = $2
           AND (lease_until IS NULL OR lease_until <= $5)
           AND whole.generation = shard.generation AND whole.state <> 'retired'
         RETURNING virtual_from, virtual_to, version, manifest",
        shard_id.generation,
        shard_id.shard,
        token,
        until as Timestamp,
        now as Timestamp,
    )
    .fetch_optional(work.sql())
    .await
}

/// What a renewal reads for the holder of the lease.
#[derive(Debug, Clone)]
pub(crate) struct LeaseRenewal {
    pub(crate) damage_seen_at: Option<Timestamp>,
}

/// The times before which every committed change is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaughtUpTimes {
    /// Of all stores.
    pub(crate) all: Timestamp,
    /// Of all stores but the `bulk_merchants`.
    pub(crate) small: Timestamp,
    /// Stores whose changes wait in bulk.
    pub(crate) bulk_merchants: Vec<MerchantId>,
}

/// Renews a lease, and stores the times up to which changes are published. Returns `None` if another writer acquired
/// the lease or the generation is retired.
pub(crate) async fn renew_lease(
    work: &mut Work,
    shard_id: ShardId,
    token: Uuid,
    until: Timestamp,
    caught_up: Option<&CaughtUpTimes>,
) -> sqlx::Result<Option<LeaseRenewal>> {
    let merchants = caught_up.map(|caught_up| {
        let merchants = caught_up.bulk_merchants.iter().map(|merchant| merchant.uuid());
        merchants.collect::<Vec<Uuid>>()
    });
    sqlx::query_as!(
        LeaseRenewal,
        r#"UPDATE platform.search_shard AS shard
           SET lease_until = $4, caught_up_at = greatest(caught_up_at, $5),
               small_caught_up_at = greatest(small_caught_up_at, $6),
               bulk_merchants = coalesce($7::uuid[], bulk_merchants)
           FROM platform.search_generation AS whole
           WHERE shard.generation = $1 AND shard.shard = $2 AND lease_token = $3
             AND whole.generation = shard.generation AND whole.state <> 'retired'
           RETURNING damage_seen_at AS "damage_seen_at: Timestamp""#,
        shard_id.generation,
        shard_id.shard,
        token,
        until as Timestamp,
        caught_up.map(|caught_up| caught_up.all) as Option<Timestamp>,
        caught_up.map(|caught_up| caught_up.small) as Option<Timestamp>,
        merchants.as_deref(),
    )
    .fetch_optional(work.sql())
    .await
}

/// Releases a lease before its expiry, so that the next writer need not wait.
pub(crate) async fn release_lease(
    work: &mut Work,
    shard_id: ShardId,
    token: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.search_shard SET lease_token = NULL, lease_until = NULL
         WHERE generation = $1 AND shard = $2 AND lease_token = $3",
        shard_id.generation,
        shard_id.shard,
        token,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Locks the row of a lease until the end of the transaction. Returns whether the token still holds the lease.
pub(crate) async fn lock_lease(
    work: &mut Work,
    shard_id: ShardId,
    token: Uuid,
) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        "SELECT version FROM platform.search_shard
         WHERE generation = $1 AND shard = $2 AND lease_token = $3 FOR UPDATE",
        shard_id.generation,
        shard_id.shard,
        token,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(found.is_some())
}

/// A new version of a shard.
#[derive(Debug, Clone)]
pub(crate) struct Publication<'new> {
    pub(crate) shard_id: ShardId,
    pub(crate) token: Uuid,
    /// The version it is based on.
    pub(crate) built_on: i64,
    pub(crate) manifest: &'new str,
    /// Whether all its objects were verified, so that reported damage is cleared.
    pub(crate) is_repaired: bool,
}

/// Publishes a new version. Returns whether the writer still held the lease at this time and nothing was published
/// since the version it is based on; otherwise nothing changes.
pub(crate) async fn publish(
    work: &mut Work,
    publication: &Publication<'_>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let published = sqlx::query!(
        "UPDATE platform.search_shard
         SET version = version + 1, manifest = $5, published_at = $6,
             damage_seen_at = CASE WHEN $7 THEN NULL ELSE damage_seen_at END
         WHERE generation = $1 AND shard = $2 AND lease_token = $3 AND version = $4
           AND lease_until > $6",
        publication.shard_id.generation,
        publication.shard_id.shard,
        publication.token,
        publication.built_on,
        publication.manifest,
        now as Timestamp,
        publication.is_repaired,
    )
    .execute(work.sql())
    .await?;
    Ok(published.rows_affected() == 1)
}

/// Reports to the writer that the published version is damaged, unless it has been replaced already.
pub(crate) async fn report_damage(
    work: &mut Work,
    shard_id: ShardId,
    manifest: &str,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE platform.search_shard SET damage_seen_at = $4
         WHERE generation = $1 AND shard = $2 AND manifest = $3 AND damage_seen_at IS NULL",
        shard_id.generation,
        shard_id.shard,
        manifest,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
