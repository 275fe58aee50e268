//! Changes of stores that change many products at once, which wait in PostgreSQL.

use database::Work;
use primitives::{MerchantId, ProductId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::manifest::ShardId;

/// A product whose change is read from the outbox and waits to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitingChange {
    pub(crate) merchant: MerchantId,
    pub(crate) product: ProductId,
    /// When the change was made.
    pub(crate) since: Timestamp,
    /// Position of its event in the outbox.
    pub(crate) position: i64,
}

/// Returns the stores whose changes wait, each with the time of the oldest change.
pub(crate) async fn bulk_stores(
    sql: &mut PgConnection,
    shard_id: ShardId,
) -> sqlx::Result<Vec<(MerchantId, Timestamp)>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", min(since) AS "since!: Timestamp"
           FROM platform.search_bulk WHERE generation = $1 AND shard = $2
           GROUP BY merchant_id ORDER BY min(since)"#,
        shard_id.generation,
        shard_id.shard,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.since)).collect())
}

/// Adds changes, each product once.
pub(crate) async fn put_bulk(
    work: &mut Work,
    shard_id: ShardId,
    changes: &[WaitingChange],
) -> sqlx::Result<()> {
    let merchants: Vec<Uuid> = changes.iter().map(|change| change.merchant.uuid()).collect();
    let products: Vec<Uuid> = changes.iter().map(|change| change.product.uuid()).collect();
    let since: Vec<Timestamp> = changes.iter().map(|change| change.since).collect();
    let positions: Vec<i64> = changes.iter().map(|change| change.position).collect();
    sqlx::query!(
        "INSERT INTO platform.search_bulk AS waiting
             (generation, shard, merchant_id, product_id, since, last_position)
         SELECT $1, $2, new.merchant_id, new.product_id, new.since, new.position
         FROM unnest($3::uuid[], $4::uuid[], $5::timestamptz[], $6::bigint[])
              AS new (merchant_id, product_id, since, position)
         ON CONFLICT (generation, shard, merchant_id, product_id)
         DO UPDATE SET last_position = excluded.last_position
         WHERE waiting.last_position < excluded.last_position",
        shard_id.generation,
        shard_id.shard,
        &merchants,
        &products,
        &since as &[Timestamp],
        &positions,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Plans the statements of this transaction with their parameters, each time. The table grows from nothing to millions of
/// rows, and a plan that was prepared while it was empty reads all of it.
async fn plan_anew(sql: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query!("SET LOCAL plan_cache_mode = force_custom_plan").execute(sql).await?;
    Ok(())
}

/// Returns the oldest changes of a store.
pub(crate) async fn next_bulk(
    sql: &mut PgConnection,
    shard_id: ShardId,
    merchant: MerchantId,
    limit: i64,
) -> sqlx::Result<Vec<WaitingChange>> {
    plan_anew(sql).await?;
    sqlx::query_as!(
        WaitingChange,
        r#"SELECT merchant_id AS "merchant: MerchantId", product_id AS "product: ProductId",
                  since AS "since: Timestamp", last_position AS position
           FROM platform.search_bulk
           WHERE generation = $1 AND shard = $2 AND merchant_id = $3 ORDER BY since LIMIT $4"#,
        shard_id.generation,
        shard_id.shard,
        merchant.uuid(),
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Deletes changes that are applied, unless their product has changed again since.
pub(crate) async fn delete_bulk(
    work: &mut Work,
    shard_id: ShardId,
    changes: &[WaitingChange],
) -> sqlx::Result<()> {
    let merchants: Vec<Uuid> = changes.iter().map(|change| change.merchant.uuid()).collect();
    let products: Vec<Uuid> = changes.iter().map(|change| change.product.uuid()).collect();
    let positions: Vec<i64> = changes.iter().map(|change| change.position).collect();
    plan_anew(work.sql()).await?;
    sqlx::query!(
        "DELETE FROM platform.search_bulk AS waiting
         USING unnest($3::uuid[], $4::uuid[], $5::bigint[])
               AS applied (merchant_id, product_id, position)
         WHERE waiting.generation = $1 AND waiting.shard = $2
           AND waiting.merchant_id = applied.merchant_id
           AND waiting.product_id = applied.product_id
           AND waiting.last_position = applied.position",
        shard_id.generation,
        shard_id.shard,
        &merchants,
        &products,
        &positions,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
