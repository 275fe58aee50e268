//! Sold units that go back into stock. Product rows are locked first, as for all other changes of units.

use database::Work;
use primitives::{KeyId, MerchantId, ProductId, Timestamp};
use uuid::Uuid;

use super::hold::Columns;
use crate::{StockStatus, Units};

/// Puts sold units back and returns the changed products. Items that were sold out are available again. The fingerprints of
/// the products are cleared, because the rows no longer equal the last import.
pub(crate) async fn restock_units(
    work: &mut Work,
    merchant: MerchantId,
    units: &[Units],
) -> sqlx::Result<Vec<ProductId>> {
    let now = work.now();
    let Columns { mut ids, mut quantities } = Columns::of(units, false);
    // A product whose variant has changed has changed too, though not its own quantity.
    for product in restock_variants(work, merchant, units).await? {
        if !ids.contains(&product) {
            ids.push(product);
            quantities.push(0);
        }
    }
    sqlx::query_scalar!(
        r#"UPDATE product
           SET stock_quantity = least(stock_quantity::bigint + restocked.units, 2147483647)::integer,
               stock_status = CASE WHEN restocked.units = 0 OR stock_status <> 'out_of_stock' THEN stock_status
                                   WHEN stock_quantity::bigint + restocked.units > $4 THEN 'in_stock'
                                   ELSE 'low_stock' END,
               fingerprint = NULL, updated_at = $5
           FROM unnest($2::uuid[], $3::integer[]) AS restocked (item_id, units)
           WHERE merchant_id = $1 AND product_id = restocked.item_id
             AND (restocked.units = 0 OR stock_quantity IS NOT NULL)
           RETURNING product_id AS "id: ProductId""#,
        merchant as MerchantId,
        &ids,
        &quantities,
        i64::from(StockStatus::LOW_STOCK_MAX) as i64,
        now as Timestamp,
    )
    .fetch_all(work.sql())
    .await
}

/// Puts sold units of variants back and returns the products of those whose stock is counted.
async fn restock_variants(
    work: &mut Work,
    merchant: MerchantId,
    units: &[Units],
) -> sqlx::Result<Vec<Uuid>> {
    let variants = Columns::of(units, true);
    if variants.ids.is_empty() {
        return Ok(Vec::new());
    }
    sqlx::query_scalar!(
        "UPDATE variant
         SET stock_quantity = least(stock_quantity::bigint + restocked.units, 2147483647)::integer,
             stock_status = CASE WHEN stock_status <> 'out_of_stock' THEN stock_status
                                 WHEN stock_quantity::bigint + restocked.units > $4 THEN 'in_stock'
                                 ELSE 'low_stock' END
         FROM unnest($2::uuid[], $3::integer[]) AS restocked (item_id, units)
         WHERE merchant_id = $1 AND variant_id = restocked.item_id AND stock_quantity IS NOT NULL
         RETURNING product_id",
        merchant as MerchantId,
        &variants.ids,
        &variants.quantities,
        i64::from(StockStatus::LOW_STOCK_MAX) as i64,
    )
    .fetch_all(work.sql())
    .await
}

/// Puts units that a sandbox key has bought back into its stock.
pub(crate) async fn restock_in_sandbox(
    work: &mut Work,
    merchant: MerchantId,
    key: KeyId,
    units: &[Units],
) -> sqlx::Result<()> {
    let now = work.now();
    for variants in [false, true] {
        let columns = Columns::of(units, variants);
        sqlx::query!(
            "UPDATE sandbox_stock SET sold = greatest(sold - restocked.units, 0), touched_at = $5
             FROM unnest($3::uuid[], $4::integer[]) AS restocked (item_id, units)
             WHERE merchant_id = $1 AND agent_key_id = $2 AND sandbox_stock.item_id = restocked.item_id",
            merchant as MerchantId,
            key as KeyId,
            &columns.ids,
            &columns.quantities,
            now as Timestamp,
        )
        .execute(work.sql())
        .await?;
    }
    Ok(())
}
