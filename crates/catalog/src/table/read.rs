//! Reading products.

use std::collections::BTreeMap;

use primitives::{CategoryId, Currency, MerchantId, Money, ProductId, Timestamp, VariantId};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::unreadable;
use crate::{
    Category, Condition, Image, Product, ProductFacts, ProductPolicies, Rating, Sale, StockStatus,
    Variant, VariantFacts,
};

/// Returns the currencies in which agents can pay; products in other currencies are hidden from agents.
pub(super) fn visible_currencies() -> Vec<String> {
    Currency::SUPPORTED.iter().map(ToString::to_string).collect()
}

/// A product joined with its category.
pub(super) struct ProductRow {
    pub(super) merchant_id: MerchantId,
    pub(super) product_id: ProductId,
    pub(super) external_id: String,
    pub(super) category_id: CategoryId,
    pub(super) parent_id: Option<CategoryId>,
    pub(super) category_path: String,
    pub(super) category_name: String,
    pub(super) sku: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) brand: String,
    pub(super) gtin: Option<String>,
    pub(super) mpn: Option<String>,
    pub(super) url: Option<String>,
    pub(super) condition: String,
    pub(super) price_minor: i64,
    pub(super) currency: String,
    pub(super) list_price_minor: Option<i64>,
    pub(super) sale: Option<Json<Sale>>,
    pub(super) stock_status: String,
    pub(super) stock_quantity: Option<i32>,
    pub(super) rating_hundredths: Option<i32>,
    pub(super) rating_count: Option<i32>,
    pub(super) attributes: Json<BTreeMap<String, String>>,
    pub(super) images: Json<Vec<Image>>,
    pub(super) policies: Json<ProductPolicies>,
    pub(super) listed_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) total: i64,
}

/// Selects `ProductRow`s of listed products in a visible currency ($1). With an explicit `from`, that clause has to apply
/// both conditions.
macro_rules! products {
    ($total:literal, $rest:literal, $($argument:expr),*) => {
        products!(
            $total,
            from "product JOIN category USING (merchant_id, category_id)
                  WHERE product.retired_at IS NULL AND product.currency = ANY ($1) ",
            $rest,
            $($argument),*
        )
    };
    ($total:literal, from $from:literal, $rest:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            ProductRow,
            r#"SELECT product.merchant_id AS "merchant_id: MerchantId",
                      product.product_id AS "product_id: ProductId", external_id,
                      product.category_id AS "category_id: CategoryId",
                      parent_id AS "parent_id: CategoryId", path AS category_path,
                      category.name AS category_name, sku, product.name, description, brand, gtin, mpn,
                      url, condition, price_minor, currency, list_price_minor,
                      sale AS "sale: Json<crate::Sale>",
                      CASE WHEN stock_quantity <= product.held AND product.held > 0 AND stock_status IN ('in_stock', 'low_stock')
                           THEN 'out_of_stock' ELSE stock_status END AS "stock_status!",
                      stock_quantity - least(product.held, stock_quantity) AS stock_quantity, rating_hundredths, rating_count,
                      attributes AS "attributes: Json<BTreeMap<String, String>>",
                      images AS "images: Json<Vec<Image>>",
                      policies AS "policies: Json<ProductPolicies>",
                      listed_at AS "listed_at: Timestamp", updated_at AS "updated_at: Timestamp", "#
                + $total
                + " FROM "
                + $from
                + $rest,
            &visible_currencies(),
            $($argument),*
        )
    };
}

pub(super) use products;

/// Criterion by which products are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    Id(ProductId),
    /// SKU of the product or of one of its variants.
    Sku(String),
    /// GTIN of the product or of one of its variants, in the form with 14 digits.
    Gtin(String),
    /// Product page in the merchant's shop.
    Url(String),
}

