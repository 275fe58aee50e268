//! Scores that rose or fell unusually fast, which an operator looks at (docs/contract/trust.md#anti-manipulation).

use std::time::Duration;

use database::Reading;
use primitives::{MerchantId, Timestamp};

use crate::{Epoch, TrustError, table};

/// Change by one computation above which an alert is written. One account moves a score by 0.01 at most.
pub const CHANGE_MAX: f64 = 0.1;

/// A score that rose or fell by more than [`CHANGE_MAX`] in one computation.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    pub merchant: MerchantId,
    pub slug: String,
    pub epoch: Epoch,
    pub revision: i32,
    pub former_score: f64,
    pub score: f64,
    pub created_at: Timestamp,
}

impl Alert {
    /// Returns by how much the score rose; negative if it fell.
    #[must_use]
    pub fn change(&self) -> f64 {
        self.score - self.former_score
    }
}

/// Returns the alerts of a period until now, newest first.
pub async fn alerts(
    reading: &Reading,
    period: Duration,
    limit: u16,
) -> Result<Vec<Alert>, TrustError> {
    reading
        .run(async |sql| {
            let since = sql.now().await?.minus(period);
            Ok(table::alert::list(sql, since, i64::from(limit)).await?)
        })
        .await
}
