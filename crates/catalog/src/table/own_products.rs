//! Reading the products of a store in any state, for its merchant.

use std::collections::{BTreeMap, HashMap};

use primitives::{CategoryId, MerchantId, Money, ProductId, Timestamp, VariantId};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::read::{ProductRow, products, visible_currencies, with_merchants_and_variants};
use super::unreadable;
use crate::own_products::{OwnProduct, OwnProductSummary, OwnProductsQuery};
use crate::{Defect, Image, Product, ProductPolicies, Review, StockStatus};

struct SummaryRow {
    product_id: ProductId,
    external_id: String,
    sku: String,
    name: String,
    category_path: String,
    price_minor: i64,
    currency: String,
    stock_status: String,
    stock_quantity: Option<i32>,
    variants: i64,
    updated_at: Timestamp,
    retired_at: Option<Timestamp>,
    defects: Vec<String>,
}

impl SummaryRow {
    fn summary(self) -> sqlx::Result<OwnProductSummary> {
        let currency = self.currency.parse().map_err(|_| unreadable("a currency"))?;
        let defect = |name: &String| Defect::parse(name).ok_or_else(|| unreadable("a defect"));
        Ok(OwnProductSummary {
            id: self.product_id,
            external_id: self.external_id,
            sku: self.sku,
            name: self.name,
            category: self.category_path,
            price: Money::new(self.price_minor, currency),
            stock_status: stock_status(&self.stock_status)?,
            stock_quantity: self.stock_quantity,
            variants: self.variants,
            updated_at: self.updated_at,
            retired_at: self.retired_at,
            defects: self.defects.iter().map(defect).collect::<Result<_, _>>()?,
        })
    }
}

fn stock_status(text: &str) -> sqlx::Result<StockStatus> {
    StockStatus::parse(text).ok_or_else(|| unreadable("a stock status"))
}

/// Selects from the products of the merchant ($1) that match a query, each with its defects: those of `with_defects!`,
/// looked up product by product, so that a page costs what it shows.
macro_rules! own_products {
    ($result:ident, $columns:literal, $end:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            $result,
            "SELECT " + $columns + r#"
            FROM product
            JOIN category USING (merchant_id, category_id)
            CROSS JOIN LATERAL (
                SELECT count(*) AS variants, coalesce(bool_or(gtin IS NULL), true) AS missing_gtin,
                       coalesce(bool_or((stock_status IN ('in_stock', 'low_stock') AND stock_quantity = 0)
                                        OR (stock_status = 'out_of_stock' AND stock_quantity > 0)), false)
                           AS contradicting_stock
                FROM variant
                WHERE variant.merchant_id = product.merchant_id AND variant.product_id = product.product_id
                  AND variant.retired_at IS NULL) AS forms
            CROSS JOIN LATERAL (
                SELECT array_remove(ARRAY[
                    CASE WHEN price_minor = 0 THEN 'missing_price' END,
                    CASE WHEN images = '[]' THEN 'missing_image' END,
                    CASE WHEN gtin IS NULL AND forms.missing_gtin THEN 'missing_gtin' END,
                    CASE WHEN currency <> $2 THEN 'foreign_currency' END,
                    CASE WHEN (stock_status IN ('in_stock', 'low_stock') AND coalesce(stock_quantity = 0, false))
                              OR (stock_status = 'out_of_stock' AND coalesce(stock_quantity > 0, false))
                              OR forms.contradicting_stock THEN 'contradicting_stock' END,
                    CASE WHEN EXISTS (
                        SELECT FROM product AS other
                        WHERE other.merchant_id = product.merchant_id AND other.retired_at IS NULL
                          AND lpad(other.gtin, 14, '0') = lpad(product.gtin, 14, '0')
                          AND other.product_id <> product.product_id) THEN 'shared_gtin' END], NULL) AS defects
                ) AS judged
            WHERE product.merchant_id = $1
              AND ($3::timestamptz IS NULL OR product.updated_at >= $3)
              AND CASE $4
                  WHEN 'listed' THEN retired_at IS NULL AND currency = ANY ($5) AND NOT $6
                  WHEN 'hidden' THEN retired_at IS NOT NULL OR currency <> ALL ($5) OR $6
                  WHEN 'failing' THEN retired_at IS NULL AND defects <> '{}'
                  ELSE true END "#
                + $end,
            $($argument),*
        )
    };
}

