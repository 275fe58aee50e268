//! Rows that the writer of a shard could not read.

use catalog::ProductKey;
use database::Work;
use primitives::{MerchantId, ProductId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::manifest::ShardId;

/// Returns the skipped rows of a shard.
pub(crate) async fn skipped(
    sql: &mut PgConnection,
    shard_id: ShardId,
) -> sqlx::Result<Vec<ProductKey>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", product_id AS "product: ProductId"
           FROM platform.search_skipped WHERE generation = $1 AND shard = $2"#,
        shard_id.generation,
        shard_id.shard,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.product)).collect())
}

/// Adds skipped rows of a shard.
pub(crate) async fn put_skipped(
    work: &mut Work,
    shard_id: ShardId,
    keys: &[ProductKey],
) -> sqlx::Result<()> {
    let (merchants, products) = columns(keys);
    let now = work.now();
    sqlx::query!(
        "INSERT INTO platform.search_skipped (generation, shard, merchant_id, product_id, since)
         SELECT $1, $2, new.merchant_id, new.product_id, $5
         FROM unnest($3::uuid[], $4::uuid[]) AS new (merchant_id, product_id)
         ON CONFLICT DO NOTHING",
        shard_id.generation,
        shard_id.shard,
        &merchants,
        &products,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes skipped rows of a shard that have been read.
pub(crate) async fn delete_skipped(
    work: &mut Work,
    shard_id: ShardId,
    keys: &[ProductKey],
) -> sqlx::Result<()> {
    let (merchants, products) = columns(keys);
    sqlx::query!(
        "DELETE FROM platform.search_skipped WHERE generation = $1 AND shard = $2
           AND (merchant_id, product_id) IN (SELECT * FROM unnest($3::uuid[], $4::uuid[]))",
        shard_id.generation,
        shard_id.shard,
        &merchants,
        &products,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

fn columns(keys: &[ProductKey]) -> (Vec<Uuid>, Vec<Uuid>) {
    keys.iter().map(|(merchant, product)| (merchant.uuid(), product.uuid())).unzip()
}
