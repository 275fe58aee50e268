//! Statistics of deliveries, for metrics and `souk webhooks status`.

use database::Reading;

use crate::dispatcher::LOADED_MAX;
use crate::{WebhookError, table};

/// Statistics of the webhooks of all stores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WebhookStats {
    /// Deliveries that wait for an attempt, up to [`COUNT_MAX`](Self::COUNT_MAX).
    pub pending: i64,
    /// Dead letters, up to [`COUNT_MAX`](Self::COUNT_MAX).
    pub dead: i64,
    /// For how long the store has waited that waits the longest for a dispatcher. Waiting for the next attempt after a failure
    /// does not count.
    pub lag_seconds: f64,
    pub enabled_endpoints: i64,
    /// Endpoints that their merchant disabled.
    pub disabled_by_merchant: i64,
    /// Endpoints that are disabled because they responded with 410.
    pub disabled_gone: i64,
    /// Endpoints that are disabled because they failed for days.
    pub disabled_failing: i64,
    /// Endpoints whose circuit is open.
    pub open_circuits: i64,
    /// Processes that deliver.
    pub dispatchers: i64,
}

impl WebhookStats {
    /// From this number on, rows are not counted.
    pub const COUNT_MAX: i64 = 100_000;

    /// Returns the number of disabled endpoints.
    #[must_use]
    pub const fn disabled_endpoints(&self) -> i64 {
        self.disabled_by_merchant + self.disabled_gone + self.disabled_failing
    }
}

/// Returns the current statistics.
pub async fn webhook_stats(reading: &Reading) -> Result<WebhookStats, WebhookError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            Ok(table::stats::webhook_stats(sql, now).await?)
        })
        .await
}

/// Returns the number of deliveries in flight: started, without a recorded result, at stores whose owner has a valid
/// lease. What a killed process had started counts while its lease is valid, and again from when another one takes the
/// store until it is sent again.
pub async fn in_flight(reading: &Reading) -> Result<i64, WebhookError> {
    let limit = i64::try_from(LOADED_MAX).unwrap_or(i64::MAX);
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            Ok(table::stats::in_flight(sql, now, limit).await?)
        })
        .await
}
