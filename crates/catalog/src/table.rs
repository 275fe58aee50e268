//! All SQL of this crate.

use std::collections::BTreeMap;

use database::Work;
use primitives::{CategoryId, Currency, MerchantId, Money, ProductId, Timestamp, VariantId};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::{
    Category, Condition, Image, NewProduct, NewVariant, Product, Rating, StockStatus, Variant,
};

pub(crate) async fn put_category(
    work: &mut Work,
    merchant: MerchantId,
    category: &Category,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO category (merchant_id, category_id, parent_id, path, name)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (merchant_id, category_id) DO UPDATE SET parent_id = $3, path = $4, name = $5",
        merchant as MerchantId,
        category.id as CategoryId,
        category.parent as Option<CategoryId>,
        category.path,
        category.name,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Writes a product, unless it is there in just this form. Answers whether it wrote.
pub(crate) async fn put_product(
    work: &mut Work,
    merchant: MerchantId,
    id: ProductId,
    product: &NewProduct,
) -> sqlx::Result<bool> {
    let now = work.now();
    let written = sqlx::query!(
        r#"INSERT INTO product
             (merchant_id, product_id, category_id, sku, name, description, brand, gtin, condition,
              price_minor, currency, list_price_minor, stock_status, stock_quantity,
              rating_hundredths, rating_count, attributes, images, listed_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
         ON CONFLICT (merchant_id, product_id) DO UPDATE SET
             category_id = $3, sku = $4, name = $5, description = $6, brand = $7, gtin = $8,
             condition = $9, price_minor = $10, currency = $11, list_price_minor = $12,
             stock_status = $13, stock_quantity = $14, rating_hundredths = $15, rating_count = $16,
             attributes = $17, images = $18, listed_at = $19, updated_at = $20
         WHERE (product.category_id, product.sku, product.name, product.description, product.brand,
                product.gtin, product.condition, product.price_minor, product.currency,
                product.list_price_minor, product.stock_status, product.stock_quantity,
                product.rating_hundredths, product.rating_count, product.attributes, product.images,
                product.listed_at)
             IS DISTINCT FROM ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)"#,
        merchant as MerchantId,
        id as ProductId,
        product.category as CategoryId,
        product.sku,
        product.name,
        product.description,
        product.brand,
        product.gtin,
        product.condition.name(),
        product.price.minor(),
        product.price.currency().code(),
        product.list_price_minor,
        product.stock_status.name(),
        product.stock_quantity,
        product.rating.map(|rating| rating.hundredths),
        product.rating.map(|rating| rating.count),
        Json(&product.attributes) as _,
        Json(&product.images) as _,
        product.listed_at as Timestamp,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(written.rows_affected() == 1)
}

pub(crate) async fn put_variant(
    work: &mut Work,
    merchant: MerchantId,
    product: ProductId,
    id: VariantId,
    place: i32,
    variant: &NewVariant,
) -> sqlx::Result<bool> {
    let written = sqlx::query!(
        "INSERT INTO variant
             (merchant_id, variant_id, product_id, place, sku, name, gtin, options, price_minor,
              stock_status, stock_quantity)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (merchant_id, variant_id) DO UPDATE SET
             product_id = $3, place = $4, sku = $5, name = $6, gtin = $7, options = $8,
             price_minor = $9, stock_status = $10, stock_quantity = $11
         WHERE (variant.product_id, variant.place, variant.sku, variant.name, variant.gtin,
                variant.options, variant.price_minor, variant.stock_status, variant.stock_quantity)
             IS DISTINCT FROM ($3, $4, $5, $6, $7, $8, $9, $10, $11)",
        merchant as MerchantId,
        id as VariantId,
        product as ProductId,
        place,
        variant.sku,
        variant.name,
        variant.gtin,
        Json(&variant.options) as _,
        variant.price.minor(),
        variant.stock_status.name(),
        variant.stock_quantity,
    )
    .execute(work.sql())
    .await?;
    Ok(written.rows_affected() == 1)
}

/// Removes variants the merchant no longer names. Answers whether there were any.
pub(crate) async fn drop_other_variants(
    work: &mut Work,
    merchant: MerchantId,
    product: ProductId,
    kept: &[(VariantId, NewVariant)],
) -> sqlx::Result<bool> {
    let kept: Vec<Uuid> = kept.iter().map(|(id, _)| id.uuid()).collect();
    let dropped = sqlx::query!(
        "DELETE FROM variant WHERE merchant_id = $1 AND product_id = $2 AND variant_id <> ALL ($3)",
        merchant as MerchantId,
        product as ProductId,
        &kept,
    )
    .execute(work.sql())
    .await?;
    Ok(dropped.rows_affected() > 0)
}

pub(crate) async fn departments(
    work: &mut Work,
    merchant: MerchantId,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "SELECT name FROM category WHERE merchant_id = $1 AND parent_id IS NULL ORDER BY path",
        merchant as MerchantId,
    )
    .fetch_all(work.sql())
    .await
}

pub(crate) async fn visible_count(work: &mut Work, merchant: MerchantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM product WHERE merchant_id = $1 AND currency = ANY ($2)"#,
        merchant as MerchantId,
        &visible_currencies(),
    )
    .fetch_one(work.sql())
    .await
}

