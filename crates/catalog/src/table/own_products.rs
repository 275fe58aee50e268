//! Reading the products of a store in any state, for its merchant.

use std::collections::{BTreeMap, HashMap};

use primitives::{CategoryId, MerchantId, Money, ProductId, Timestamp, VariantId};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::quality::{defects, with_defects};
use super::read::{ProductRow, products, visible_currencies, with_merchants_and_variants};
use super::unreadable;
use crate::own_products::{OwnProductSummary, OwnProductsQuery, StoredProduct};
use crate::{Image, Product, ProductPolicies, Review, StockStatus};

struct SummaryRow {
    product_id: ProductId,
    external_id: String,
    sku: String,
    name: String,
    category_path: String,
    price_minor: i64,
    price_due_at: Option<Timestamp>,
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
        Ok(OwnProductSummary {
            id: self.product_id,
            external_id: self.external_id,
            sku: self.sku,
            name: self.name,
            category: self.category_path,
            price: Money::new(self.price_minor, currency),
            price_due_at: self.price_due_at,
            stock_status: stock_status(&self.stock_status)?,
            stock_quantity: self.stock_quantity,
            variants: self.variants,
            updated_at: self.updated_at,
            retired_at: self.retired_at,
            defects: defects(&self.defects)?,
        })
    }
}

fn stock_status(text: &str) -> sqlx::Result<StockStatus> {
    StockStatus::parse(text).ok_or_else(|| unreadable("a stock status"))
}

/// Selects from the products after an external id ($6), in the order of their external ids, that match a query. At most $7
/// products are examined. What belongs to a product is looked up only if the product matches; the forms of a GTIN with 8 to 14
/// digits are compared one by one, for the index `product_gtin_of_store`.
macro_rules! own_products {
    ($result:ident, $begin:literal, $end:literal, $query:expr, $($argument:expr),*) => {
        with_defects!(
            $result,
            $begin,
            products "(SELECT * FROM product WHERE merchant_id = $1 AND external_id > $6 ORDER BY external_id LIMIT $7)",
            variants "AND variant.product_id = product.product_id",
            shared_gtin "EXISTS (
                SELECT FROM product AS other
                WHERE other.merchant_id = $1 AND other.retired_at IS NULL
                  AND other.gtin = ANY (ARRAY[
                      lpad(product.gtin, 14, '0'), right(lpad(product.gtin, 14, '0'), 13),
                      right(lpad(product.gtin, 14, '0'), 12), right(lpad(product.gtin, 14, '0'), 8)])
                  AND lpad(other.gtin, 14, '0') = lpad(product.gtin, 14, '0')
                  AND other.product_id <> product.product_id)",
            // The first conditions are on the product alone, so that they are decided before the defects.
            "WHERE ($2::timestamptz IS NULL OR updated_at >= $2)
               AND CASE $3
                   WHEN 'listed' THEN retired_at IS NULL AND currency = ANY ($4) AND NOT $5
                   WHEN 'hidden' THEN retired_at IS NOT NULL OR currency <> ALL ($4) OR $5
                   WHEN 'failing' THEN retired_at IS NULL
                   ELSE true END
               AND ($3 <> 'failing' OR defects <> '{}')
             ORDER BY external_id LIMIT $8" $end,
            $query.merchant as MerchantId,
            $query.changed_since as Option<Timestamp>,
            $query.status.map_or("", crate::OwnProductStatus::as_str),
            &visible_currencies(),
            $query.store_hidden,
            $($argument),*
        )
    };
}

/// A page of products.
pub(crate) struct SummaryPage {
    /// Without rows that cannot be read.
    pub(crate) products: Vec<OwnProductSummary>,
    /// External id of the last row, if there are as many as were asked for.
    pub(crate) last: Option<String>,
}

