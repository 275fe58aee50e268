//! Held and sold units. Product rows are locked first, in the order of their external ids, as imports do; a variant is
//! changed only while the row of its product is locked.

use database::Work;
use primitives::{KeyId, MerchantId, ProductId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::Units;
use crate::hold::item_of;

pub(crate) async fn lock_products(
    work: &mut Work,
    merchant: MerchantId,
    ids: &[Uuid],
) -> sqlx::Result<()> {
    sqlx::query!(
        r#"SELECT product_id FROM product WHERE merchant_id = $1 AND product_id = ANY ($2)
           ORDER BY external_id COLLATE "C" FOR NO KEY UPDATE"#,
        merchant as MerchantId,
        ids,
    )
    .fetch_all(work.sql())
    .await?;
    Ok(())
}

/// Units as columns, either of products or of variants.
pub(super) struct Columns {
    pub(super) ids: Vec<Uuid>,
    pub(super) quantities: Vec<i32>,
}

impl Columns {
    /// Adds up entries of the same item, because a statement updates a row only once.
    pub(super) fn of(units: &[Units], variants: bool) -> Self {
        let mut columns = Self { ids: Vec::new(), quantities: Vec::new() };
        for one in units.iter().filter(|units| units.variant.is_some() == variants) {
            let (item, quantity) = (item_of(one), i32::try_from(one.quantity).unwrap_or(i32::MAX));
            if let Some(index) = columns.ids.iter().position(|known| *known == item) {
                columns.quantities[index] = columns.quantities[index].saturating_add(quantity);
            } else {
                columns.ids.push(item);
                columns.quantities.push(quantity);
            }
        }
        columns
    }
}

/// Returns id, stock and held units of the items whose stock is counted.
pub(crate) async fn stock_and_held(
    work: &mut Work,
    merchant: MerchantId,
    units: &[Units],
) -> sqlx::Result<Vec<(Uuid, i64, i64)>> {
    let rows = sqlx::query!(
        r#"SELECT product_id AS "item!", stock_quantity::bigint AS "stock!", held::bigint AS "held!" FROM product
           WHERE merchant_id = $1 AND product_id = ANY ($2) AND stock_quantity IS NOT NULL
           UNION ALL
           SELECT variant_id, stock_quantity::bigint, held::bigint FROM variant
           WHERE merchant_id = $1 AND variant_id = ANY ($3) AND stock_quantity IS NOT NULL"#,
        merchant as MerchantId,
        &Columns::of(units, false).ids,
        &Columns::of(units, true).ids,
    )
    .fetch_all(work.sql())
    .await?;
    Ok(rows.into_iter().map(|row| (row.item, row.stock, row.held)).collect())
}

/// Holds the items with enough units and returns their ids.
pub(crate) async fn hold_units(
    work: &mut Work,
    merchant: MerchantId,
    units: &[Units],
) -> sqlx::Result<Vec<Uuid>> {
    let products = Columns::of(units, false);
    let mut held = Vec::with_capacity(units.len());
    if !products.ids.is_empty() {
        let rows = sqlx::query_scalar!(
            "UPDATE product SET held = held + wanted.units
             FROM unnest($2::uuid[], $3::integer[]) AS wanted (item_id, units)
             WHERE merchant_id = $1 AND product_id = wanted.item_id AND retired_at IS NULL
               AND stock_status IN ('in_stock', 'low_stock', 'unknown')
               AND (stock_quantity IS NULL OR stock_quantity - held >= wanted.units)
             RETURNING product_id",
            merchant as MerchantId,
            &products.ids,
            &products.quantities,
        )
        .fetch_all(work.sql())
        .await?;
        held.extend(rows);
    }
    let variants = Columns::of(units, true);
    if !variants.ids.is_empty() {
        let rows = sqlx::query_scalar!(
            "UPDATE variant SET held = held + wanted.units
             FROM unnest($2::uuid[], $3::integer[]) AS wanted (item_id, units)
             WHERE merchant_id = $1 AND variant_id = wanted.item_id AND variant.retired_at IS NULL
               AND stock_status IN ('in_stock', 'low_stock', 'unknown')
               AND (stock_quantity IS NULL OR stock_quantity - held >= wanted.units)
               AND EXISTS (SELECT FROM product WHERE product.merchant_id = $1
                           AND product.product_id = variant.product_id
                           AND product.retired_at IS NULL)
             RETURNING variant_id",
            merchant as MerchantId,
            &variants.ids,
            &variants.quantities,
        )
        .fetch_all(work.sql())
        .await?;
        held.extend(rows);
    }
    Ok(held)
}

pub(crate) async fn release_units(
    work: &mut Work,
    merchant: MerchantId,
    units: &[Units],
) -> sqlx::Result<()> {
    let products = Columns::of(units, false);
    if !products.ids.is_empty() {
        sqlx::query!(
            "UPDATE product SET held = greatest(held - given.units, 0)
             FROM unnest($2::uuid[], $3::integer[]) AS given (item_id, units)
             WHERE merchant_id = $1 AND product_id = given.item_id",
            merchant as MerchantId,
            &products.ids,
            &products.quantities,
        )
        .execute(work.sql())
        .await?;
    }
    let variants = Columns::of(units, true);
    if !variants.ids.is_empty() {
        sqlx::query!(
            "UPDATE variant SET held = greatest(held - given.units, 0)
             FROM unnest($2::uuid[], $3::integer[]) AS given (item_id, units)
             WHERE merchant_id = $1 AND variant_id = given.item_id",
            merchant as MerchantId,
            &variants.ids,
            &variants.quantities,
        )
        .execute(work.sql())
        .await?;
        super::delete_retired_variants(work, merchant, &variants.ids).await?;
    }
    Ok(())
}

/// Turns held units into sold ones and returns the changed products. Their fingerprints are cleared, because the rows no
/// longer equal the last import.
pub(crate) async fn sell_units(
    work: &mut Work,
    merchant: MerchantId,
    units: &[Units],
) -> sqlx::Result<Vec<ProductId>> {
    let now = work.now();
    let variants = Columns::of(units, true);
    if !variants.ids.is_empty() {
        sqlx::query!(
            "UPDATE variant SET held = greatest(held - sold.units, 0),
                 stock_quantity = stock_quantity - least(sold.units, stock_quantity),
                 stock_status = CASE WHEN stock_quantity <= sold.units AND stock_status IN ('in_stock', 'low_stock')
                                     THEN 'out_of_stock' ELSE stock_status END
             FROM unnest($2::uuid[], $3::integer[]) AS sold (item_id, units)
             WHERE merchant_id = $1 AND variant_id = sold.item_id",
            merchant as MerchantId,
            &variants.ids,
            &variants.quantities,
        )
        .execute(work.sql())
        .await?;
        super::delete_retired_variants(work, merchant, &variants.ids).await?;
    }
    let products = Columns::of(units, false);
    // A product whose variant was sold has changed too, though not its own quantity.
    let (mut ids, mut quantities) = (products.ids, products.quantities);
    for sold in units.iter().filter(|units| units.variant.is_some()) {
        if !ids.contains(&sold.product.uuid()) {
            ids.push(sold.product.uuid());
            quantities.push(0);
        }
    }
    sqlx::query_scalar!(
        r#"UPDATE product SET held = greatest(held - sold.units, 0),
               stock_quantity = stock_quantity - least(sold.units, stock_quantity),
               stock_status = CASE WHEN stock_quantity <= sold.units AND sold.units > 0
                                    AND stock_status IN ('in_stock', 'low_stock')
                                   THEN 'out_of_stock' ELSE stock_status END,
               fingerprint = NULL, updated_at = $4
           FROM unnest($2::uuid[], $3::integer[]) AS sold (item_id, units)
           WHERE merchant_id = $1 AND product_id = sold.item_id
           RETURNING product_id AS "id: ProductId""#,
        merchant as MerchantId,
        &ids,
        &quantities,
        now as Timestamp,
    )
    .fetch_all(work.sql())
    .await
}

/// Returns the units that a sandbox key holds or has bought, by item.
pub(crate) async fn sandbox_units(
    sql: &mut PgConnection,
    merchant: MerchantId,
    key: KeyId,
) -> sqlx::Result<Vec<(Uuid, i32)>> {
    let rows = sqlx::query!(
        r#"SELECT item_id, held + sold AS "taken!" FROM sandbox_stock
           WHERE merchant_id = $1 AND agent_key_id = $2"#,
        merchant as MerchantId,
        key as KeyId,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.item_id, row.taken)).collect())
}

