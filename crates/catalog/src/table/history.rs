//! The price history.

use database::Work;
use primitives::{MerchantId, Money, ProductId, Timestamp, VariantId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::unreadable;
use crate::PastPrice;

/// A new price of a product or variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PriceChange {
    pub(crate) product: ProductId,
    pub(crate) variant: Option<VariantId>,
    pub(crate) price_minor: i64,
    pub(crate) list_price_minor: Option<i64>,
    pub(crate) currency: &'static str,
}

pub(crate) async fn append_prices(
    work: &mut Work,
    merchant: MerchantId,
    prices: &[PriceChange],
) -> sqlx::Result<()> {
    if prices.is_empty() {
        return Ok(());
    }
    let now = work.now();
    let variants: Vec<Option<Uuid>> =
        prices.iter().map(|price| price.variant.map(VariantId::uuid)).collect();
    sqlx::query!(
        "INSERT INTO price_history
             (merchant_id, product_id, variant_id, price_minor, list_price_minor, currency, at)
         SELECT $1, new.product_id, new.variant_id, new.price_minor, new.list_price_minor, new.currency, $7
         FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::text[])
              AS new (product_id, variant_id, price_minor, list_price_minor, currency)",
        merchant as MerchantId,
        &prices.iter().map(|price| price.product.uuid()).collect::<Vec<_>>(),
        &variants as _,
        &prices.iter().map(|price| price.price_minor).collect::<Vec<_>>(),
        &prices.iter().map(|price| price.list_price_minor).collect::<Vec<_>>() as _,
        &prices.iter().map(|price| price.currency).collect::<Vec<_>>() as _,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

struct PriceRow {
    variant_id: Option<VariantId>,
    price_minor: i64,
    list_price_minor: Option<i64>,
    currency: String,
    at: Timestamp,
}

impl TryFrom<PriceRow> for PastPrice {
    type Error = sqlx::Error;
    fn try_from(row: PriceRow) -> sqlx::Result<Self> {
        let currency = row.currency.parse().map_err(|_| unreadable("a currency"))?;
        Ok(Self {
            variant: row.variant_id,
            price: Money::new(row.price_minor, currency),
            list_price_minor: row.list_price_minor,
            at: row.at,
        })
    }
}

/// Returns the newest prices of a product, the newest first.
pub(crate) async fn prices(
    sql: &mut PgConnection,
    merchant: MerchantId,
    product: ProductId,
    limit: i64,
) -> sqlx::Result<Vec<PastPrice>> {
    let rows = sqlx::query_as!(
        PriceRow,
        r#"SELECT variant_id AS "variant_id: VariantId", price_minor, list_price_minor, currency,
                  at AS "at: Timestamp"
           FROM price_history WHERE merchant_id = $1 AND product_id = $2
           ORDER BY position DESC LIMIT $3"#,
        merchant as MerchantId,
        product as ProductId,
        limit,
    )
    .fetch_all(sql)
    .await?;
    rows.into_iter().map(PastPrice::try_from).collect()
}