/// Returns the first products after an external id, in the order of their external ids, of a number of products that are
/// examined. Rows that cannot be read are logged and left out.
pub(crate) async fn own_products(
    sql: &mut PgConnection,
    query: &OwnProductsQuery,
    after: &str,
    limit: i64,
) -> sqlx::Result<SummaryPage> {
    let rows = own_products!(
        SummaryRow,
        r#"SELECT product_id AS "product_id!: ProductId", external_id AS "external_id!", sku AS "sku!", name AS "name!",
                  (SELECT path FROM category WHERE category.merchant_id = $1 AND category.category_id = judged.category_id)
                      AS "category_path!",
                  price_minor AS "price_minor!", price_due_at AS "price_due_at: Timestamp", currency AS "currency!",
                  stock_status AS "stock_status!", stock_quantity, variants AS "variants!",
                  updated_at AS "updated_at!: Timestamp", retired_at AS "retired_at: Timestamp", defects AS "defects!""#,
        "",
        query,
        after,
        query.examined_max,
        limit
    )
    .fetch_all(sql)
    .await?;
    let full = usize::try_from(limit).is_ok_and(|limit| rows.len() >= limit);
    let last = rows.last().filter(|_| full).map(|row| row.external_id.clone());
    let read = |row: SummaryRow| {
        let (merchant, product) = (query.merchant, row.product_id);
        let log = |error: &sqlx::Error| {
            tracing::error!(%merchant, %product, %error, "a product cannot be read; the others are");
        };
        row.summary().inspect_err(log).ok()
    };
    Ok(SummaryPage { products: rows.into_iter().filter_map(read).collect(), last })
}

/// Counts the products that match a query, up to a limit, of the first ones of the store.
pub(crate) async fn count_own_products(
    sql: &mut PgConnection,
    query: &OwnProductsQuery,
    limit: i64,
) -> sqlx::Result<i64> {
    struct Count {
        products: i64,
    }
    let count = own_products!(
        Count,
        r#"SELECT count(*) AS "products!" FROM (SELECT"#,
        ") AS matching",
        query,
        "",
        query.examined_max,
        limit
    )
    .fetch_one(sql)
    .await?;
    Ok(count.products)
}

/// Returns the external id of the product that is this many after an external id, in any state; `None` if there are fewer.
pub(crate) async fn nth_external_id(
    sql: &mut PgConnection,
    merchant: MerchantId,
    after: &str,
    number: i64,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "SELECT external_id FROM product WHERE merchant_id = $1 AND external_id > $2
         ORDER BY external_id OFFSET $3::bigint - 1 LIMIT 1",
        merchant as MerchantId,
        after,
        number,
    )
    .fetch_optional(sql)
    .await
}

/// Returns the external ids of the listed products after one, in their order, and about how many bytes each has. Sizes of
/// long texts are known without reading them.
pub(crate) async fn listed_after(
    sql: &mut PgConnection,
    merchant: MerchantId,
    after: &str,
    limit: i64,
) -> sqlx::Result<Vec<(String, i64)>> {
    let rows = sqlx::query!(
        r#"SELECT external_id,
                  (1024 + octet_length(description) + pg_column_size(attributes) + pg_column_size(images)
                   + (SELECT coalesce(sum(512 + octet_length(name) + pg_column_size(options)), 0) FROM variant
                      WHERE variant.merchant_id = product.merchant_id AND variant.product_id = product.product_id)
                   + (SELECT coalesce(sum(256 + octet_length(title) + octet_length(text)), 0) FROM review
                      WHERE review.merchant_id = product.merchant_id AND review.product_id = product.product_id)
                  )::bigint AS "bytes!"
           FROM product
           WHERE merchant_id = $1 AND external_id > $2 AND retired_at IS NULL
           ORDER BY external_id LIMIT $3"#,
        merchant as MerchantId,
        after,
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.external_id, row.bytes)).collect())
}

/// Returns products in any state, with what agents can buy of them, in the order of their external ids.
pub(crate) async fn products_in_any_state(
    sql: &mut PgConnection,
    merchant: MerchantId,
    external_ids: &[String],
) -> sqlx::Result<Vec<Product>> {
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
    let products = with_merchants_and_variants(sql, rows).await?;
    Ok(products.into_iter().map(|(_, product)| product).collect())
}

/// Completes products of `products_in_any_state` with everything that is stored of them.
pub(crate) async fn stored_products(
    sql: &mut PgConnection,
    merchant: MerchantId,
    mut products: Vec<Product>,
) -> sqlx::Result<Vec<StoredProduct>> {
    let ids: Vec<Uuid> = products.iter().map(|product| product.id.uuid()).collect();
    let retired = put_stored_stock(sql, merchant, &ids, &mut products).await?;
    let names = category_names(sql, merchant, &products).await?;
    let mut reviews = reviews_of(sql, merchant, &ids).await?;
    let stored = |product: Product| StoredProduct {
        category_names: ancestors(&product.category.path)
            .filter_map(|path| names.get(path).cloned())
            .collect(),
        reviews: reviews.remove(&product.id).unwrap_or_default(),
        retired_at: retired.get(&product.id).copied().flatten(),
        product,
    };
    Ok(products.into_iter().map(stored).collect())
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
