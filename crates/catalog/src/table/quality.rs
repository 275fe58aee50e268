//! Data quality.

use database::Work;
use jobs::SweepRow;
use primitives::{MerchantId, ProductId, Timestamp};
use sqlx::PgConnection;

use super::unreadable;
use crate::quality::{CatalogQuality, Defect, DefectiveProduct};

/// Selects from products of the merchant ($1), called `judged`: each with its number of variants, one boolean column per
/// defect, and the names of its defects; a retired product has none. `$products` names them `product`. `$of_product` is a
/// condition on the variants that are read, and `$shared_gtin` whether another product has the same GTIN: a statement over
/// the whole catalog joins and sorts once, one over a page looks up what belongs to each product.
macro_rules! with_defects {
    (
        $result:ident, $begin:literal, products $products:literal, variants $of_product:literal,
        shared_gtin $shared_gtin:literal, $($end:literal)+, $($argument:expr),*
    ) => {
        sqlx::query_as!(
            $result,
            $begin
                + " FROM (
                    SELECT *,
                        CASE WHEN retired_at IS NULL THEN array_remove(ARRAY[
                            CASE WHEN missing_price THEN 'missing_price' END,
                            CASE WHEN missing_image THEN 'missing_image' END,
                            CASE WHEN missing_gtin THEN 'missing_gtin' END,
                            CASE WHEN foreign_currency THEN 'foreign_currency' END,
                            CASE WHEN contradicting_stock THEN 'contradicting_stock' END,
                            CASE WHEN shared_gtin THEN 'shared_gtin' END], NULL) ELSE '{}' END AS defects
                    FROM (
                        SELECT product.product_id, external_id, sku, name, category_id, price_minor, price_due_at, currency,
                            stock_status, stock_quantity, updated_at, retired_at, rating_hundredths, pushed_at,
                            coalesce(forms.variants, 0) AS variants,
                            price_minor = 0 AS missing_price,
                            images = '[]' AS missing_image,
                            gtin IS NULL AND coalesce(forms.missing_gtin, true) AS missing_gtin,
                            currency <> (SELECT currency FROM store WHERE store.merchant_id = $1) AS foreign_currency,
                            (stock_status IN ('in_stock', 'low_stock') AND coalesce(stock_quantity = 0, false))
                                OR (stock_status = 'out_of_stock' AND coalesce(stock_quantity > 0, false))
                                OR coalesce(forms.contradicting_stock, false) AS contradicting_stock,
                            gtin IS NOT NULL AND "
                + $shared_gtin
                + " AS shared_gtin
                        FROM "
                + $products
                + " AS product
                        LEFT JOIN LATERAL (
                            SELECT variant.product_id AS of_product, count(*) AS variants,
                                bool_or(variant.gtin IS NULL) AS missing_gtin,
                                bool_or((variant.stock_status IN ('in_stock', 'low_stock') AND variant.stock_quantity = 0)
                                        OR (variant.stock_status = 'out_of_stock' AND variant.stock_quantity > 0))
                                    AS contradicting_stock
                            FROM variant
                            WHERE variant.merchant_id = $1 AND variant.retired_at IS NULL "
                + $of_product
                + "         GROUP BY variant.product_id) AS forms ON forms.of_product = product.product_id
                    ) AS product
                ) AS judged "
                $(+ $end)+,
            $($argument),*
        )
    };
}

pub(super) use with_defects;

/// `with_defects!` over the whole catalog.
macro_rules! catalog_with_defects {
    ($result:ident, $begin:literal, $end:literal, $($argument:expr),*) => {
        with_defects!(
            $result,
            $begin,
            products "(SELECT * FROM product WHERE merchant_id = $1 AND retired_at IS NULL)",
            variants "",
            shared_gtin "count(*) OVER (PARTITION BY lpad(gtin, 14, '0')) > 1",
            $end,
            $($argument),*
        )
    };
}

/// Computes the figures from the whole catalog of a store.
pub(crate) async fn compute_quality(
    sql: &mut PgConnection,
    merchant: MerchantId,
    now: Timestamp,
) -> sqlx::Result<CatalogQuality> {
    catalog_with_defects!(
        CatalogQuality,
        r#"SELECT count(*) AS "products!",
                  count(*) FILTER (WHERE NOT (missing_price OR missing_image OR missing_gtin)) AS "complete!",
                  count(*) FILTER (WHERE NOT (foreign_currency OR contradicting_stock OR shared_gtin)) AS "consistent!",
                  count(*) FILTER (WHERE missing_price) AS "missing_price!",
                  count(*) FILTER (WHERE missing_image) AS "missing_image!",
                  count(*) FILTER (WHERE missing_gtin) AS "missing_gtin!",
                  count(*) FILTER (WHERE foreign_currency) AS "foreign_currency!",
                  count(*) FILTER (WHERE contradicting_stock) AS "contradicting_stock!",
                  count(*) FILTER (WHERE shared_gtin) AS "shared_gtin!",
                  count(rating_hundredths) AS "rated_products!",
                  coalesce(sum(rating_hundredths), 0) AS "rating_sum_hundredths!",
                  nullif(percentile_disc(0.05) WITHIN GROUP (ORDER BY coalesce(pushed_at, '-infinity')), '-infinity')
                      AS "pushed_since: Timestamp",
                  $2::timestamptz AS "computed_at!: Timestamp", false AS "is_outdated!""#,
        "",
        merchant as MerchantId,
        now as Timestamp
    )
    .fetch_one(sql)
    .await
}