/// Returns the products of a store that match a lookup.
pub(crate) async fn find(
    sql: &mut PgConnection,
    merchant: MerchantId,
    lookup: &Lookup,
    limit: i64,
) -> sqlx::Result<Vec<Product>> {
    let rows = match lookup {
        Lookup::Id(id) => {
            products!(
                r#"1::bigint AS "total!""#,
                "AND product.merchant_id = $2 AND product.product_id = $3",
                merchant as MerchantId,
                *id as ProductId
            )
            .fetch_all(&mut *sql)
            .await?
        }
        Lookup::Sku(sku) => {
            products!(
                r#"1::bigint AS "total!""#,
                "AND product.merchant_id = $2 AND product.product_id IN (
                     SELECT product_id FROM product WHERE merchant_id = $2 AND sku = $3
                     UNION SELECT product_id FROM variant
                     WHERE merchant_id = $2 AND sku = $3 AND retired_at IS NULL)
                 ORDER BY product.external_id LIMIT $4",
                merchant as MerchantId,
                sku,
                limit
            )
            .fetch_all(&mut *sql)
            .await?
        }
        Lookup::Gtin(gtin) => {
            products!(
                r#"1::bigint AS "total!""#,
                "AND product.merchant_id = $2 AND product.product_id IN (
                     SELECT product_id FROM product WHERE merchant_id = $2 AND lpad(gtin, 14, '0') = $3
                     UNION SELECT product_id FROM variant
                     WHERE merchant_id = $2 AND lpad(gtin, 14, '0') = $3 AND retired_at IS NULL)
                 ORDER BY product.external_id LIMIT $4",
                merchant as MerchantId,
                gtin,
                limit
            )
            .fetch_all(&mut *sql)
            .await?
        }
        Lookup::Url(url) => {
            products!(
                r#"1::bigint AS "total!""#,
                "AND product.merchant_id = $2 AND product.url = $3
                 ORDER BY product.external_id LIMIT $4",
                merchant as MerchantId,
                url,
                limit
            )
            .fetch_all(&mut *sql)
            .await?
        }
    };
    with_variants(sql, rows).await
}

/// Returns the newest products of a store, and how many it lists.
pub(crate) async fn newest(
    sql: &mut PgConnection,
    merchant: MerchantId,
    limit: i64,
    offset: i64,
) -> sqlx::Result<(Vec<Product>, i64)> {
    let rows = products!(
        r#"(SELECT product_count FROM store WHERE store.merchant_id = $2) AS "total!""#,
        "AND product.merchant_id = $2
         ORDER BY listed_at DESC, product.product_id LIMIT $3 OFFSET $4",
        merchant as MerchantId,
        limit,
        offset
    )
    .fetch_all(&mut *sql)
    .await?;
    let total = rows.first().map_or(0, |row| row.total);
    Ok((with_variants(sql, rows).await?, total))
}

/// The key of a reduced product.
pub(crate) struct Deal {
    pub(crate) merchant_id: MerchantId,
    pub(crate) product_id: ProductId,
    pub(crate) total: i64,
}

/// Returns the largest reductions of the cell, of open stores with at least this trust score. Counting stops at the
/// budget.
pub(crate) async fn deals(
    sql: &mut PgConnection,
    share_max: f64,
    score_min: f64,
    budget: i64,
    limit: i64,
    offset: i64,
) -> sqlx::Result<Vec<Deal>> {
    sqlx::query_as!(
        Deal,
        r#"SELECT merchant_id AS "merchant_id: MerchantId", product_id AS "product_id: ProductId",
                  count(*) OVER () AS "total!"
           FROM (SELECT product.merchant_id, product_id,
                        price_minor::double precision / list_price_minor AS share
                 FROM product
                 JOIN standing ON standing.merchant_id = product.merchant_id AND score >= $3
                 JOIN store ON store.merchant_id = product.merchant_id AND active AND store.status = 'open'
                 WHERE retired_at IS NULL AND list_price_minor IS NOT NULL
                   AND price_minor::double precision / list_price_minor <= $2
                   AND product.currency = ANY ($1)
                   AND stock_status = ANY ($7)
                 ORDER BY price_minor::double precision / list_price_minor
                 LIMIT $4) AS best
           ORDER BY share, product_id LIMIT $5 OFFSET $6"#,
        &visible_currencies(),
        share_max,
        score_min,
        budget,
        limit,
        offset,
        &StockStatus::available_names(),
    )
    .fetch_all(sql)
    .await
}

/// Returns the merchant of a product.
pub(crate) async fn merchant_of(
    sql: &mut PgConnection,
    product: ProductId,
) -> sqlx::Result<Option<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM product WHERE product_id = $1 LIMIT 1"#,
        product as ProductId,
    )
    .fetch_optional(sql)
    .await
}

