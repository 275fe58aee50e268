//! How good a store's data is: completeness, consistency and freshness (spec §2.6), computed from the
//! data itself. `trust` reads the figures; merchants see them with the products that fail.

use std::time::Duration;

use database::{Reading, Work};
use primitives::{MerchantId, PageRequest, ProductId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CatalogError, table};

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Products listed.
    pub products: i64,
    /// Those with title, price, picture and GTIN.
    pub complete: i64,
    /// Those that do not contradict themselves or each other.
    pub consistent: i64,
    /// Without a price above zero.
    pub missing_price: i64,
    /// Without a picture.
    pub missing_image: i64,
    /// Without a GTIN, of their own or of each variant.
    pub missing_gtin: i64,
    /// In another currency than the store's.
    pub foreign_currency: i64,
    /// Whose stock status and number contradict each other.
    pub contradicting_stock: i64,
    /// Whose GTIN another product of the store has too.
    pub shared_gtin: i64,
    /// When it was counted.
    pub computed_at: Timestamp,
}

impl Figures {
    /// `catalog_completeness`: the share of products with all required fields. None without products.
    #[must_use]
    pub fn completeness(&self) -> Option<f64> {
        share(self.complete, self.products)
    }

    /// `data_consistency`: the share of products without contradictions. None without products.
    #[must_use]
    pub fn consistency(&self) -> Option<f64> {
        share(self.consistent, self.products)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share of products needs no 53 bits")]
fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A catalog that was brought in completely within this span is fresh.
const FRESH_FOR: Duration = Duration::from_hours(24);
/// From then on it takes this long until it is not fresh at all: after a week.
const FADES_FOR: Duration = Duration::from_hours(6 * 24);

/// `catalog_freshness`: 1 up to a day after the last complete run, falling to 0 after a week.
#[must_use]
pub fn freshness(last_sync_at: Option<Timestamp>, now: Timestamp) -> f64 {
    let Some(synced) = last_sync_at else { return 0.0 };
    let age = now.since(synced);
    let stale = age.saturating_sub(FRESH_FOR).as_secs_f64();
    (1.0 - stale / FADES_FOR.as_secs_f64()).clamp(0.0, 1.0)
}

/// What can be wrong with a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Defect {
    /// No price above zero.
    MissingPrice,
    /// No picture.
    MissingImage,
    /// No GTIN, of its own or of each variant.
    MissingGtin,
    /// Another currency than the store's.
    ForeignCurrency,
    /// Stock status and number contradict each other.
    ContradictingStock,
    /// Another product of the store has the same GTIN.
    SharedGtin,
}

impl Defect {
    const ALL: [(Self, &'static str); 6] = [
        (Self::MissingPrice, "missing_price"),
        (Self::MissingImage, "missing_image"),
        (Self::MissingGtin, "missing_gtin"),
        (Self::ForeignCurrency, "foreign_currency"),
        (Self::ContradictingStock, "contradicting_stock"),
        (Self::SharedGtin, "shared_gtin"),
    ];

    /// The name, as on the wire and in SQL.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(defect, _)| *defect == self).map_or("", |(_, name)| name)
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, other)| *other == name).map(|(defect, _)| *defect)
    }
}

/// A product that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    /// Its id.
    pub id: ProductId,
    /// The merchant's own identifier.
    pub external_id: String,
    /// What it is called. Merchant text.
    pub name: String,
    /// What is wrong with it.
    pub defects: Vec<Defect>,
}

/// Counts again and keeps the figures.
pub async fn measure(work: &mut Work, merchant: MerchantId) -> Result<Figures, CatalogError> {
    let figures = table::measure(work, merchant).await?;
    table::put_quality(work, merchant, &figures).await?;
    Ok(figures)
}

/// The figures as last counted.
pub async fn quality(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Option<Figures>, CatalogError> {
    let mut snapshot = reading.open().await?;
    let figures = table::quality(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    Ok(figures)
}

/// The products that fail, or that fail in one way, as they are now.
pub async fn failing(
    reading: &Reading,
    merchant: MerchantId,
    defect: Option<Defect>,
    page: PageRequest,
) -> Result<(Vec<Failing>, i64), CatalogError> {
    let mut snapshot = reading.open().await?;
    let (limit, offset) = (i64::from(page.limit()), page.offset());
    let mut found = table::failing(&mut snapshot, merchant, defect, limit, offset).await?;
    if found.0.is_empty() && offset > 0 {
        // A page behind the end knows no total.
        found.1 = table::failing(&mut snapshot, merchant, defect, 1, 0).await?.1;
    }
    snapshot.close().await?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freshness_falls_from_a_day_to_a_week() {
        let now = Timestamp::from_unix_micros(1_794_729_600_000_000);
        let hours = |hours| Some(now.minus(Duration::from_hours(hours)));
        assert!((freshness(hours(24), now) - 1.0).abs() < 1e-9);
        assert!((freshness(hours(4 * 24), now) - 0.5).abs() < 1e-9);
        assert!(freshness(hours(8 * 24), now).abs() < 1e-9);
        assert!(freshness(None, now).abs() < 1e-9);
    }
}
