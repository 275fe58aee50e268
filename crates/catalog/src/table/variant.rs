//! Writing variants. They are changed only while the row of their product is locked.

use database::Work;
use primitives::{MerchantId, ProductId, Timestamp, VariantId};
use sqlx::types::Json;
use uuid::Uuid;

use crate::{Sale, VariantFacts};

/// A variant to write: its product, its id if it is created, its position, its data.
pub(crate) type Row<'new> = (ProductId, VariantId, i32, &'new VariantFacts);

/// The current price of a variant.
pub(crate) struct VariantPrice {
    pub(crate) product_id: ProductId,
    pub(crate) sku: String,
    pub(crate) price_minor: i64,
    pub(crate) list_price_minor: Option<i64>,
}

pub(crate) async fn variant_prices(
    work: &mut Work,
    merchant: MerchantId,
    products: &[Uuid],
) -> sqlx::Result<Vec<VariantPrice>> {
    sqlx::query_as!(
        VariantPrice,
        r#"SELECT product_id AS "product_id: ProductId", sku, price_minor, list_price_minor
           FROM variant
           WHERE merchant_id = $1 AND product_id = ANY ($2) AND retired_at IS NULL"#,
        merchant as MerchantId,
        products,
    )
    .fetch_all(work.sql())
    .await
}

/// A variant that was inserted or updated.
pub(crate) struct Written {
    pub(crate) product_id: ProductId,
    pub(crate) variant_id: VariantId,
    pub(crate) sku: String,
}

pub(crate) async fn put_variants(
    work: &mut Work,
    merchant: MerchantId,
    rows: &[Row<'_>],
) -> sqlx::Result<Vec<Written>> {
    let column = |value: fn(&VariantFacts) -> &str| -> Vec<&str> {
        rows.iter().map(|(.., variant)| value(variant)).collect()
    };
    let gtins: Vec<Option<&str>> = rows.iter().map(|row| row.3.gtin.as_deref()).collect();
    let images: Vec<Option<&str>> = rows.iter().map(|row| row.3.image.as_deref()).collect();
    let list_prices: Vec<Option<i64>> = rows.iter().map(|row| row.3.list_price_minor).collect();
    let quantities: Vec<Option<i32>> = rows.iter().map(|row| row.3.stock_quantity).collect();
    let sales: Vec<Option<Json<&Sale>>> =
        rows.iter().map(|row| row.3.sale.as_ref().map(Json)).collect();
    sqlx::query_as!(
        Written,
        r#"INSERT INTO variant
             (merchant_id, product_id, variant_id, place, sku, name, gtin, options, image, price_minor,
              list_price_minor, stock_status, stock_quantity, sale)
           SELECT $1, new.* FROM unnest($2::uuid[], $3::uuid[], $4::integer[], $5::text[], $6::text[],
               $7::text[], $8::jsonb[], $9::text[], $10::bigint[], $11::bigint[], $12::text[],
               $13::integer[], $14::jsonb[]) AS new
           ON CONFLICT (merchant_id, product_id, sku) DO UPDATE SET
               place = excluded.place, name = excluded.name, gtin = excluded.gtin,
               options = excluded.options, image = excluded.image, price_minor = excluded.price_minor,
               list_price_minor = excluded.list_price_minor, stock_status = excluded.stock_status,
               stock_quantity = excluded.stock_quantity, sale = excluded.sale, retired_at = NULL
           WHERE variant.retired_at IS NOT NULL
              OR (variant.place, variant.name, variant.gtin, variant.options, variant.image,
                  variant.price_minor, variant.list_price_minor, variant.stock_status,
                  variant.stock_quantity, variant.sale)
               IS DISTINCT FROM (excluded.place, excluded.name, excluded.gtin, excluded.options,
                  excluded.image, excluded.price_minor, excluded.list_price_minor,
                  excluded.stock_status, excluded.stock_quantity, excluded.sale)
           RETURNING product_id AS "product_id: ProductId", variant_id AS "variant_id: VariantId", sku"#,
        merchant as MerchantId,
        &rows.iter().map(|row| row.0.uuid()).collect::<Vec<_>>(),
        &rows.iter().map(|row| row.1.uuid()).collect::<Vec<_>>(),
        &rows.iter().map(|row| row.2).collect::<Vec<_>>(),
        &column(|variant| &variant.sku) as _,
        &column(|variant| &variant.name) as _,
        &gtins as _,
        &rows.iter().map(|row| Json(&row.3.options)).collect::<Vec<_>>() as _,
        &images as _,
        &rows.iter().map(|row| row.3.price.minor()).collect::<Vec<_>>(),
        &list_prices as _,
        &column(|variant| variant.stock_status.as_str()) as _,
        &quantities as _,
        &sales as _,
    )
    .fetch_all(work.sql())
    .await
}

/// Deletes the variants of these products that are not among `kept` and returns their products. A variant of which
/// units are held is retired instead: [`delete_retired_variants`] deletes it when nothing is held.
pub(crate) async fn delete_other_variants(
    work: &mut Work,
    merchant: MerchantId,
    products: &[Uuid],
    kept: &[Row<'_>],
) -> sqlx::Result<Vec<ProductId>> {
    let now = work.now();
    sqlx::query_scalar!(
        r#"WITH gone AS (
               SELECT variant_id, product_id, held FROM variant
               WHERE merchant_id = $1 AND product_id = ANY ($2) AND retired_at IS NULL
                 AND (product_id, sku) NOT IN (SELECT * FROM unnest($3::uuid[], $4::text[]))),
           retired AS (
               UPDATE variant SET retired_at = $5 FROM gone
               WHERE merchant_id = $1 AND variant.variant_id = gone.variant_id AND gone.held > 0),
           deleted AS (
               DELETE FROM variant USING gone
               WHERE merchant_id = $1 AND variant.variant_id = gone.variant_id AND gone.held = 0)
           SELECT product_id AS "id: ProductId" FROM gone"#,
        merchant as MerchantId,
        products,
        &kept.iter().map(|row| row.0.uuid()).collect::<Vec<_>>(),
        &kept.iter().map(|row| row.3.sku.as_str()).collect::<Vec<_>>() as _,
        now as Timestamp,
    )
    .fetch_all(work.sql())
    .await
}

/// Deletes those of these variants that are retired and of which nothing is held any more.
pub(crate) async fn delete_retired_variants(
    work: &mut Work,
    merchant: MerchantId,
    variants: &[Uuid],
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM variant WHERE merchant_id = $1 AND variant_id = ANY ($2)
           AND retired_at IS NOT NULL AND held = 0",
        merchant as MerchantId,
        variants,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the id of a variant.
pub(crate) async fn variant_id(
    work: &mut Work,
    merchant: MerchantId,
    product: ProductId,
    sku: &str,
) -> sqlx::Result<Option<VariantId>> {
    sqlx::query_scalar!(
        r#"SELECT variant_id AS "id: VariantId" FROM variant
           WHERE merchant_id = $1 AND product_id = $2 AND sku = $3"#,
        merchant as MerchantId,
        product as ProductId,
        sku,
    )
    .fetch_optional(work.sql())
    .await
}
