//! The shards of indexes: their leases, and what is published of them.

use database::Work;
use primitives::Timestamp;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::generation::State;
use crate::manifest::Place;

/// A shard of a generation that is in use.
#[derive(Debug, Clone)]
pub(crate) struct ShardRow {
    pub(crate) generation: i32,
    pub(crate) shard: i16,
    pub(crate) state: String,
    pub(crate) virtual_from: i16,
    pub(crate) virtual_to: i16,
    pub(crate) manifest: Option<String>,
    pub(crate) caught_up_at: Option<Timestamp>,
}

impl ShardRow {
    pub(crate) fn place(&self) -> Place {
        Place { generation: self.generation, shard: self.shard }
    }

    pub(crate) fn state(&self) -> State {
        State::from_name(&self.state)
    }
}

/// All shards of the generations of a form that are built or serve, in order.
pub(crate) async fn shards(sql: &mut PgConnection, format: i32) -> sqlx::Result<Vec<ShardRow>> {
    sqlx::query_as!(
        ShardRow,
        r#"SELECT generation, shard, state, virtual_from, virtual_to, manifest,
                  caught_up_at AS "caught_up_at: Timestamp"
           FROM platform.search_generation JOIN platform.search_shard USING (generation)
           WHERE format = $1 AND state <> 'retired'
           ORDER BY generation, shard"#,
        format,
    )
    .fetch_all(sql)
    .await
}

/// What a lease was taken on.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) virtual_from: i16,
    pub(crate) virtual_to: i16,
    pub(crate) version: i64,
    pub(crate) manifest: Option<String>,
}

/// Takes the lease on a shard that nobody holds: for a new token, which shuts the last holder out.
pub(crate) async fn take_lease(
    work: &mut Work,
    place: Place,
    token: Uuid,
    until: Timestamp,
) -> sqlx::Result<Option<Held>> {
    let now = work.now();
    sqlx::query_as!(
        Held,
        "UPDATE platform.search_shard AS shard SET lease_token = $3, lease_until = $4
         FROM platform.search_generation AS whole
         WHERE shard.generation = $1 AND shard.shard = $2
           AND (lease_until IS NULL OR lease_until <= $5)
           AND whole.generation = shard.generation AND whole.state <> 'retired'
         RETURNING virtual_from, virtual_to, version, manifest",
        place.generation,
        place.shard,
        token,
        until as Timestamp,
        now as Timestamp,
    )
    .fetch_optional(work.sql())
    .await
}

/// What the holder of a lease hears when it renews it.
#[derive(Debug, Clone)]
pub(crate) struct Beat {
    pub(crate) damage_seen_at: Option<Timestamp>,
}

/// Renews a lease, and tells how far what is published has come. Nothing, if the lease was taken by
/// another or the generation is retired.
pub(crate) async fn renew_lease(
    work: &mut Work,
    place: Place,
    token: Uuid,
    until: Timestamp,
    caught_up: Option<Timestamp>,
) -> sqlx::Result<Option<Beat>> {
    sqlx::query_as!(
        Beat,
        r#"UPDATE platform.search_shard AS shard
           SET lease_until = $4, caught_up_at = greatest(caught_up_at, $5)
           FROM platform.search_generation AS whole
           WHERE shard.generation = $1 AND shard.shard = $2 AND lease_token = $3
             AND whole.generation = shard.generation AND whole.state <> 'retired'
           RETURNING damage_seen_at AS "damage_seen_at: Timestamp""#,
        place.generation,
        place.shard,
        token,
        until as Timestamp,
        caught_up as Option<Timestamp>,
    )
    .fetch_optional(work.sql())
    .await
}

/// Ends a lease before its time, so that the next writer need not wait.
pub(crate) async fn release_lease(work: &mut Work, place: Place, token: Uuid) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.search_shard SET lease_token = NULL, lease_until = NULL
         WHERE generation = $1 AND shard = $2 AND lease_token = $3",
        place.generation,
        place.shard,
        token,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Holds the row of a lease until the end of the work. Says whether the lease is still good.
pub(crate) async fn step_lease(work: &mut Work, place: Place, token: Uuid) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        "SELECT version FROM platform.search_shard
         WHERE generation = $1 AND shard = $2 AND lease_token = $3 FOR UPDATE",
        place.generation,
        place.shard,
        token,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(found.is_some())
}

/// A new state of a shard, about to be in force.
#[derive(Debug, Clone)]
pub(crate) struct Publication<'new> {
    pub(crate) place: Place,
    pub(crate) token: Uuid,
    /// The version it was built on.
    pub(crate) built_on: i64,
    pub(crate) manifest: &'new str,
    /// All of its objects were looked at.
    pub(crate) is_mended: bool,
}

/// Puts a new state in force, if the writer still holds the lease at this moment and nothing was
/// published since the state it built on.
pub(crate) async fn publish(
    work: &mut Work,
    publication: &Publication<'_>,
    moment: Timestamp,
) -> sqlx::Result<bool> {
    let published = sqlx::query!(
        "UPDATE platform.search_shard
         SET version = version + 1, manifest = $5, published_at = $6,
             damage_seen_at = CASE WHEN $7 THEN NULL ELSE damage_seen_at END
         WHERE generation = $1 AND shard = $2 AND lease_token = $3 AND version = $4
           AND lease_until > $6",
        publication.place.generation,
        publication.place.shard,
        publication.token,
        publication.built_on,
        publication.manifest,
        moment as Timestamp,
        publication.is_mended,
    )
    .execute(work.sql())
    .await?;
    Ok(published.rows_affected() == 1)
}

/// Tells the writer that what is published cannot be read. Not about what is replaced already.
pub(crate) async fn report_damage(
    work: &mut Work,
    place: Place,
    manifest: &str,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE platform.search_shard SET damage_seen_at = $4
         WHERE generation = $1 AND shard = $2 AND manifest = $3 AND damage_seen_at IS NULL",
        place.generation,
        place.shard,
        manifest,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
