//! Updating prices and stock.

use database::Work;
use jobs::SweepRow;
use primitives::{MerchantId, ProductId, Timestamp, VariantId};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::purge::position;
use super::unreadable;
use crate::update_offers::{LockedProduct, LockedVariant, StoredOffer};
use crate::{Sale, StockStatus};

/// Locks the listed products with these external ids until the end of the transaction and returns them with their
/// variants. Rows are locked in the order of their external ids, as every writer does.
pub(crate) async fn lock_offers(
    work: &mut Work,
    merchant: MerchantId,
    external_ids: &[String],
) -> sqlx::Result<Vec<LockedProduct>> {
    let mut in_order = external_ids.to_vec();
    in_order.sort_unstable();
    let rows = sqlx::query!(
        r#"SELECT found.product_id AS "id: ProductId", found.external_id, found.currency,
                  found.price_minor, found.list_price_minor, found.sale AS "sale: Json<Sale>",
                  found.stock_status, found.stock_quantity
           FROM unnest($2::text[]) AS wanted (external_id)
           CROSS JOIN LATERAL (
               SELECT * FROM product
               WHERE merchant_id = $1 AND product.external_id = wanted.external_id
                 AND retired_at IS NULL
               LIMIT 1 FOR UPDATE) AS found"#,
        merchant as MerchantId,
        &in_order,
    )
    .fetch_all(work.sql())
    .await?;
    let mut products = Vec::with_capacity(rows.len());
    for row in rows {
        products.push(LockedProduct {
            product: row.id,
            external_id: row.external_id,
            currency: row.currency.parse().map_err(|_| unreadable("a currency"))?,
            offer: StoredOffer {
                price_minor: row.price_minor,
                list_price_minor: row.list_price_minor,
                sale: row.sale.map(|sale| sale.0),
                stock_status: stock(&row.stock_status)?,
                stock_quantity: row.stock_quantity,
            },
            variants: Vec::new(),
        });
    }
    add_variants(work, merchant, &mut products).await?;
    Ok(products)
}

async fn add_variants(
    work: &mut Work,
    merchant: MerchantId,
    products: &mut [LockedProduct],
) -> sqlx::Result<()> {
    let ids: Vec<Uuid> = products.iter().map(|product| product.product.uuid()).collect();
    let rows = sqlx::query!(
        r#"SELECT product_id AS "product: ProductId", variant_id AS "id: VariantId", sku, price_minor,
                  list_price_minor, sale AS "sale: Json<Sale>", stock_status, stock_quantity
           FROM variant
           WHERE merchant_id = $1 AND product_id = ANY ($2) AND retired_at IS NULL ORDER BY place"#,
        merchant as MerchantId,
        &ids,
    )
    .fetch_all(work.sql())
    .await?;
    for row in rows {
        let offer = StoredOffer {
            price_minor: row.price_minor,
            list_price_minor: row.list_price_minor,
            sale: row.sale.map(|sale| sale.0),
            stock_status: stock(&row.stock_status)?,
            stock_quantity: row.stock_quantity,
        };
        if let Some(product) = products.iter_mut().find(|it| it.product == row.product) {
            product.variants.push(LockedVariant { variant: row.id, sku: row.sku, offer });
        }
    }
    Ok(())
}

fn stock(text: &str) -> sqlx::Result<StockStatus> {
    StockStatus::parse(text).ok_or_else(|| unreadable("a stock status"))
}

/// Offers as columns.
struct Columns {
    prices: Vec<i64>,
    list_prices: Vec<Option<i64>>,
    sales: Vec<Option<Json<Sale>>>,
    stock: Vec<&'static str>,
    quantities: Vec<Option<i32>>,
}

impl Columns {
    fn of<'offer>(offers: impl Iterator<Item = &'offer StoredOffer> + Clone) -> Self {
        Self {
            prices: offers.clone().map(|offer| offer.price_minor).collect(),
            list_prices: offers.clone().map(|offer| offer.list_price_minor).collect(),
            sales: offers.clone().map(|offer| offer.sale.map(Json)).collect(),
            stock: offers.clone().map(|offer| offer.stock_status.as_str()).collect(),
            quantities: offers.map(|offer| offer.stock_quantity).collect(),
        }
    }
}

