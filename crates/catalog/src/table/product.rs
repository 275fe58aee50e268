//! Writing products in batches: one statement to look them up, one to insert and one to update.

use std::collections::HashMap;

use database::Work;
use primitives::{CategoryId, FeedRunId, MerchantId, ProductId, Timestamp};
use sqlx::types::Json;
use uuid::Uuid;

use super::read::visible_currencies;
use crate::incoming::{Incoming, Origin};

/// An existing product: the columns that decide whether and how it is written.
#[derive(Debug, Clone)]
pub(crate) struct ExistingProduct {
    pub(crate) product_id: ProductId,
    pub(crate) external_id: String,
    pub(crate) fingerprint: Option<Uuid>,
    pub(crate) price_minor: i64,
    pub(crate) list_price_minor: Option<i64>,
    pub(crate) currency: String,
    pub(crate) pushed_at: Option<Timestamp>,
    pub(crate) retired: bool,
}

/// Selects the rows with these external ids ($2), in that order. It is written so that each is a lookup by the whole key:
/// for a store without statistics the planner expects one row, and would read all of them for every batch.
macro_rules! existing_rows {
    ($lock:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            ExistingProduct,
            r#"SELECT found.product_id AS "product_id: ProductId", found.external_id,
                      found.fingerprint, found.price_minor, found.list_price_minor, found.currency,
                      found.pushed_at AS "pushed_at: Timestamp",
                      found.retired_at IS NOT NULL AS "retired!"
               FROM unnest($2::text[]) AS wanted (external_id)
               CROSS JOIN LATERAL (
                   SELECT * FROM product
                   WHERE merchant_id = $1 AND product.external_id = wanted.external_id
                   LIMIT 1 "#
                + $lock
                + ") AS found",
            $($argument),*
        )
    };
}

/// Returns existing products without locking them.
pub(crate) async fn existing_products(
    work: &mut Work,
    merchant: MerchantId,
    external_ids: &[String],
) -> sqlx::Result<Vec<ExistingProduct>> {
    existing_rows!("", merchant as MerchantId, external_ids).fetch_all(work.sql()).await
}

/// Returns existing products and locks them until the end of the transaction. Rows are locked in the order of their
/// external ids, so that two transactions cannot deadlock.
pub(crate) async fn lock_existing_products(
    work: &mut Work,
    merchant: MerchantId,
    external_ids: &[String],
) -> sqlx::Result<Vec<ExistingProduct>> {
    let mut in_order = external_ids.to_vec();
    in_order.sort_unstable();
    existing_rows!(" FOR UPDATE", merchant as MerchantId, &in_order).fetch_all(work.sql()).await
}

/// Products as columns, for statements over many of them.
#[derive(Default)]
struct Columns<'new> {
    ids: Vec<Uuid>,
    external_ids: Vec<&'new str>,
    categories: Vec<Uuid>,
    skus: Vec<&'new str>,
    names: Vec<&'new str>,
    descriptions: Vec<&'new str>,
    brands: Vec<&'new str>,
    gtins: Vec<Option<&'new str>>,
    mpns: Vec<Option<&'new str>>,
    urls: Vec<Option<&'new str>>,
    conditions: Vec<&'static str>,
    prices: Vec<i64>,
    currencies: Vec<&'static str>,
    list_prices: Vec<Option<i64>>,
    sales: Vec<Option<Json<&'new crate::Sale>>>,
    prices_due: Vec<Option<Timestamp>>,
    stock: Vec<&'static str>,
    quantities: Vec<Option<i32>>,
    ratings: Vec<Option<i32>>,
    rating_counts: Vec<Option<i32>>,
    attributes: Vec<Json<&'new std::collections::BTreeMap<String, String>>>,
    images: Vec<Json<&'new Vec<crate::Image>>>,
    policies: Vec<Json<&'new crate::ProductPolicies>>,
    listed: Vec<Option<Timestamp>>,
    fingerprints: Vec<Uuid>,
}

