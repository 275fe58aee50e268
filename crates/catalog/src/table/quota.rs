//! Quotas and what they count.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::quota::{Quota, UploadUsage};

/// Returns the quota of a store.
pub(crate) async fn quota(
    sql: &mut PgConnection,
    merchant: MerchantId,
    quota: Quota,
) -> sqlx::Result<i64> {
    let set = sqlx::query_scalar!(
        "SELECT maximum FROM catalog_quota WHERE merchant_id = $1 AND quota = $2",
        merchant as MerchantId,
        quota.as_str(),
    )
    .fetch_optional(sql)
    .await?;
    Ok(set.unwrap_or(quota.default_maximum()))
}

/// Returns the quotas that were set for a store, by name.
pub(crate) async fn quotas(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Vec<(String, i64)>> {
    let rows = sqlx::query!(
        "SELECT quota, maximum FROM catalog_quota WHERE merchant_id = $1",
        merchant as MerchantId,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.quota, row.maximum)).collect())
}

/// Sets the quota of a store; `None` removes it. Returns whether it differed.
pub(crate) async fn put_quota(
    work: &mut Work,
    merchant: MerchantId,
    quota: Quota,
    maximum: Option<i64>,
) -> sqlx::Result<bool> {
    let Some(maximum) = maximum else {
        let deleted = sqlx::query!(
            "DELETE FROM catalog_quota WHERE merchant_id = $1 AND quota = $2",
            merchant as MerchantId,
            quota.as_str(),
        )
        .execute(work.sql())
        .await?;
        return Ok(deleted.rows_affected() > 0);
    };
    let put = sqlx::query!(
        "INSERT INTO catalog_quota AS former (merchant_id, quota, maximum) VALUES ($1, $2, $3)
         ON CONFLICT (merchant_id, quota) DO UPDATE SET maximum = $3 WHERE former.maximum <> $3",
        merchant as MerchantId,
        quota.as_str(),
        maximum,
    )
    .execute(work.sql())
    .await?;
    Ok(put.rows_affected() > 0)
}

/// Returns the uploads of a store, and locks them until the transaction ends.
pub(crate) async fn lock_upload_usage(
    work: &mut Work,
    merchant: MerchantId,
) -> sqlx::Result<UploadUsage> {
    let now = work.now();
    let uploaded_today = sqlx::query_scalar!(
        "INSERT INTO catalog_upload (merchant_id, day, bytes)
         VALUES ($1, ($2::timestamptz AT TIME ZONE 'UTC')::date, 0)
         ON CONFLICT (merchant_id, day) DO UPDATE SET bytes = catalog_upload.bytes
         RETURNING bytes",
        merchant as MerchantId,
        now as Timestamp,
    )
    .fetch_one(work.sql())
    .await?;
    let open_runs = sqlx::query_scalar!(
        r#"SELECT count(*) AS "runs!" FROM catalog_run WHERE merchant_id = $1
             AND state IN ('receiving', 'queued', 'checking', 'applying', 'retiring')"#,
        merchant as MerchantId,
    )
    .fetch_one(work.sql())
    .await?;
    let stored_bytes = stored_bytes(work, merchant).await?;
    Ok(UploadUsage { open_runs, stored_bytes, uploaded_today })
}

/// Returns the bytes of the feeds of a store that are stored.
pub(crate) async fn stored_bytes(work: &mut Work, merchant: MerchantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT coalesce(sum(stored_bytes), 0)::bigint AS "bytes!" FROM catalog_run
           WHERE merchant_id = $1 AND stored_bytes > 0"#,
        merchant as MerchantId,
    )
    .fetch_one(work.sql())
    .await
}

/// Adds bytes to what a store has sent today. Returns false, and adds nothing, if the sum would exceed the limit.
pub(crate) async fn add_upload(
    work: &mut Work,
    merchant: MerchantId,
    bytes: i64,
    limit: i64,
) -> sqlx::Result<bool> {
    let now = work.now();
    let added = sqlx::query!(
        "INSERT INTO catalog_upload (merchant_id, day, bytes)
         VALUES ($1, ($2::timestamptz AT TIME ZONE 'UTC')::date, $3)
         ON CONFLICT (merchant_id, day) DO UPDATE SET bytes = catalog_upload.bytes + $3
         WHERE catalog_upload.bytes + $3 <= $4",
        merchant as MerchantId,
        now as Timestamp,
        bytes,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(added.rows_affected() == 1)
}

/// Products and variants, of a store or by which it grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CatalogSize {
    pub(crate) products: i64,
    pub(crate) variants: i64,
}

/// Adds to the size of a store. Returns false, and adds nothing, if it would exceed the maximum.
pub(crate) async fn add_to_size(
    work: &mut Work,
    merchant: MerchantId,
    added: CatalogSize,
    maximum: CatalogSize,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "INSERT INTO catalog_size (merchant_id, products, variants)
         SELECT $1, greatest($2::bigint, 0), greatest($3::bigint, 0)
         WHERE $2::bigint <= $4::bigint AND $3::bigint <= $5::bigint
         ON CONFLICT (merchant_id) DO UPDATE SET
             products = greatest(catalog_size.products + $2, 0),
             variants = greatest(catalog_size.variants + $3, 0)
         WHERE ($2 <= 0 OR catalog_size.products + $2 <= $4)
           AND ($3 <= 0 OR catalog_size.variants + $3 <= $5)",
        merchant as MerchantId,
        added.products,
        added.variants,
        maximum.products,
        maximum.variants,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns the size of a store, and locks it until the transaction ends.
pub(crate) async fn lock_size(work: &mut Work, merchant: MerchantId) -> sqlx::Result<CatalogSize> {
    sqlx::query_as!(
        CatalogSize,
        "INSERT INTO catalog_size (merchant_id, products, variants) VALUES ($1, 0, 0)
         ON CONFLICT (merchant_id) DO UPDATE SET products = catalog_size.products
         RETURNING products, variants",
        merchant as MerchantId,
    )
    .fetch_one(work.sql())
    .await
}

/// Counts the products and variants of a store again: concurrent imports of the same product count it twice.
pub(crate) async fn recount_size(work: &mut Work, merchant: MerchantId) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO catalog_size (merchant_id, products, variants)
         SELECT $1, (SELECT count(*) FROM product WHERE merchant_id = $1),
                (SELECT count(*) FROM variant WHERE merchant_id = $1)
         ON CONFLICT (merchant_id) DO UPDATE SET
             products = excluded.products, variants = excluded.variants",
        merchant as MerchantId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns how many variants each of these products has; a product without any is left out.
pub(crate) async fn variant_counts(
    work: &mut Work,
    merchant: MerchantId,
    products: &[Uuid],
) -> sqlx::Result<Vec<(Uuid, i64)>> {
    let rows = sqlx::query!(
        r#"SELECT product_id, count(*) AS "variants!" FROM variant
           WHERE merchant_id = $1 AND product_id = ANY ($2) GROUP BY product_id"#,
        merchant as MerchantId,
        products,
    )
    .fetch_all(work.sql())
    .await?;
    Ok(rows.into_iter().map(|row| (row.product_id, row.variants)).collect())
}
