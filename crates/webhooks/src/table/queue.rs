//! Which dispatcher delivers for which store: leases, wakes, claims and releases.
//!
//! No transaction of a dispatcher waits for a row that another one has locked, which may be paused: such rows are
//! skipped and looked at again. Starts and results lock their stores with `FOR KEY SHARE`, and whoever takes a store
//! from its owner with `FOR UPDATE`, so that neither happens during the other. What changes the due time only, as a
//! wake does, hinders neither.

use std::collections::HashSet;

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

/// Inserts the lease of a dispatcher.
pub(crate) async fn insert_lease(
    work: &mut Work,
    owner: Uuid,
    until: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO webhook_worker (owner, lease_until) VALUES ($1, $2)",
        owner,
        until as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Extends a lease. Returns `false` if it has expired: others may have taken what it covered.
pub(crate) async fn renew_lease(
    work: &mut Work,
    owner: Uuid,
    until: Timestamp,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE webhook_worker SET lease_until = $2 WHERE owner = $1 AND lease_until > $3",
        owner,
        until as Timestamp,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes a lease, unless it still covers a store: then it expires.
pub(crate) async fn delete_lease(work: &mut Work, owner: Uuid) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM webhook_worker
         WHERE owner = $1 AND NOT EXISTS (SELECT FROM webhook_queue AS queue WHERE queue.owner = $1)",
        owner,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes leases that expired before a time and cover nothing. A store is taken from its owner as long as the expired lease
/// exists, so that the lease outlives every transaction that may still claim a store under it.
pub(crate) async fn purge_leases(work: &mut Work, before: Timestamp) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM webhook_worker
         WHERE owner = ANY (ARRAY(
             SELECT worker.owner FROM webhook_worker AS worker
             WHERE worker.lease_until < $1
               AND NOT EXISTS (SELECT FROM webhook_queue AS queue WHERE queue.owner = worker.owner)
             FOR UPDATE OF worker SKIP LOCKED))",
        before as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Releases stores whose owner has no lease, not even an expired one. No dispatcher leaves such a store; a lease that was
/// deleted by hand does.
pub(crate) async fn release_orphans(work: &mut Work) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE webhook_queue SET owner = NULL, due_at = least(due_at, $1)
         WHERE merchant_id = ANY (ARRAY(
             SELECT queue.merchant_id FROM webhook_queue AS queue
             WHERE queue.owner IS NOT NULL
               AND NOT EXISTS (SELECT FROM webhook_worker AS worker WHERE worker.owner = queue.owner)
             FOR UPDATE OF queue SKIP LOCKED))",
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the stores that an owner has.
pub(crate) async fn owned(
    sql: &mut PgConnection,
    owner: Uuid,
) -> sqlx::Result<HashSet<MerchantId>> {
    let found = sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM webhook_queue WHERE owner = $1"#,
        owner,
    );
    Ok(found.fetch_all(sql).await?.into_iter().collect())
}

/// Deletes the oldest wakes and returns their stores, in the order of the wakes; one that has several is repeated. They are deleted at
/// their place: compared with a list of ids, each would be compared with thousands.
pub(crate) async fn take_wakes(work: &mut Work, limit: i64) -> sqlx::Result<Vec<MerchantId>> {
    sqlx::query_scalar!(
        r#"WITH oldest AS MATERIALIZED (
               SELECT ctid AS place FROM webhook_wake ORDER BY wake_id LIMIT $1 FOR UPDATE SKIP LOCKED
           ), taken AS (
               DELETE FROM webhook_wake AS wake USING oldest WHERE wake.ctid = oldest.place
               RETURNING wake.wake_id, wake.merchant_id)
           SELECT merchant_id AS "merchant: MerchantId" FROM taken ORDER BY wake_id"#,
        limit,
    )
    .fetch_all(work.sql())
    .await
}

struct WokenRow {
    merchant: MerchantId,
    is_own: bool,
}

/// What became of wakes.
pub(crate) struct Woken {
    /// Stores that the dispatcher delivers for. They are not due any more.
    pub(crate) own: Vec<MerchantId>,
    /// Stores that could not be looked at, because another transaction has locked them or they are not in the queue.
    pub(crate) skipped: Vec<MerchantId>,
}