fn visible_currencies() -> Vec<String> {
    Currency::SUPPORTED.iter().map(ToString::to_string).collect()
}

pub(crate) async fn categories(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Vec<(Category, i64)>> {
    let rows = sqlx::query!(
        r#"SELECT category_id AS "id: CategoryId", parent_id AS "parent: CategoryId", path, name,
                  (SELECT count(*) FROM product
                   WHERE product.merchant_id = category.merchant_id
                     AND product.category_id = category.category_id
                     AND product.currency = ANY ($2)) AS "count!"
           FROM category WHERE merchant_id = $1"#,
        merchant as MerchantId,
        &visible_currencies(),
    )
    .fetch_all(sql)
    .await?;
    let place = |id, parent, path, name| Category { id, parent, path, name };
    Ok(rows
        .into_iter()
        .map(|row| (place(row.id, row.parent, row.path, row.name), row.count))
        .collect())
}

/// A product as the join with its category gives it.
struct ProductRow {
    product_id: ProductId,
    category_id: CategoryId,
    parent_id: Option<CategoryId>,
    category_path: String,
    category_name: String,
    sku: String,
    name: String,
    description: String,
    brand: String,
    gtin: Option<String>,
    condition: String,
    price_minor: i64,
    currency: String,
    list_price_minor: Option<i64>,
    stock_status: String,
    stock_quantity: Option<i32>,
    rating_hundredths: Option<i32>,
    rating_count: Option<i32>,
    attributes: Json<BTreeMap<String, String>>,
    images: Json<Vec<Image>>,
    listed_at: Timestamp,
    updated_at: Timestamp,
}

pub(crate) async fn product(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: ProductId,
) -> sqlx::Result<Option<Product>> {
    let row = sqlx::query_as!(
        ProductRow,
        r#"SELECT product_id AS "product_id: ProductId", category_id AS "category_id: CategoryId",
                  parent_id AS "parent_id: CategoryId", path AS category_path,
                  category.name AS category_name, sku, product.name, description, brand, gtin,
                  condition, price_minor, currency, list_price_minor, stock_status, stock_quantity,
                  rating_hundredths, rating_count,
                  attributes AS "attributes: Json<BTreeMap<String, String>>",
                  images AS "images: Json<Vec<Image>>", listed_at AS "listed_at: Timestamp",
                  updated_at AS "updated_at: Timestamp"
           FROM product JOIN category USING (merchant_id, category_id)
           WHERE merchant_id = $1 AND product_id = $2"#,
        merchant as MerchantId,
        id as ProductId,
    )
    .fetch_optional(&mut *sql)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let currency = parse_currency(&row.currency)?;
    let variants = variants(sql, merchant, id, currency).await?;
    read_product(row, currency, variants).map(Some)
}

async fn variants(
    sql: &mut PgConnection,
    merchant: MerchantId,
    product: ProductId,
    currency: Currency,
) -> sqlx::Result<Vec<Variant>> {
    let rows = sqlx::query!(
        r#"SELECT variant_id AS "id: VariantId", sku, name, gtin,
                  options AS "options: Json<BTreeMap<String, String>>", price_minor, stock_status,
                  stock_quantity
           FROM variant WHERE merchant_id = $1 AND product_id = $2 ORDER BY place"#,
        merchant as MerchantId,
        product as ProductId,
    )
    .fetch_all(sql)
    .await?;
    rows.into_iter()
        .map(|row| {
            let facts = NewVariant {
                sku: row.sku,
                name: row.name,
                gtin: row.gtin,
                options: row.options.0,
                price: Money::new(row.price_minor, currency),
                stock_status: parse_stock(&row.stock_status)?,
                stock_quantity: row.stock_quantity,
            };
            Ok(Variant { id: row.id, facts })
        })
        .collect()
}

fn read_product(
    row: ProductRow,
    currency: Currency,
    variants: Vec<Variant>,
) -> sqlx::Result<Product> {
    let rating = row.rating_hundredths.zip(row.rating_count);
    Ok(Product {
        id: row.product_id,
        facts: NewProduct {
            sku: row.sku,
            name: row.name,
            description: row.description,
            brand: row.brand,
            gtin: row.gtin,
            category: row.category_id,
            condition: Condition::from_name(&row.condition)
                .ok_or_else(|| unreadable("a condition"))?,
            price: Money::new(row.price_minor, currency),
            list_price_minor: row.list_price_minor,
            stock_status: parse_stock(&row.stock_status)?,
            stock_quantity: row.stock_quantity,
            rating: rating.map(|(hundredths, count)| Rating { hundredths, count }),
            attributes: row.attributes.0,
            images: row.images.0,
            listed_at: row.listed_at,
        },
        category: Category {
            id: row.category_id,
            parent: row.parent_id,
            path: row.category_path,
            name: row.category_name,
        },
        variants,
        updated_at: row.updated_at,
    })
}

fn parse_currency(text: &str) -> sqlx::Result<Currency> {
    text.parse().map_err(|_| unreadable("a currency"))
}

fn parse_stock(text: &str) -> sqlx::Result<StockStatus> {
    StockStatus::from_name(text).ok_or_else(|| unreadable("a stock status"))
}

fn unreadable(what: &str) -> sqlx::Error {
    sqlx::Error::Decode(what.into())
}