/// Stores figures, unless newer ones are stored.
pub(crate) async fn put_quality(
    work: &mut Work,
    merchant: MerchantId,
    quality: &CatalogQuality,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO catalog_quality
             (merchant_id, products, complete, consistent, missing_price, missing_image, missing_gtin,
              foreign_currency, contradicting_stock, shared_gtin, computed_at, rated_products,
              rating_sum_hundredths, pushed_since, is_outdated)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
         ON CONFLICT (merchant_id) DO UPDATE SET
             products = $2, complete = $3, consistent = $4, missing_price = $5, missing_image = $6,
             missing_gtin = $7, foreign_currency = $8, contradicting_stock = $9, shared_gtin = $10,
             computed_at = $11, rated_products = $12, rating_sum_hundredths = $13, pushed_since = $14,
             is_outdated = $15
         WHERE catalog_quality.computed_at <= $11",
        merchant as MerchantId,
        quality.products,
        quality.complete,
        quality.consistent,
        quality.missing_price,
        quality.missing_image,
        quality.missing_gtin,
        quality.foreign_currency,
        quality.contradicting_stock,
        quality.shared_gtin,
        quality.computed_at as Timestamp,
        quality.rated_products,
        quality.rating_sum_hundredths,
        quality.pushed_since as Option<Timestamp>,
        quality.is_outdated,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn quality(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Option<CatalogQuality>> {
    sqlx::query_as!(
        CatalogQuality,
        r#"SELECT products, complete, consistent, missing_price, missing_image, missing_gtin,
                  foreign_currency, contradicting_stock, shared_gtin, rated_products, rating_sum_hundredths,
                  pushed_since AS "pushed_since: Timestamp", computed_at AS "computed_at: Timestamp", is_outdated
           FROM catalog_quality WHERE merchant_id = $1"#,
        merchant as MerchantId,
    )
    .fetch_optional(sql)
    .await
}

/// Returns stores whose figures are outdated, after a row, the oldest figures first.
pub(crate) async fn outdated_figures(
    sql: &mut PgConnection,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", computed_at AS "computed_at: Timestamp"
           FROM catalog_quality
           WHERE is_outdated AND ($1::timestamptz IS NULL OR (computed_at, merchant_id) > ($1, $2))
           ORDER BY computed_at, merchant_id LIMIT $3"#,
        after.map(|row| row.due_at) as Option<Timestamp>,
        after.map(|row| row.id),
        limit,
    )
    .fetch_all(sql)
    .await?;
    let row = |merchant: MerchantId, due_at| SweepRow { merchant, id: merchant.uuid(), due_at };
    Ok(rows.into_iter().map(|it| row(it.merchant, it.computed_at)).collect())
}

/// Parses the names of defects.
pub(super) fn defects(names: &[String]) -> sqlx::Result<Vec<Defect>> {
    names.iter().map(|name| Defect::parse(name).ok_or_else(|| unreadable("a defect"))).collect()
}

struct DefectiveRow {
    product_id: ProductId,
    external_id: String,
    name: String,
    defects: Vec<String>,
    total: i64,
}

/// Returns products with defects in the order of their external ids, and their total number.
pub(crate) async fn products_with_defects(
    sql: &mut PgConnection,
    merchant: MerchantId,
    defect: Option<Defect>,
    limit: i64,
    offset: i64,
) -> sqlx::Result<(Vec<DefectiveProduct>, i64)> {
    let rows = catalog_with_defects!(
        DefectiveRow,
        r#"SELECT product_id AS "product_id!: ProductId", external_id AS "external_id!", name AS "name!",
                  defects AS "defects!", count(*) OVER () AS "total!""#,
        "WHERE CASE $2 WHEN '' THEN defects <> '{}' ELSE $2 = ANY (defects) END
         ORDER BY external_id LIMIT $3 OFFSET $4",
        merchant as MerchantId,
        defect.map_or("", Defect::as_str),
        limit,
        offset
    )
    .fetch_all(sql)
    .await?;
    let total = rows.first().map_or(0, |row| row.total);
    let product = |row: DefectiveRow| -> sqlx::Result<DefectiveProduct> {
        let defects = defects(&row.defects)?;
        let (id, external_id, name) = (row.product_id, row.external_id, row.name);
        Ok(DefectiveProduct { id, external_id, name, defects })
    };
    Ok((rows.into_iter().map(product).collect::<Result<_, _>>()?, total))
}
