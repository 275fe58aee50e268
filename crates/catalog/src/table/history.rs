//! Every price there ever was.

use database::Work;
use primitives::{MerchantId, ProductId, Timestamp, VariantId};
use sqlx::PgConnection;
use uuid::Uuid;

/// A price that began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PriceLine {
    pub(crate) product: ProductId,
    pub(crate) variant: Option<VariantId>,
    pub(crate) price_minor: i64,
    pub(crate) list_price_minor: Option<i64>,
    pub(crate) currency: &'static str,
}

pub(crate) async fn append(
    work: &mut Work,
    merchant: MerchantId,
    lines: &[PriceLine],
) -> sqlx::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let now = work.now();
    let variants: Vec<Option<Uuid>> =
        lines.iter().map(|line| line.variant.map(VariantId::uuid)).collect();
    sqlx::query!(
        "INSERT INTO price_history
             (merchant_id, product_id, variant_id, price_minor, list_price_minor, currency, at)
         SELECT $1, new.product_id, new.variant_id, new.price_minor, new.list_price_minor, new.currency, $7
         FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::text[])
              AS new (product_id, variant_id, price_minor, list_price_minor, currency)",
        merchant as MerchantId,
        &lines.iter().map(|line| line.product.uuid()).collect::<Vec<_>>(),
        &variants as _,
        &lines.iter().map(|line| line.price_minor).collect::<Vec<_>>(),
        &lines.iter().map(|line| line.list_price_minor).collect::<Vec<_>>() as _,
        &lines.iter().map(|line| line.currency).collect::<Vec<_>>() as _,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// A line of the history, as it is read.
pub(crate) struct PriceRow {
    pub(crate) variant_id: Option<VariantId>,
    pub(crate) price_minor: i64,
    pub(crate) list_price_minor: Option<i64>,
    pub(crate) currency: String,
    pub(crate) at: Timestamp,
}

/// The newest lines of a product, newest first.
pub(crate) async fn prices(
    sql: &mut PgConnection,
    merchant: MerchantId,
    product: ProductId,
    limit: i64,
) -> sqlx::Result<Vec<PriceRow>> {
    sqlx::query_as!(
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
    .await
}