/// Returns a page of products in the order of their external ids. Rows that cannot be read are logged and left out.
pub(crate) async fn own_products(
    sql: &mut PgConnection,
    merchant: MerchantId,
    query: &OwnProductsQuery<'_>,
    limit: i64,
) -> sqlx::Result<(Vec<OwnProductSummary>, Option<String>)> {
    let rows = own_products!(
        SummaryRow,
        r#"product_id AS "product_id: ProductId", external_id, sku, product.name, path AS category_path, price_minor,
           currency, stock_status, stock_quantity, forms.variants AS "variants!",
           updated_at AS "updated_at: Timestamp", retired_at AS "retired_at: Timestamp",
           judged.defects AS "defects!""#,
        "AND external_id > $7 ORDER BY external_id LIMIT $8",
        merchant as MerchantId,
        query.store_currency.code(),
        query.changed_since as Option<Timestamp>,
        query.status.map_or("", crate::OwnProductStatus::as_str),
        &visible_currencies(),
        query.store_hidden,
        query.after.unwrap_or_default(),
        limit
    )
    .fetch_all(sql)
    .await?;
    let full = usize::try_from(limit).is_ok_and(|limit| rows.len() >= limit);
    let last = rows.last().filter(|_| full).map(|row| row.external_id.clone());
    let read = |row: SummaryRow| {
        let product = row.product_id;
        let log = |error: &sqlx::Error| {
            tracing::error!(%merchant, %product, %error, "a product cannot be read; the others are");
        };
        row.summary().inspect_err(log).ok()
    };
    Ok((rows.into_iter().filter_map(read).collect(), last))
}

/// Counts the products that match a query, up to a limit.
pub(crate) async fn count_own_products(
    sql: &mut PgConnection,
    merchant: MerchantId,
    query: &OwnProductsQuery<'_>,
    limit: i64,
) -> sqlx::Result<i64> {
    struct One {
        #[expect(dead_code, reason = "only the number of rows counts")]
        one: i32,
    }
    let rows = own_products!(
        One,
        r#"1 AS "one!""#,
        "LIMIT $7",
        merchant as MerchantId,
        query.store_currency.code(),
        query.changed_since as Option<Timestamp>,
        query.status.map_or("", crate::OwnProductStatus::as_str),
        &visible_currencies(),
        query.store_hidden,
        limit
    )
    .fetch_all(sql)
    .await?;
    Ok(i64::try_from(rows.len()).unwrap_or(i64::MAX))
}