/// Returns the merchants that sell an article, the highest trust score first.
pub(crate) async fn sellers(
    sql: &mut PgConnection,
    gtin: &str,
    limit: i64,
) -> sqlx::Result<Vec<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant!: MerchantId"
           FROM (SELECT merchant_id FROM product
                 WHERE lpad(gtin, 14, '0') = $1 AND retired_at IS NULL
                 UNION SELECT merchant_id FROM variant
                 WHERE lpad(gtin, 14, '0') = $1 AND retired_at IS NULL) AS seller
           LEFT JOIN standing USING (merchant_id)
           ORDER BY score DESC NULLS LAST, merchant_id LIMIT $2"#,
        gtin,
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Adds the variants of all rows.
async fn with_variants(
    sql: &mut PgConnection,
    rows: Vec<ProductRow>,
) -> sqlx::Result<Vec<Product>> {
    let products = with_merchants_and_variants(sql, rows).await?;
    Ok(products.into_iter().map(|(_, product)| product).collect())
}

/// Adds the variants of all rows, and the merchant of each product. The statement looks variants up product by product,
/// whatever the statistics say.
pub(super) async fn with_merchants_and_variants(
    sql: &mut PgConnection,
    rows: Vec<ProductRow>,
) -> sqlx::Result<Vec<(MerchantId, Product)>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let merchants: Vec<Uuid> = rows.iter().map(|row| row.merchant_id.uuid()).collect();
    let ids: Vec<Uuid> = rows.iter().map(|row| row.product_id.uuid()).collect();
    let variants = sqlx::query!(
        r#"SELECT wanted.number AS "number!", variant_id AS "id: VariantId", sku, name, gtin,
                  options AS "options: Json<BTreeMap<String, String>>", image, price_minor,
                  list_price_minor, sale AS "sale: Json<Sale>",
                  stock_quantity - least(held, stock_quantity) AS stock_quantity,
                  CASE WHEN stock_quantity <= held AND held > 0 AND stock_status IN ('in_stock', 'low_stock')
                       THEN 'out_of_stock' ELSE stock_status END AS "stock_status!"
           FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS wanted (merchant_id, product_id, number)
           CROSS JOIN LATERAL (
               SELECT * FROM variant
               WHERE variant.merchant_id = wanted.merchant_id
                 AND variant.product_id = wanted.product_id
                 AND variant.retired_at IS NULL
               ORDER BY place) AS found
           ORDER BY wanted.number, place"#,
        &merchants,
        &ids,
    )
    .fetch_all(sql)
    .await?;
    let mut products = Vec::with_capacity(rows.len());
    for row in rows {
        let currency = row.currency.parse().map_err(|_| unreadable("a currency"))?;
        products.push((row.merchant_id, product(row, currency)?));
    }
    for row in variants {
        let index = usize::try_from(row.number - 1).unwrap_or(usize::MAX);
        let Some((_, product)) = products.get_mut(index) else { continue };
        let facts = VariantFacts {
            sku: row.sku,
            name: row.name,
            gtin: row.gtin,
            options: row.options.0,
            image: row.image,
            price: Money::new(row.price_minor, product.facts.price.currency()),
            list_price_minor: row.list_price_minor,
            sale: row.sale.map(|sale| sale.0),
            stock_status: stock(&row.stock_status)?,
            stock_quantity: row.stock_quantity,
        };
        product.variants.push(Variant { id: row.id, facts });
    }
    Ok(products)
}

fn product(row: ProductRow, currency: Currency) -> sqlx::Result<Product> {
    let rating = row.rating_hundredths.zip(row.rating_count);
    Ok(Product {
        id: row.product_id,
        facts: ProductFacts {
            external_id: row.external_id,
            sku: row.sku,
            name: row.name,
            description: row.description,
            brand: row.brand,
            gtin: row.gtin,
            mpn: row.mpn,
            url: row.url,
            category: row.category_path.clone(),
            condition: Condition::parse(&row.condition).ok_or_else(|| unreadable("a condition"))?,
            price: Money::new(row.price_minor, currency),
            list_price_minor: row.list_price_minor,
            sale: row.sale.map(|sale| sale.0),
            stock_status: stock(&row.stock_status)?,
            stock_quantity: row.stock_quantity,
            rating: rating.map(|(hundredths, count)| Rating { hundredths, count }),
            attributes: row.attributes.0,
            images: row.images.0,
            policies: row.policies.0,
            listed_at: Some(row.listed_at),
        },
        category: Category {
            id: row.category_id,
            parent: row.parent_id,
            path: row.category_path,
            name: row.category_name,
        },
        variants: Vec::new(),
        listed_at: row.listed_at,
        updated_at: row.updated_at,
    })
}

fn stock(text: &str) -> sqlx::Result<StockStatus> {
    StockStatus::parse(text).ok_or_else(|| unreadable("a stock status"))
}
