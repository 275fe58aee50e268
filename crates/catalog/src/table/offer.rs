//! Prices and stock, changed by themselves.

use database::Work;
use primitives::{MerchantId, ProductId, Timestamp, VariantId};
use uuid::Uuid;

use super::unreadable;
use crate::StockStatus;
use crate::revise::{Held, HeldVariant, Offer};

/// The listed products of these identifiers, held until the end of the work, with their variants.
/// Rows are taken in the order of their ids, as everywhere.
pub(crate) async fn hold(
    work: &mut Work,
    merchant: MerchantId,
    external_ids: &[String],
) -> sqlx::Result<Vec<Held>> {
    let mut in_order = external_ids.to_vec();
    in_order.sort_unstable();
    let rows = sqlx::query!(
        r#"SELECT found.product_id AS "id: ProductId", found.external_id, found.currency,
                  found.price_minor, found.list_price_minor, found.stock_status, found.stock_quantity
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
    let mut held = Vec::with_capacity(rows.len());
    for row in rows {
        held.push(Held {
            product: row.id,
            external_id: row.external_id,
            currency: row.currency.parse().map_err(|_| unreadable("a currency"))?,
            offer: Offer {
                price_minor: row.price_minor,
                list_price_minor: row.list_price_minor,
                stock_status: stock(&row.stock_status)?,
                stock_quantity: row.stock_quantity,
            },
            variants: Vec::new(),
        });
    }
    add_variants(work, merchant, &mut held).await?;
    Ok(held)
}

async fn add_variants(
    work: &mut Work,
    merchant: MerchantId,
    held: &mut [Held],
) -> sqlx::Result<()> {
    let ids: Vec<Uuid> = held.iter().map(|held| held.product.uuid()).collect();
    let rows = sqlx::query!(
        r#"SELECT product_id AS "product: ProductId", variant_id AS "id: VariantId", sku, price_minor,
                  list_price_minor, stock_status, stock_quantity
           FROM variant WHERE merchant_id = $1 AND product_id = ANY ($2) ORDER BY place"#,
        merchant as MerchantId,
        &ids,
    )
    .fetch_all(work.sql())
    .await?;
    for row in rows {
        let offer = Offer {
            price_minor: row.price_minor,
            list_price_minor: row.list_price_minor,
            stock_status: stock(&row.stock_status)?,
            stock_quantity: row.stock_quantity,
        };
        if let Some(held) = held.iter_mut().find(|held| held.product == row.product) {
            held.variants.push(HeldVariant { variant: row.id, sku: row.sku, offer });
        }
    }
    Ok(())
}

fn stock(text: &str) -> sqlx::Result<StockStatus> {
    StockStatus::from_name(text).ok_or_else(|| unreadable("a stock status"))
}

/// Offers as columns.
struct Columns {
    prices: Vec<i64>,
    list_prices: Vec<Option<i64>>,
    stock: Vec<&'static str>,
    quantities: Vec<Option<i32>>,
}

impl Columns {
    fn of<'offer>(offers: impl Iterator<Item = &'offer Offer> + Clone) -> Self {
        Self {
            prices: offers.clone().map(|offer| offer.price_minor).collect(),
            list_prices: offers.clone().map(|offer| offer.list_price_minor).collect(),
            stock: offers.clone().map(|offer| offer.stock_status.name()).collect(),
            quantities: offers.map(|offer| offer.stock_quantity).collect(),
        }
    }
}

/// Writes the offers of held products and of their variants. The whole is no longer what was last
/// brought in, so its fingerprint goes.
pub(crate) async fn write_offers(
    work: &mut Work,
    merchant: MerchantId,
    changed: &[&Held],
    variants: &[(VariantId, Offer)],
) -> sqlx::Result<()> {
    let now = work.now();
    let columns = Columns::of(changed.iter().map(|held| &held.offer));
    sqlx::query!(
        "UPDATE product SET price_minor = new.price_minor, list_price_minor = new.list_price_minor,
             stock_status = new.stock_status, stock_quantity = new.stock_quantity, fingerprint = NULL,
             updated_at = $7, pushed_at = $7, run_id = NULL
         FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::integer[])
              AS new (product_id, price_minor, list_price_minor, stock_status, stock_quantity)
         WHERE merchant_id = $1 AND product.product_id = new.product_id",
        merchant as MerchantId,
        &changed.iter().map(|held| held.product.uuid()).collect::<Vec<_>>(),
        &columns.prices,
        &columns.list_prices as _,
        &columns.stock as _,
        &columns.quantities as _,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    if variants.is_empty() {
        return Ok(());
    }
    let columns = Columns::of(variants.iter().map(|(_, offer)| offer));
    sqlx::query!(
        "UPDATE variant SET price_minor = new.price_minor, list_price_minor = new.list_price_minor,
             stock_status = new.stock_status, stock_quantity = new.stock_quantity
         FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::text[], $6::integer[])
              AS new (variant_id, price_minor, list_price_minor, stock_status, stock_quantity)
         WHERE merchant_id = $1 AND variant.variant_id = new.variant_id",
        merchant as MerchantId,
        &variants.iter().map(|(id, _)| id.uuid()).collect::<Vec<_>>(),
        &columns.prices,
        &columns.list_prices as _,
        &columns.stock as _,
        &columns.quantities as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