/// Writes the offers of locked products and of their variants. The fingerprints are cleared, because the rows no longer
/// equal the last import. With `is_push`, the merchant changed them now; else a sale began or ended.
pub(crate) async fn write_offers(
    work: &mut Work,
    merchant: MerchantId,
    changed: &[&LockedProduct],
    variants: &[(VariantId, StoredOffer)],
    is_push: bool,
) -> sqlx::Result<()> {
    let now = work.now();
    let due: Vec<Option<Timestamp>> =
        changed.iter().map(|product| product.next_price_change(now)).collect();
    let columns = Columns::of(changed.iter().map(|product| &product.offer));
    sqlx::query!(
        "UPDATE product SET price_minor = new.price_minor, list_price_minor = new.list_price_minor,
             stock_status = new.stock_status, stock_quantity = new.stock_quantity, fingerprint = NULL,
             sale = new.sale, price_due_at = new.price_due_at, updated_at = $7,
             pushed_at = CASE WHEN $8 THEN $7 ELSE pushed_at END,
             run_id = CASE WHEN $8 THEN NULL ELSE run_id END
         FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::integer[], $9::jsonb[],
                     $10::timestamptz[])
              AS new (product_id, price_minor, list_price_minor, stock_status, stock_quantity, sale,
                      price_due_at)
         WHERE merchant_id = $1 AND product.product_id = new.product_id",
        merchant as MerchantId,
        &changed.iter().map(|it| it.product.uuid()).collect::<Vec<_>>(),
        &columns.prices,
        &columns.list_prices as _,
        &columns.stock as _,
        &columns.quantities as _,
        now as Timestamp,
        is_push,
        &columns.sales as _,
        &due as _,
    )
    .execute(work.sql())
    .await?;
    if variants.is_empty() {
        return Ok(());
    }
    let columns = Columns::of(variants.iter().map(|(_, offer)| offer));
    sqlx::query!(
        "UPDATE variant SET price_minor = new.price_minor, list_price_minor = new.list_price_minor,
             stock_status = new.stock_status, stock_quantity = new.stock_quantity, sale = new.sale
         FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::integer[], $7::jsonb[])
              AS new (variant_id, price_minor, list_price_minor, stock_status, stock_quantity, sale)
         WHERE merchant_id = $1 AND variant.variant_id = new.variant_id",
        merchant as MerchantId,
        &variants.iter().map(|(id, _)| id.uuid()).collect::<Vec<_>>(),
        &columns.prices,
        &columns.list_prices as _,
        &columns.stock as _,
        &columns.quantities as _,
        &columns.sales as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns products whose price changes by itself until `now`, after a row of the sweep.
pub(crate) async fn prices_due(
    sql: &mut PgConnection,
    now: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let (after, after_id) = position(after);
    sqlx::query_as!(
        SweepRow,
        r#"SELECT merchant_id AS "merchant: MerchantId", product_id AS id,
                  price_due_at AS "due_at!: Timestamp"
           FROM product
           WHERE price_due_at <= $1
             AND ($2::timestamptz IS NULL OR (price_due_at, product_id) > ($2, $3))
           ORDER BY price_due_at, product_id LIMIT $4"#,
        now as Timestamp,
        after as Option<Timestamp>,
        after_id,
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns the external id of a listed product.
pub(crate) async fn listed_external_id(
    work: &mut Work,
    merchant: MerchantId,
    product: ProductId,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "SELECT external_id FROM product
         WHERE merchant_id = $1 AND product_id = $2 AND retired_at IS NULL",
        merchant as MerchantId,
        product as ProductId,
    )
    .fetch_optional(work.sql())
    .await
}

/// Stores when the price of a product changes next by itself.
pub(crate) async fn set_price_due(
    work: &mut Work,
    merchant: MerchantId,
    product: ProductId,
    due_at: Option<Timestamp>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE product SET price_due_at = $3 WHERE merchant_id = $1 AND product_id = $2",
        merchant as MerchantId,
        product as ProductId,
        due_at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