/// Holds the items with enough units in a sandbox and returns their ids.
pub(crate) async fn hold_in_sandbox(
    work: &mut Work,
    merchant: MerchantId,
    key: KeyId,
    units: &[Units],
) -> sqlx::Result<Vec<Uuid>> {
    let now = work.now();
    let mut held = Vec::with_capacity(units.len());
    for variants in [false, true] {
        let columns = Columns::of(units, variants);
        let rows = sqlx::query_scalar!(
            "INSERT INTO sandbox_stock (merchant_id, agent_key_id, item_id, held, sold, touched_at)
             SELECT $1, $2, wanted.item_id, wanted.units, 0, $5
             FROM unnest($3::uuid[], $4::integer[]) AS wanted (item_id, units)
             LEFT JOIN product ON product.merchant_id = $1 AND product_id = wanted.item_id AND NOT $6
             LEFT JOIN variant ON variant.merchant_id = $1 AND variant_id = wanted.item_id AND $6
             WHERE coalesce(product.stock_quantity, variant.stock_quantity, 2147483647) >= wanted.units
             ORDER BY wanted.item_id
             ON CONFLICT (merchant_id, agent_key_id, item_id)
             DO UPDATE SET held = sandbox_stock.held + excluded.held, touched_at = $5
             WHERE sandbox_stock.held + sandbox_stock.sold + excluded.held <= coalesce(
                 (SELECT stock_quantity FROM product AS own
                  WHERE own.merchant_id = $1 AND own.product_id = excluded.item_id),
                 (SELECT stock_quantity FROM variant AS own
                  WHERE own.merchant_id = $1 AND own.variant_id = excluded.item_id),
                 2147483647)
             RETURNING item_id",
            merchant as MerchantId,
            key as KeyId,
            &columns.ids,
            &columns.quantities,
            now as Timestamp,
            variants,
        )
        .fetch_all(work.sql())
        .await?;
        held.extend(rows);
    }
    Ok(held)
}

