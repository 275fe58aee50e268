//! Data quality of a catalog: completeness, consistency and freshness (docs/contract/trust.md#components), computed from
//! the data itself. `trust` reads the figures; merchants see them together with the defective products.

use std::time::Duration;

use database::{Reading, Work};
use primitives::{MerchantId, PageRequest, ProductId, Timestamp};

use crate::{CatalogError, table};

/// Quality figures of a store's catalog, over its listed products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogQuality {
    pub products: i64,
    /// Products with a title, price, image and GTIN.
    pub complete: i64,
    /// Products without a contradiction in themselves or with another product.
    pub consistent: i64,
    pub missing_price: i64,
    pub missing_image: i64,
    pub missing_gtin: i64,
    pub foreign_currency: i64,
    pub contradicting_stock: i64,
    pub shared_gtin: i64,
    pub computed_at: Timestamp,
}

impl CatalogQuality {
    /// Returns `catalog_completeness`: the share of products with all required fields; `None` without products.
    #[must_use]
    pub fn completeness(&self) -> Option<f64> {
        share(self.complete, self.products)
    }

    /// Returns `data_consistency`: the share of products without contradictions; `None` without products.
    #[must_use]
    pub fn consistency(&self) -> Option<f64> {
        share(self.consistent, self.products)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of products needs no 53 bits")]
fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Age of the last complete run up to which a catalog is fresh.
const FRESH_FOR: Duration = Duration::from_hours(24);
/// Time after `FRESH_FOR` in which the freshness decreases to 0.
const DECAY: Duration = Duration::from_hours(6 * 24);

/// Returns `catalog_freshness`: 1 up to a day after the last complete run, decreasing to 0 after a week.
#[must_use]
pub fn freshness(last_sync_at: Option<Timestamp>, now: Timestamp) -> f64 {
    let Some(synced) = last_sync_at else { return 0.0 };
    let age = now.since(synced);
    let stale = age.saturating_sub(FRESH_FOR).as_secs_f64();
    (1.0 - stale / DECAY.as_secs_f64()).clamp(0.0, 1.0)
}

primitives::text_enum! {
    /// A defect of a product's data.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Defect {
        /// The price is zero.
        MissingPrice,
        /// There is no image.
        MissingImage,
        /// Neither the product nor each of its variants has a GTIN.
        MissingGtin,
        /// The currency differs from the store's.
        ForeignCurrency,
        /// Stock status and quantity contradict each other.
        ContradictingStock,
        /// Another product of the store has the same GTIN.
        SharedGtin,
    }
}

/// A product with defects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefectiveProduct {
    pub id: ProductId,
    pub external_id: String,
    /// Merchant text.
    pub name: String,
    pub defects: Vec<Defect>,
}

/// Recomputes and stores the figures.
pub async fn refresh_quality(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<CatalogQuality, CatalogError> {
    let quality = table::compute_quality(work, merchant).await?;
    table::put_quality(work, merchant, &quality).await?;
    Ok(quality)
}

/// Returns the stored figures; `None` if they have never been computed.
pub async fn quality(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Option<CatalogQuality>, CatalogError> {
    reading.run(async |sql| Ok(table::quality(sql, merchant).await?)).await
}

/// Returns a page of the products with this defect, or with any, and their total number. They are computed now, not read
/// from the stored figures.
pub async fn products_with_defects(
    reading: &Reading,
    merchant: MerchantId,
    defect: Option<Defect>,
    page: PageRequest,
) -> Result<(Vec<DefectiveProduct>, i64), CatalogError> {
    let (limit, offset) = (i64::from(page.limit()), page.offset());
    reading
        .run(async |sql| {
            let mut found =
                table::products_with_defects(sql, merchant, defect, limit, offset).await?;
            if found.0.is_empty() && offset > 0 {
                // A page beyond the end carries no total.
                found.1 = table::products_with_defects(sql, merchant, defect, 1, 0).await?.1;
            }
            Ok(found)
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_decreases_from_one_day_to_one_week() {
        let now = Timestamp::from_unix_micros(1_794_729_600_000_000);
        let hours = |hours| Some(now.minus(Duration::from_hours(hours)));
        assert!((freshness(hours(24), now) - 1.0).abs() < 1e-9);
        assert!((freshness(hours(4 * 24), now) - 0.5).abs() < 1e-9);
        assert!(freshness(hours(8 * 24), now).abs() < 1e-9);
        assert!(freshness(None, now).abs() < 1e-9);
    }
}