impl<'new> Columns<'new> {
    fn of(
        rows: &[(ProductId, &'new Incoming, Uuid)],
        categories: &HashMap<String, CategoryId>,
        now: Timestamp,
    ) -> Self {
        let mut columns = Self::default();
        for (id, incoming, fingerprint) in rows {
            columns.add(*id, incoming, *fingerprint, categories);
            columns.prices_due.push(incoming.next_price_change(now));
        }
        columns
    }

    fn add(
        &mut self,
        id: ProductId,
        incoming: &'new Incoming,
        fingerprint: Uuid,
        categories: &HashMap<String, CategoryId>,
    ) {
        let facts = &incoming.facts;
        let category = categories.get(&facts.category).map(|id| id.uuid());
        self.ids.push(id.uuid());
        self.external_ids.push(&facts.external_id);
        // A path without a category has no id; the foreign key then rejects the row.
        self.categories.push(category.unwrap_or_default());
        self.skus.push(&facts.sku);
        self.names.push(&facts.name);
        self.descriptions.push(&facts.description);
        self.brands.push(&facts.brand);
        self.gtins.push(facts.gtin.as_deref());
        self.mpns.push(facts.mpn.as_deref());
        self.urls.push(facts.url.as_deref());
        self.conditions.push(facts.condition.as_str());
        self.prices.push(facts.price.minor());
        self.currencies.push(facts.price.currency().code());
        self.list_prices.push(facts.list_price_minor);
        self.sales.push(facts.sale.as_ref().map(Json));
        self.stock.push(facts.stock_status.as_str());
        self.quantities.push(facts.stock_quantity);
        self.ratings.push(facts.rating.map(|rating| rating.hundredths));
        self.rating_counts.push(facts.rating.map(|rating| rating.count));
        self.attributes.push(Json(&facts.attributes));
        self.images.push(Json(&facts.images));
        self.policies.push(Json(&facts.policies));
        self.listed.push(facts.listed_at);
        self.fingerprints.push(fingerprint);
    }
}

/// The rows of `Columns` as a table named `new`, between a beginning and an end of a statement.
macro_rules! with_columns {
    ($begin:literal, $end:literal, $columns:ident, $($argument:expr),*) => {
        sqlx::query_scalar!(
            $begin
                + "unnest($5::uuid[], $6::text[], $7::uuid[], $8::text[], $9::text[], $10::text[],
                          $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bigint[],
                          $17::text[], $18::bigint[], $19::text[], $20::integer[], $21::integer[],
                          $22::integer[], $23::jsonb[], $24::jsonb[], $25::jsonb[], $26::timestamptz[],
                          $27::uuid[], $28::jsonb[], $29::timestamptz[])
                   AS new (product_id, external_id, category_id, sku, name, description, brand, gtin, mpn,
                           url, condition, price_minor, currency, list_price_minor, stock_status,
                           stock_quantity, rating_hundredths, rating_count, attributes, images, policies,
                           listed_at, fingerprint, sale, price_due_at)"
                + $end,
            $($argument,)*
            &$columns.ids,
            &$columns.external_ids as _,
            &$columns.categories,
            &$columns.skus as _,
            &$columns.names as _,
            &$columns.descriptions as _,
            &$columns.brands as _,
            &$columns.gtins as _,
            &$columns.mpns as _,
            &$columns.urls as _,
            &$columns.conditions as _,
            &$columns.prices,
            &$columns.currencies as _,
            &$columns.list_prices as _,
            &$columns.stock as _,
            &$columns.quantities as _,
            &$columns.ratings as _,
            &$columns.rating_counts as _,
            &$columns.attributes as _,
            &$columns.images as _,
            &$columns.policies as _,
            &$columns.listed as _,
            &$columns.fingerprints,
            &$columns.sales as _,
            &$columns.prices_due as _,
        )
    };
}

/// Inserts products that do not exist and returns the ids of the inserted ones. If another transaction inserts one of
/// them at the same time, this waits for it to end and leaves the row to `update_products`.
pub(crate) async fn insert_products(
    work: &mut Work,
    merchant: MerchantId,
    origin: Origin,
    rows: &[(ProductId, &Incoming, Uuid)],
    categories: &HashMap<String, CategoryId>,
) -> sqlx::Result<Vec<ProductId>> {
    let now = work.now();
    let columns = Columns::of(rows, categories, now);
    let pushed_at = (origin == Origin::Push).then_some(now);
    with_columns!(
        r#"INSERT INTO product
             (merchant_id, product_id, external_id, category_id, sku, name, description, brand, gtin, mpn,
              url, condition, price_minor, currency, list_price_minor, stock_status, stock_quantity,
              rating_hundredths, rating_count, attributes, images, policies, listed_at, fingerprint,
              updated_at, pushed_at, run_id, sale, price_due_at)
           SELECT $1, new.product_id, new.external_id, new.category_id, new.sku, new.name,
                  new.description, new.brand, new.gtin, new.mpn, new.url, new.condition,
                  new.price_minor, new.currency, new.list_price_minor, new.stock_status,
                  new.stock_quantity, new.rating_hundredths, new.rating_count, new.attributes,
                  new.images, new.policies, coalesce(new.listed_at, $2), new.fingerprint, $2, $3, $4,
                  new.sale, new.price_due_at
           FROM "#,
        r#" ORDER BY new.external_id COLLATE "C"
           ON CONFLICT (merchant_id, external_id) DO NOTHING
           RETURNING product_id AS "id: ProductId""#,
        columns,
        merchant as MerchantId,
        now as Timestamp,
        pushed_at as Option<Timestamp>,
        origin.run() as Option<FeedRunId>
    )
    .fetch_all(work.sql())
    .await
}

/// Updates locked rows that differ and returns their ids.
pub(crate) async fn update_products(
    work: &mut Work,
    merchant: MerchantId,
    origin: Origin,
    rows: &[(ProductId, &Incoming, Uuid)],
    categories: &HashMap<String, CategoryId>,
) -> sqlx::Result<Vec<ProductId>> {
    let now = work.now();
    let columns = Columns::of(rows, categories, now);
    let pushed_at = (origin == Origin::Push).then_some(now);
    with_columns!(
        r#"UPDATE product SET
             category_id = new.category_id, sku = new.sku, name = new.name,
             description = new.description, brand = new.brand, gtin = new.gtin, mpn = new.mpn,
             url = new.url, condition = new.condition, price_minor = new.price_minor,
             currency = new.currency, list_price_minor = new.list_price_minor,
             stock_status = new.stock_status, stock_quantity = new.stock_quantity,
             rating_hundredths = new.rating_hundredths, rating_count = new.rating_count,
             attributes = new.attributes, images = new.images, policies = new.policies,
             sale = new.sale, price_due_at = new.price_due_at,
             listed_at = coalesce(new.listed_at, product.listed_at), fingerprint = new.fingerprint,
             retired_at = NULL, updated_at = $2, pushed_at = coalesce($3, product.pushed_at), run_id = $4
           FROM "#,
        r#" WHERE product.merchant_id = $1 AND product.product_id = new.product_id
             AND (product.retired_at IS NOT NULL OR
                  (product.category_id, product.sku, product.name, product.description, product.brand,
                   product.gtin, product.mpn, product.url, product.condition, product.price_minor,
                   product.currency, product.list_price_minor, product.stock_status,
                   product.stock_quantity, product.rating_hundredths, product.rating_count,
                   product.attributes, product.images, product.policies, product.listed_at,
                   product.sale, product.price_due_at)
                  IS DISTINCT FROM
                  (new.category_id, new.sku, new.name, new.description, new.brand, new.gtin, new.mpn,
                   new.url, new.condition, new.price_minor, new.currency, new.list_price_minor,
                   new.stock_status, new.stock_quantity, new.rating_hundredths, new.rating_count,
                   new.attributes, new.images, new.policies,
                   coalesce(new.listed_at, product.listed_at), new.sale, new.price_due_at))
           RETURNING product.product_id AS "id: ProductId""#,
        columns,
        merchant as MerchantId,
        now as Timestamp,
        pushed_at as Option<Timestamp>,
        origin.run() as Option<FeedRunId>
    )
    .fetch_all(work.sql())
    .await
}

/// Records the time of a push of locked rows that are equal. No index has it, so that the row can be replaced in its page.
pub(crate) async fn confirm_products(
    work: &mut Work,
    merchant: MerchantId,
    ids: &[Uuid],
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE product SET pushed_at = $3 WHERE merchant_id = $1 AND product_id = ANY ($2)",
        merchant as MerchantId,
        ids,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Stores the fingerprints of rows whose own columns are equal, and the time of a push. With `touch`, because their variants
/// or reviews have changed, also stores the time and the source of the change.
pub(crate) async fn put_fingerprints(
    work: &mut Work,
    merchant: MerchantId,
    origin: Origin,
    ids: &[Uuid],
    fingerprints: &[Uuid],
    touch: bool,
) -> sqlx::Result<()> {
    let now = work.now();
    let pushed_at = (origin == Origin::Push).then_some(now);
    sqlx::query!(
        "UPDATE product SET fingerprint = new.fingerprint,
             updated_at = CASE WHEN $4 THEN $5 ELSE updated_at END,
             pushed_at = coalesce($6, pushed_at),
             run_id = CASE WHEN $4 THEN $7 ELSE run_id END
         FROM unnest($2::uuid[], $3::uuid[]) AS new (product_id, fingerprint)
         WHERE merchant_id = $1 AND product.product_id = new.product_id",
        merchant as MerchantId,
        ids,
        fingerprints,
        touch,
        now as Timestamp,
        pushed_at as Option<Timestamp>,
        origin.run() as Option<FeedRunId>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Retires the locked rows that are listed and returns their ids.
pub(crate) async fn retire_products(
    work: &mut Work,
    merchant: MerchantId,
    origin: Origin,
    ids: &[Uuid],
) -> sqlx::Result<Vec<ProductId>> {
    let now = work.now();
    let pushed_at = (origin == Origin::Push).then_some(now);
    sqlx::query_scalar!(
        r#"UPDATE product SET retired_at = $3, updated_at = $3, pushed_at = coalesce($4, pushed_at), run_id = $5
           WHERE merchant_id = $1 AND product_id = ANY ($2) AND retired_at IS NULL
           RETURNING product_id AS "id: ProductId""#,
        merchant as MerchantId,
        ids,
        now as Timestamp,
        pushed_at as Option<Timestamp>,
        origin.run() as Option<FeedRunId>,
    )
    .fetch_all(work.sql())
    .await
}

/// Returns external ids of listed products that are not among these.
pub(crate) async fn other_external_ids(
    work: &mut Work,
    merchant: MerchantId,
    external_ids: &[String],
    limit: i64,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        "SELECT external_id FROM product
         WHERE merchant_id = $1 AND retired_at IS NULL AND NOT external_id = ANY ($2)
         ORDER BY external_id LIMIT $3",
        merchant as MerchantId,
        external_ids,
        limit,
    )
    .fetch_all(work.sql())
    .await
}

pub(crate) async fn visible_count(work: &mut Work, merchant: MerchantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM product
           WHERE merchant_id = $1 AND retired_at IS NULL AND currency = ANY ($2)"#,
        merchant as MerchantId,
        &visible_currencies(),
    )
    .fetch_one(work.sql())
    .await
}