/// Makes stores due at once, for their owner or for any dispatcher. Those that nobody delivers for are claimed instead
/// if `may_claim` is set.
pub(crate) async fn wake(
    work: &mut Work,
    owner: Uuid,
    merchants: &[MerchantId],
    may_claim: bool,
) -> sqlx::Result<Woken> {
    let now = work.now();
    let woken = sqlx::query_as!(
        WokenRow,
        r#"WITH locked AS MATERIALIZED (
               SELECT merchant_id, owner FROM webhook_queue WHERE merchant_id = ANY ($1) FOR NO KEY UPDATE SKIP LOCKED
           ), changed AS (
               UPDATE webhook_queue AS queue
               SET owner = CASE WHEN $3 AND queue.owner IS NULL THEN $2 ELSE queue.owner END,
                   due_at = CASE WHEN queue.owner = $2 OR ($3 AND queue.owner IS NULL) THEN NULL
                                 ELSE least(queue.due_at, $4) END
               FROM locked
               WHERE queue.merchant_id = locked.merchant_id
                 AND CASE WHEN queue.owner = $2 THEN queue.due_at IS NOT NULL
                          WHEN $3 AND queue.owner IS NULL THEN true
                          ELSE queue.due_at IS NULL OR queue.due_at > $4 END
               RETURNING queue.merchant_id, queue.owner
           )
           SELECT locked.merchant_id AS "merchant: MerchantId",
                  coalesce(coalesce(changed.owner, locked.owner) = $2, false) AS "is_own!"
           FROM locked LEFT JOIN changed ON changed.merchant_id = locked.merchant_id"#,
        merchants as &[MerchantId],
        owner,
        may_claim,
        now as Timestamp,
    )
    .fetch_all(work.sql())
    .await?;
    let seen: HashSet<MerchantId> = woken.iter().map(|row| row.merchant).collect();
    let skipped = merchants.iter().copied().filter(|merchant| !seen.contains(merchant)).collect();
    let own = woken.into_iter().filter(|row| row.is_own).map(|row| row.merchant).collect();
    Ok(Woken { own, skipped })
}

/// Lets stores that were skipped be woken again, after the others. One that has deliveries and is not in the queue is
/// added to it: each store is, with its first endpoint, and this keeps a wake from being lost if that is ever not so.
pub(crate) async fn wake_again(work: &mut Work, merchants: &[MerchantId]) -> sqlx::Result<()> {
    sqlx::query!(
        "WITH added AS (
             INSERT INTO webhook_queue (merchant_id)
             SELECT merchant_id FROM unnest($1::uuid[]) AS given (merchant_id)
             WHERE NOT EXISTS (SELECT FROM webhook_queue AS queue WHERE queue.merchant_id = given.merchant_id)
             ON CONFLICT DO NOTHING
         )
         INSERT INTO webhook_wake (merchant_id) SELECT merchant_id FROM unnest($1::uuid[]) AS given (merchant_id)",
        merchants as &[MerchantId],
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Claims due stores that nobody delivers for, the longest due first, and stores of owners whose lease has expired, due or not.
/// Returns them with the due ones that `owner` delivers for already. They are not due any more.
pub(crate) async fn claim(
    work: &mut Work,
    owner: Uuid,
    limit: i64,
) -> sqlx::Result<Vec<MerchantId>> {
    let now = work.now();
    sqlx::query_scalar!(
        r#"WITH free AS (
               SELECT merchant_id FROM webhook_queue WHERE due_at <= $2 AND owner IS NULL
               ORDER BY due_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED
           ), own AS (
               SELECT merchant_id FROM webhook_queue WHERE due_at <= $2 AND owner = $1
               FOR NO KEY UPDATE SKIP LOCKED
           ), left_behind AS (
               SELECT merchant_id FROM webhook_queue
               WHERE owner = ANY (ARRAY(SELECT worker.owner FROM webhook_worker AS worker
                                        WHERE worker.lease_until <= $2 AND worker.owner <> $1))
               LIMIT $3 FOR UPDATE SKIP LOCKED
           )
           UPDATE webhook_queue SET owner = $1, due_at = NULL
           WHERE merchant_id = ANY (ARRAY(
               SELECT merchant_id FROM free UNION ALL SELECT merchant_id FROM own
               UNION ALL SELECT merchant_id FROM left_behind))
           RETURNING merchant_id AS "merchant: MerchantId""#,
        owner,
        now as Timestamp,
        limit,
    )
    .fetch_all(work.sql())
    .await
}

