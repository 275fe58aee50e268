//! How far the scores of an epoch are computed.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::Epoch;
use crate::slots::{Ring, Segment, first_id};

/// An epoch of which scores are to be computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenEpoch {
    pub(crate) epoch: Epoch,
    pub(crate) ring: Ring,
    /// All stores up to this position are done; `None`: none is.
    pub(crate) position: Option<Uuid>,
}

impl OpenEpoch {
    /// Returns an epoch that no worker has seen yet.
    pub(crate) const fn unseen(epoch: Epoch) -> Self {
        Self { epoch, ring: Ring::BY_ID, position: None }
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

/// Whether an epoch up to the current one is known: scores are computed here.
pub(crate) async fn is_any_known(sql: &mut PgConnection, current: Epoch) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM trust_epoch WHERE epoch <= $1) AS "is_any_known!""#,
        current.0,
    )
    .fetch_one(sql)
    .await
}

/// Adds epochs, each with a random beginning, unless another process has.
pub(crate) async fn add(work: &mut Work, epochs: &[Epoch]) -> sqlx::Result<()> {
    let now = work.now();
    let numbers: Vec<i64> = epochs.iter().map(|epoch| epoch.0).collect();
    let first_ids: Vec<Uuid> =
        epochs.iter().map(|_| first_id(work.new_id::<MerchantId>().uuid())).collect();
    sqlx::query!(
        "INSERT INTO trust_epoch (epoch, first_id, updated_at)
         SELECT new.epoch, new.first_id, $3::timestamptz
         FROM unnest($1::bigint[], $2::uuid[]) AS new (epoch, first_id)
         ORDER BY new.epoch
         ON CONFLICT (epoch) DO NOTHING",
        &numbers,
        &first_ids,
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
        "SELECT epoch, first_id, position FROM trust_epoch
         WHERE epoch BETWEEN $1 AND $2 AND (position IS NULL OR position < $3) ORDER BY epoch DESC",
        oldest.0,
        current.0,
        Uuid::max(),
    )
    .fetch_all(sql)
    .await?;
    let open = rows.into_iter().map(|row| OpenEpoch {
        epoch: Epoch(row.epoch),
        ring: Ring::from(row.first_id),
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

/// Returns stores of a segment that existed at a time, are not closed and have catalog figures, in the order of their ids. Those
/// whose facts could not be counted are left out.
pub(crate) async fn stores(
    sql: &mut PgConnection,
    segment: Segment,
    existed_at: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT store.merchant_id AS "merchant: MerchantId"
           FROM store JOIN catalog_quality AS quality ON quality.merchant_id = store.merchant_id
           WHERE store.merchant_id BETWEEN $1 AND $2 AND quality.merchant_id BETWEEN $1 AND $2
             AND store.member_since <= $3 AND store.status <> 'closed'
             AND NOT EXISTS (SELECT FROM trust_failure AS failed
                             WHERE failed.merchant_id = store.merchant_id AND failed.stage = 'count')
           ORDER BY store.merchant_id LIMIT $4"#,
        segment.first,
        segment.last,
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
