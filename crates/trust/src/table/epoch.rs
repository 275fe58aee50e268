//! How far the scores of an epoch are computed.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::Epoch;
use crate::slots::{Segment, StoreOrder};

/// An epoch of which scores are to be computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenEpoch {
    pub(crate) epoch: Epoch,
    pub(crate) order: StoreOrder,
    /// When a worker saw the epoch first; `None` if none has.
    pub(crate) opened_at: Option<Timestamp>,
    /// All stores up to this position are done; `None`: none is.
    pub(crate) position: Option<Uuid>,
}

impl OpenEpoch {
    /// Returns an epoch that no worker has seen yet.
    pub(crate) const fn unseen(epoch: Epoch) -> Self {
        Self { epoch, order: StoreOrder::BY_ID, opened_at: None, position: None }
    }
}

/// Returns the epochs up to the current one that are not known, the oldest first: from the first known one on, but none before
/// `oldest`. If none is known, or only such as lie ahead because a clock was wrong, the current one is the first.
pub(crate) async fn missing(
    sql: &mut PgConnection,
    oldest: Epoch,
    current: Epoch,
) -> sqlx::Result<Vec<Epoch>> {
    let missing = sqlx::query_scalar!(
        r#"SELECT possible.epoch AS "epoch!"
           FROM generate_series(
               greatest($1::bigint, (SELECT least(min(trust_epoch.epoch), $2::bigint) FROM trust_epoch)),
               $2::bigint) AS possible (epoch)
           WHERE NOT EXISTS (SELECT FROM trust_epoch AS known WHERE known.epoch = possible.epoch)
           ORDER BY possible.epoch"#,
        oldest.0,
        current.0,
    )
    .fetch_all(sql)
    .await?;
    Ok(missing.into_iter().map(Epoch).collect())
}

/// Counts the epochs before `oldest` that are not done: they were known, or began after one that was, and are computed no more.
pub(crate) async fn skipped(sql: &mut PgConnection, oldest: Epoch) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT coalesce($1::bigint - min(epoch) - count(*) FILTER (WHERE position = $2), 0) AS "skipped!"
           FROM trust_epoch WHERE epoch < $1"#,
        oldest.0,
        Uuid::max(),
    )
    .fetch_one(sql)
    .await
}

/// Whether an epoch up to the current one is known: scores are computed here.
pub(crate) async fn is_any_known(sql: &mut PgConnection, current: Epoch) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM trust_epoch WHERE epoch <= $1) AS "is_any_known!""#,
        current.0,
    )
    .fetch_one(sql)
    .await
}

/// Returns when a worker saw an epoch first; `None` if none has.
pub(crate) async fn opened_at(
    sql: &mut PgConnection,
    epoch: Epoch,
) -> sqlx::Result<Option<Timestamp>> {
    sqlx::query_scalar!(
        r#"SELECT opened_at AS "opened_at!: Timestamp" FROM trust_epoch WHERE epoch = $1"#,
        epoch.0,
    )
    .fetch_optional(sql)
    .await
}

/// Adds epochs, each with a random order of stores, unless another process has.
pub(crate) async fn add(work: &mut Work, epochs: &[Epoch]) -> sqlx::Result<()> {
    let now = work.now();
    let numbers: Vec<i64> = epochs.iter().map(|epoch| epoch.0).collect();
    let keys: Vec<Uuid> = epochs.iter().map(|_| work.new_id::<MerchantId>().uuid()).collect();
    sqlx::query!(
        "INSERT INTO trust_epoch (epoch, order_key, opened_at, updated_at)
         SELECT new.epoch, new.order_key, $3::timestamptz, $3
         FROM unnest($1::bigint[], $2::uuid[]) AS new (epoch, order_key)
         ORDER BY new.epoch
         ON CONFLICT (epoch) DO NOTHING",
        &numbers,
        &keys,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the epochs from `oldest` to the current one that are not done, the newest first.
pub(crate) async fn open(
    sql: &mut PgConnection,
    oldest: Epoch,
    current: Epoch,
) -> sqlx::Result<Vec<OpenEpoch>> {
    let rows = sqlx::query!(
        r#"SELECT epoch, order_key, opened_at AS "opened_at: Timestamp", position FROM trust_epoch
           WHERE epoch BETWEEN $1 AND $2 AND (position IS NULL OR position < $3) ORDER BY epoch DESC"#,
        oldest.0,
        current.0,
        Uuid::max(),
    )
    .fetch_all(sql)
    .await?;
    let open = rows.into_iter().map(|row| OpenEpoch {
        epoch: Epoch(row.epoch),
        order: StoreOrder::of(row.order_key),
        opened_at: Some(row.opened_at),
        position: row.position,
    });
    Ok(open.collect())
}

/// Records that all stores up to a position have a score of the epoch.
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

/// Returns stores of a segment that can be scored, in the order of their ids: those that no operator closed, have catalog figures
/// that are not outdated, and whose facts are counted; `existed_at`: and that existed at this time. What `is_scorable` says of a store
/// is this rule as well.
pub(crate) async fn scorable_stores(
    sql: &mut PgConnection,
    segment: Segment,
    existed_at: Option<Timestamp>,
    limit: i64,
) -> sqlx::Result<Vec<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT store.merchant_id AS "merchant: MerchantId"
           FROM store JOIN catalog_quality AS quality ON quality.merchant_id = store.merchant_id
           WHERE store.merchant_id BETWEEN $1 AND $2 AND quality.merchant_id BETWEEN $1 AND $2
             AND ($3::timestamptz IS NULL OR store.member_since <= $3)
             AND (store.status <> 'closed' OR store.status_by_owner) AND NOT quality.is_outdated
             AND NOT EXISTS (SELECT FROM trust_failure AS failed
                             WHERE failed.merchant_id = store.merchant_id AND failed.stage = 'count')
           ORDER BY store.merchant_id LIMIT $4"#,
        segment.first,
        segment.last,
        existed_at as Option<Timestamp>,
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns whether a store can be scored: by the schedule, on request, and by a correction.
pub(crate) async fn is_scorable(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<bool> {
    let id = merchant.uuid();
    let alone = Segment { first: id, last: id, end: id };
    Ok(!scorable_stores(sql, alone, None, 1).await?.is_empty())
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