/// Ends a hold of a sandbox: sells or releases the units.
pub(crate) async fn end_sandbox_hold(
    work: &mut Work,
    merchant: MerchantId,
    key: KeyId,
    units: &[Units],
    is_sold: bool,
) -> sqlx::Result<()> {
    let now = work.now();
    let ids: Vec<Uuid> = units.iter().map(item_of).collect();
    let quantity = |units: &Units| i32::try_from(units.quantity).unwrap_or(i32::MAX);
    let quantities: Vec<i32> = units.iter().map(quantity).collect();
    sqlx::query!(
        "UPDATE sandbox_stock SET held = greatest(held - ended.units, 0), touched_at = $5,
             sold = sold + CASE WHEN $6 THEN ended.units ELSE 0 END
         FROM unnest($3::uuid[], $4::integer[]) AS ended (item_id, units)
         WHERE merchant_id = $1 AND agent_key_id = $2 AND sandbox_stock.item_id = ended.item_id",
        merchant as MerchantId,
        key as KeyId,
        &ids,
        &quantities,
        now as Timestamp,
        is_sold,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn purge_sandbox_stock(
    work: &mut Work,
    merchant: MerchantId,
    before: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM sandbox_stock WHERE merchant_id = $1 AND touched_at < $2",
        merchant as MerchantId,
        before as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    #[test]
    fn entries_of_the_same_item_are_added_up() {
        let units = |product: u128, variant: Option<u128>, quantity: u32| Units {
            product: ProductId::from_random(product),
            variant: variant.map(primitives::VariantId::from_random),
            quantity,
        };
        let wanted =
            [units(1, None, 2), units(2, Some(1), 1), units(1, None, 3), units(3, None, 1)];
        assert_eq!(Columns::of(&wanted, false).quantities, [5, 1]);
        assert_eq!(Columns::of(&wanted, true).quantities, [1]);
    }
}