/// Returns the external ids of the listed products after one, in their order.
pub(crate) async fn listed_after(
    sql: &mut PgConnection,
    merchant: MerchantId,
    after: &str,
    limit: i64,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "SELECT external_id FROM product
         WHERE merchant_id = $1 AND external_id > $2 AND retired_at IS NULL
         ORDER BY external_id LIMIT $3",
        merchant as MerchantId,
        after,
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns products with everything that is stored of them, in the order of their external ids.
pub(crate) async fn kept_products(
    sql: &mut PgConnection,
    merchant: MerchantId,
    external_ids: &[String],
) -> sqlx::Result<Vec<OwnProduct>> {
    let rows = products!(
        r#"1::bigint AS "total!""#,
        from "product JOIN category USING (merchant_id, category_id)
              WHERE $1::text[] IS NOT NULL AND product.merchant_id = $2 AND product.external_id = ANY ($3) ",
        "ORDER BY product.external_id",
        merchant as MerchantId,
        external_ids
    )
    .fetch_all(&mut *sql)
    .await?;
    let mut products: Vec<Product> = with_merchants_and_variants(sql, rows)
        .await?
        .into_iter()
        .map(|(_, product)| product)
        .collect();
    let ids: Vec<Uuid> = products.iter().map(|product| product.id.uuid()).collect();
    let retired = put_stored_stock(sql, merchant, &ids, &mut products).await?;
    let names = category_names(sql, merchant, &products).await?;
    let mut reviews = reviews_of(sql, merchant, &ids).await?;
    let own = |product: Product| OwnProduct {
        category_names: ancestors(&product.category.path)
            .filter_map(|path| names.get(path).cloned())
            .collect(),
        reviews: reviews.remove(&product.id).unwrap_or_default(),
        retired_at: retired.get(&product.id).copied().flatten(),
        product,
    };
    Ok(products.into_iter().map(own).collect())
}

/// Puts the stock as the merchant stated it, held units included, in place of what agents can buy. Returns when each
/// product was retired.
async fn put_stored_stock(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[Uuid],
    products: &mut [Product],
) -> sqlx::Result<HashMap<ProductId, Option<Timestamp>>> {
    let stored = sqlx::query!(
        r#"SELECT product_id AS "id: ProductId", stock_status, stock_quantity,
                  retired_at AS "retired_at: Timestamp"
           FROM product WHERE merchant_id = $1 AND product_id = ANY ($2)"#,
        merchant as MerchantId,
        ids,
    )
    .fetch_all(&mut *sql)
    .await?;
    let variants = sqlx::query!(
        r#"SELECT variant_id AS "id: VariantId", stock_status, stock_quantity
           FROM variant WHERE merchant_id = $1 AND product_id = ANY ($2) AND retired_at IS NULL"#,
        merchant as MerchantId,
        ids,
    )
    .fetch_all(sql)
    .await?;
    let variants: HashMap<VariantId, _> = variants.into_iter().map(|row| (row.id, row)).collect();
    let mut by_id: HashMap<ProductId, _> = stored.into_iter().map(|row| (row.id, row)).collect();
    let mut retired = HashMap::new();
    for product in products {
        if let Some(row) = by_id.remove(&product.id) {
            product.facts.stock_status = stock_status(&row.stock_status)?;
            product.facts.stock_quantity = row.stock_quantity;
            retired.insert(product.id, row.retired_at);
        }
        for variant in &mut product.variants {
            if let Some(row) = variants.get(&variant.id) {
                variant.facts.stock_status = stock_status(&row.stock_status)?;
                variant.facts.stock_quantity = row.stock_quantity;
            }
        }
    }
    Ok(retired)
}

/// Returns the paths of a category and of all above it, from the top.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| end).chain([path.len()]).map(|end| &path[..end])
}

/// Returns the names of the categories of these products, and of all above them, by path.
async fn category_names(
    sql: &mut PgConnection,
    merchant: MerchantId,
    products: &[Product],
) -> sqlx::Result<HashMap<String, String>> {
    let mut paths: Vec<String> = products
        .iter()
        .flat_map(|product| ancestors(&product.category.path))
        .map(str::to_owned)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    let rows = sqlx::query!(
        "SELECT path, name FROM category WHERE merchant_id = $1 AND path = ANY ($2)",
        merchant as MerchantId,
        &paths,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.path, row.name)).collect())
}

/// Returns the reviews that the merchant passed on, the oldest first.
async fn reviews_of(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[Uuid],
) -> sqlx::Result<HashMap<ProductId, Vec<Review>>> {
    let rows = sqlx::query!(
        r#"SELECT product_id AS "id: ProductId", external_id, stars, title, text, author,
                  written_at AS "written_at: Timestamp"
           FROM review WHERE merchant_id = $1 AND product_id = ANY ($2) AND source = 'merchant'
           ORDER BY product_id, written_at, external_id"#,
        merchant as MerchantId,
        ids,
    )
    .fetch_all(sql)
    .await?;
    let mut reviews: HashMap<ProductId, Vec<Review>> = HashMap::new();
    for row in rows {
        reviews.entry(row.id).or_default().push(Review {
            external_id: row.external_id,
            stars: row.stars,
            title: row.title,
            text: row.text,
            author: row.author,
            written_at: row.written_at,
        });
    }
    Ok(reviews)
}
