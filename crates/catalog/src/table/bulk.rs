//! Reading many products of many stores by their primary keys.

use std::collections::{BTreeMap, HashSet};

use primitives::{CategoryId, MerchantId, ProductId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::read::{ProductRow, products, visible_currencies, with_merchants_and_variants};
use crate::{Image, Product, ProductKey, ProductPolicies};

/// Returns the products with these keys, each once, in the order of the keys. Missing products are left out.
pub(crate) async fn products_of(
    sql: &mut PgConnection,
    keys: &[(MerchantId, ProductId)],
) -> sqlx::Result<Vec<(MerchantId, Product)>> {
    let mut seen = HashSet::with_capacity(keys.len());
    let unique = keys.iter().filter(|key| seen.insert(**key));
    let (merchants, ids): (Vec<Uuid>, Vec<Uuid>) =
        unique.map(|(merchant, id)| (merchant.uuid(), id.uuid())).unzip();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = products!(
        r#"1::bigint AS "total!""#,
        from "unnest($2::uuid[], $3::uuid[]) WITH ORDINALITY AS wanted (merchant_id, product_id, number)
              CROSS JOIN LATERAL (
                  SELECT * FROM product AS own
                  WHERE own.merchant_id = wanted.merchant_id AND own.product_id = wanted.product_id
                    AND own.retired_at IS NULL AND own.currency = ANY ($1)
                  LIMIT 1) AS product
              JOIN category ON category.merchant_id = product.merchant_id
                           AND category.category_id = product.category_id ",
        "ORDER BY wanted.number",
        &merchants,
        &ids
    )
    .fetch_all(&mut *sql)
    .await?;
    with_merchants_and_variants(sql, rows).await
}

/// Returns the first products of these stores in the order of their keys; in the first store, those after `after`.
///
/// Stores are read one by one along the primary key, and no further than the limit. By default the planner estimates
/// every store as an average one, and would read and sort a million products of a large store for each page.
pub(crate) async fn products_after(
    sql: &mut PgConnection,
    merchants: &[Uuid],
    after: Option<Uuid>,
    limit: i64,
) -> sqlx::Result<Vec<(MerchantId, Product)>> {
    sqlx::query!(
        "SELECT set_config('enable_sort', 'off', true) AS sort,
                set_config('enable_bitmapscan', 'off', true) AS bitmap_scan"
    )
    .fetch_one(&mut *sql)
    .await?;
    let rows = products!(
        r#"1::bigint AS "total!""#,
        from "unnest($2::uuid[]) WITH ORDINALITY AS wanted (merchant_id, number)
              CROSS JOIN LATERAL (
                  SELECT * FROM product AS own
                  WHERE own.merchant_id = wanted.merchant_id
                    AND own.product_id > CASE WHEN wanted.number = 1 THEN $3::uuid ELSE $5::uuid END
                    AND own.retired_at IS NULL AND own.currency = ANY ($1)
                  ORDER BY own.product_id LIMIT $4) AS product
              CROSS JOIN LATERAL (
                  SELECT * FROM category AS own
                  WHERE own.merchant_id = product.merchant_id
                    AND own.category_id = product.category_id
                  LIMIT 1) AS category ",
        "ORDER BY wanted.number, product.product_id LIMIT $4",
        merchants,
        after.unwrap_or(Uuid::nil()),
        limit,
        Uuid::nil()
    )
    .fetch_all(&mut *sql)
    .await?;
    with_merchants_and_variants(sql, rows).await
}

/// Returns the keys of the products that [`products_after`] returns.
pub(crate) async fn keys_after(
    sql: &mut PgConnection,
    merchants: &[Uuid],
    after: Option<Uuid>,
    limit: i64,
) -> sqlx::Result<Vec<ProductKey>> {
    let rows = sqlx::query!(
        r#"SELECT product.merchant_id AS "merchant: MerchantId", product.product_id AS "id: ProductId"
           FROM unnest($1::uuid[]) WITH ORDINALITY AS wanted (merchant_id, number)
           CROSS JOIN LATERAL (
               SELECT * FROM product AS own
               WHERE own.merchant_id = wanted.merchant_id
                 AND own.product_id > CASE WHEN wanted.number = 1 THEN $2::uuid ELSE $4::uuid END
                 AND own.retired_at IS NULL AND own.currency = ANY ($5)
               ORDER BY own.product_id LIMIT $3) AS product
           ORDER BY wanted.number, product.product_id LIMIT $3"#,
        merchants,
        after.unwrap_or(Uuid::nil()),
        limit,
        Uuid::nil(),
        &visible_currencies(),
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.id)).collect())
}