/// Returns which of the stores the owner delivers for. Nobody can take them until the transaction ends. Waits for those
/// that others have locked: a process that looks for stores to take locks some that it does not.
pub(crate) async fn lock_owned(
    work: &mut Work,
    owner: Uuid,
    merchants: &[MerchantId],
) -> sqlx::Result<HashSet<MerchantId>> {
    let found = sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM webhook_queue
           WHERE merchant_id = ANY ($1) AND owner = $2 ORDER BY merchant_id FOR KEY SHARE"#,
        merchants as &[MerchantId],
        owner,
    );
    Ok(found.fetch_all(work.sql()).await?.into_iter().collect())
}

/// Returns which of the stores the owner delivers for, locked or not.
pub(crate) async fn owned_of(
    work: &mut Work,
    owner: Uuid,
    merchants: &[MerchantId],
) -> sqlx::Result<HashSet<MerchantId>> {
    let found = sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM webhook_queue WHERE merchant_id = ANY ($1) AND owner = $2"#,
        merchants as &[MerchantId],
        owner,
    );
    Ok(found.fetch_all(work.sql()).await?.into_iter().collect())
}

/// As [`lock_owned`], but returns none if the lease of the owner has expired, and none that another transaction has locked.
pub(crate) async fn lock_leased(
    work: &mut Work,
    owner: Uuid,
    merchants: &[MerchantId],
) -> sqlx::Result<HashSet<MerchantId>> {
    let now = work.now();
    let found = sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM webhook_queue
           WHERE merchant_id = ANY ($1) AND owner = $2
             AND EXISTS (SELECT FROM webhook_worker WHERE webhook_worker.owner = $2 AND lease_until > $3)
           FOR KEY SHARE OF webhook_queue SKIP LOCKED"#,
        merchants as &[MerchantId],
        owner,
        now as Timestamp,
    );
    Ok(found.fetch_all(work.sql()).await?.into_iter().collect())
}

/// A store to release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) merchant: MerchantId,
    /// Before this time, nobody looks at the store unless something wakes it.
    pub(crate) not_before: Option<Timestamp>,
}

/// Releases stores, and returns those that it did. Each is due when its first delivery can be attempted: at the
/// earliest of its enabled endpoints, not before the probe of one whose circuit is open. A time that a wake has set
/// meanwhile stays.
///
/// The rows are locked first, so that the deliveries are read after every wake that is not to be overwritten.
pub(crate) async fn release(
    work: &mut Work,
    owner: Uuid,
    releases: &[Release],
) -> sqlx::Result<HashSet<MerchantId>> {
    let merchants: Vec<MerchantId> = releases.iter().map(|release| release.merchant).collect();
    let locked = sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM webhook_queue
           WHERE merchant_id = ANY ($1) AND owner = $2 FOR UPDATE SKIP LOCKED"#,
        &merchants as &[MerchantId],
        owner,
    );
    let locked: HashSet<MerchantId> = locked.fetch_all(work.sql()).await?.into_iter().collect();
    let (merchants, not_before): (Vec<MerchantId>, Vec<Option<Timestamp>>) = releases
        .iter()
        .filter(|release| locked.contains(&release.merchant))
        .map(|release| (release.merchant, release.not_before))
        .unzip();
    sqlx::query!(
        "UPDATE webhook_queue AS queue
         SET owner = NULL,
             due_at = least(queue.due_at, (
                 SELECT greatest(min(greatest(first.due_at, health.probe_at)), given.not_before)
                 FROM webhook_endpoint AS endpoint
                 LEFT JOIN webhook_health AS health
                   ON health.merchant_id = endpoint.merchant_id AND health.endpoint_id = endpoint.endpoint_id
                 CROSS JOIN LATERAL (
                     SELECT delivery.due_at FROM webhook_delivery AS delivery
                     WHERE delivery.merchant_id = endpoint.merchant_id AND delivery.endpoint_id = endpoint.endpoint_id
                       AND delivery.dead_at IS NULL
                     ORDER BY delivery.due_at LIMIT 1) AS first
                 WHERE endpoint.merchant_id = given.merchant AND endpoint.status = 'enabled'
                 HAVING count(*) > 0))
         FROM unnest($1::uuid[], $3::timestamptz[]) AS given (merchant, not_before)
         WHERE queue.merchant_id = given.merchant AND queue.owner = $2",
        &merchants as &[MerchantId],
        owner,
        &not_before as &[Option<Timestamp>],
    )
    .execute(work.sql())
    .await?;
    Ok(locked)
}
