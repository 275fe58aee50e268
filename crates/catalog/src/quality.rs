//! Data quality of a catalog: completeness, consistency and freshness (docs/contract/trust.md#components), computed from
//! the data itself. `trust` reads the figures; merchants see them together with the defective products.

use std::time::Duration;

use database::{Database, DatabaseError, Reading, Snapshot, Work};
use jobs::NewEvent;
use primitives::{MerchantId, PageRequest, ProductId, Timestamp};
use serde_json::json;

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
    /// Products with a rating.
    pub rated_products: i64,
    /// Sum of their ratings of 0 to 5, in hundredths.
    pub rating_sum_hundredths: i64,
    /// Time since which at least 95 % of the products were pushed; `None` if more than 5 % never were.
    pub pushed_since: Option<Timestamp>,
    pub computed_at: Timestamp,
    /// Whether an earlier version computed them, without ratings and `pushed_since`.
    pub is_outdated: bool,
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

    /// Returns the number of products with a defect.
    #[must_use]
    pub const fn products_with(&self, defect: Defect) -> i64 {
        match defect {
            Defect::MissingPrice => self.missing_price,
            Defect::MissingImage => self.missing_image,
            Defect::MissingGtin => self.missing_gtin,
            Defect::ForeignCurrency => self.foreign_currency,
            Defect::ContradictingStock => self.contradicting_stock,
            Defect::SharedGtin => self.shared_gtin,
        }
    }

    /// Returns the defects that lower a figure and occur, each with its number of products, the most frequent first.
    #[must_use]
    pub fn defects_lowering(&self, figure: QualityFigure) -> Vec<(Defect, i64)> {
        let defects = Defect::ALL.iter().copied().filter(|defect| defect.lowers() == figure);
        let counted = defects.map(|defect| (defect, self.products_with(defect)));
        let mut occurring: Vec<(Defect, i64)> = counted.filter(|(_, count)| *count > 0).collect();
        occurring.sort_by_key(|(_, count)| -count);
        occurring
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

/// Returns `catalog_freshness`: 1 up to a day after the last complete run or [`pushed_since`](CatalogQuality::pushed_since),
/// whichever is later, decreasing to 0 after a week.
#[must_use]
pub fn freshness(synced_at: Option<Timestamp>, now: Timestamp) -> f64 {
    let Some(synced) = synced_at else { return 0.0 };
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

/// A figure that defects of products lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QualityFigure {
    /// `catalog_completeness`.
    Completeness,
    /// `data_consistency`.
    Consistency,
}

impl Defect {
    /// Returns the figure that a product with this defect lowers.
    #[must_use]
    pub const fn lowers(self) -> QualityFigure {
        match self {
            Self::MissingPrice | Self::MissingImage | Self::MissingGtin => {
                QualityFigure::Completeness
            }
            Self::ForeignCurrency | Self::ContradictingStock | Self::SharedGtin => {
                QualityFigure::Consistency
            }
        }
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

/// How long a statement that reads the whole catalog may take.
const COMPUTING_MAX: Duration = Duration::from_mins(2);

/// Recomputes and stores the figures. Publishes `catalog.filled` if they have products and had none before. They are computed
/// while nothing is locked: of a large catalog, that takes longer than a transaction that writes may.
pub async fn refresh_quality(
    database: &Database,
    merchant: MerchantId,
) -> Result<CatalogQuality, CatalogError> {
    let reading = Reading::for_store(database, merchant)?;
    let compute = async |sql: &mut Snapshot| -> Result<_, CatalogError> {
        let now = sql.now().await?;
        database::set_statement_timeout(sql, COMPUTING_MAX).await?;
        Ok(table::compute_quality(sql, merchant, now).await?)
    };
    let quality = reading.run(compute).await?;
    let mut work = Work::for_store(database, merchant).await?;
    store_quality(&mut work, merchant, &quality).await?;
    work.commit().await?;
    Ok(quality)
}

/// Stores figures, unless newer ones are stored.
async fn store_quality(
    work: &mut Work,
    merchant: MerchantId,
    quality: &CatalogQuality,
) -> Result<(), CatalogError> {
    let former = table::quality(work.sql(), merchant).await?;
    table::put_quality(work, merchant, quality).await?;
    let had_products = former.is_some_and(|former| former.products > 0);
    if quality.products > 0 && !had_products {
        let (topic, subject, payload) = ("catalog.filled", merchant.uuid(), json!({}));
        jobs::publish(work, &[NewEvent { merchant, topic, subject, payload }]).await?;
    }
    Ok(())
}

/// Returns the stored figures; `None` if they have never been computed.
pub async fn quality(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Option<CatalogQuality>, CatalogError> {
    reading.run(async |sql| Ok(table::quality(sql, merchant).await?)).await
}

/// Returns the stored figures like [`quality`], in an open transaction.
pub async fn quality_in(
    sql: &mut Snapshot,
    merchant: MerchantId,
) -> Result<Option<CatalogQuality>, DatabaseError> {
    Ok(table::quality(sql, merchant).await?)
}

/// Returns the first products with a defect in the order of their external ids, in an open transaction. Reads the whole
/// catalog.
pub async fn first_with_defect(
    sql: &mut Snapshot,
    merchant: MerchantId,
    defect: Defect,
    limit: i64,
) -> Result<Vec<DefectiveProduct>, DatabaseError> {
    Ok(table::products_with_defects(sql, merchant, Some(defect), limit, 0).await?.0)
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
    fn the_defects_of_a_figure_that_occur_are_listed_the_most_frequent_first() {
        let quality = CatalogQuality {
            products: 9,
            complete: 3,
            consistent: 8,
            missing_price: 0,
            missing_image: 2,
            missing_gtin: 5,
            foreign_currency: 0,
            contradicting_stock: 1,
            shared_gtin: 0,
            rated_products: 0,
            rating_sum_hundredths: 0,
            pushed_since: None,
            computed_at: Timestamp::from_unix_micros(0),
            is_outdated: false,
        };
        assert_eq!(
            quality.defects_lowering(QualityFigure::Completeness),
            [(Defect::MissingGtin, 5), (Defect::MissingImage, 2)]
        );
        assert_eq!(
            quality.defects_lowering(QualityFigure::Consistency),
            [(Defect::ContradictingStock, 1)]
        );
    }

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
