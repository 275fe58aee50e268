//! Both methodologies side by side, for operators.

use database::Reading;
use merchants::Band;
use primitives::{MerchantId, StoreSlug};

use crate::{Epoch, Shadow, TrustError, table};

/// Epochs in which the newest score of a store is looked for: 60 days.
const RECENT_EPOCHS: i64 = 240;

/// The newest scores of a store by both methodologies.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub merchant: MerchantId,
    pub slug: String,
    /// By methodology 2.0.
    pub score: Option<f64>,
    /// By methodology 4.1.0, without base and dimensions.
    pub shadow: Option<Shadow>,
}

impl Comparison {
    /// Returns the score by methodology 4.1.0 as a trust score, 0 to 1.
    #[must_use]
    pub fn shadow_score(&self) -> Option<f64> {
        self.shadow.as_ref().and_then(Shadow::trust_score)
    }

    /// Returns the bands of both scores.
    #[must_use]
    pub fn bands(&self) -> (Option<Band>, Option<Band>) {
        (self.score.map(Band::of), self.shadow_score().map(Band::of))
    }
}

/// Returns the newest scores of stores after a slug, in the order of their slugs, or of one store. Stores without a score of
/// the last 60 days are left out.
pub async fn compare(
    reading: &Reading,
    only: Option<&StoreSlug>,
    after: Option<&StoreSlug>,
    limit: u16,
) -> Result<Vec<Comparison>, TrustError> {
    let (only, after) = (only.map(StoreSlug::as_str), after.map_or("", StoreSlug::as_str));
    reading
        .run(async |sql| {
            let now = Epoch::of(sql.now().await?);
            let recent = (now.0 - RECENT_EPOCHS, now.0);
            let limit = i64::from(limit);
            Ok(table::status::comparisons(sql, only, after, recent, limit).await?)
        })
        .await
}
