//! Statistics of deliveries, for metrics and `souk webhooks status`.

use database::Reading;

use crate::dispatcher::LOADED_MAX;
use crate::purge::RETENTION;
use crate::{WebhookError, table};

/// Statistics of the webhooks of all stores.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WebhookStats {
    /// Deliveries that wait for an attempt, up to [`COUNT_MAX`](Self::COUNT_MAX).
    pub pending: i64,
    /// Dead letters, up to [`COUNT_MAX`](Self::COUNT_MAX).
    pub dead: i64,
    /// For how long the store or endpoint has waited that waits the longest, for a dispatcher or in one. Waiting for the next
    /// attempt after a failure, for the probe of a circuit or for a receiver that responds slowly does not count.
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

/// Whether webhooks are sent in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookVerdict {
    InTime,
    /// A store or an endpoint has waited for too long.
    Late,
    /// Deliveries wait, and no process delivers.
    NotSent,
}

impl WebhookVerdict {
    /// Returns what it means for an operator, and what to do.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::InTime => "Nothing is late.",
            Self::Late => {
                "Deliveries are late: start more `souk work` or raise SOUK_WEBHOOK_SLOTS; if souk_webhook_attempts_total does not grow, see the log of `souk work` and restart it."
            }
            Self::NotSent => {
                "Nothing is sent: no `souk work` process has a lease. Start one; if one runs, see its log."
            }
        }
    }
}

impl WebhookStats {
    /// From this number on, rows are not counted.
    pub const COUNT_MAX: i64 = 100_000;
    /// Beyond this lag, webhooks are late.
    const LAG_MAX_SECONDS: f64 = 60.0;

    /// Returns whether webhooks are sent in time.
    #[must_use]
    pub fn verdict(&self) -> WebhookVerdict {
        if self.dispatchers == 0 && self.pending > 0 {
            WebhookVerdict::NotSent
        } else if self.lag_seconds > Self::LAG_MAX_SECONDS {
            WebhookVerdict::Late
        } else {
            WebhookVerdict::InTime
        }
    }

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
            Ok(table::stats::webhook_stats(sql, now, now.minus(RETENTION)).await?)
        })
        .await
}

/// Returns the number of deliveries that are started and have no recorded result, at stores whose owner has a valid lease. What a
/// killed process had started counts while its lease is valid, and again from when another one takes the store until it is sent
/// again.
pub async fn started(reading: &Reading) -> Result<i64, WebhookError> {
    let limit = i64::try_from(LOADED_MAX).unwrap_or(i64::MAX);
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            Ok(table::stats::started(sql, now, limit).await?)
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_without_a_dispatcher_is_not_sent_and_what_waits_for_a_minute_is_late() {
        let stats = |pending, dispatchers, lag_seconds| WebhookStats {
            pending,
            lag_seconds,
            dispatchers,
            ..WebhookStats::default()
        };
        assert_eq!(stats(0, 0, 0.0).verdict(), WebhookVerdict::InTime);
        assert_eq!(stats(1, 0, 0.0).verdict(), WebhookVerdict::NotSent);
        assert_eq!(stats(1, 1, 60.0).verdict(), WebhookVerdict::InTime);
        assert_eq!(stats(1, 1, 61.0).verdict(), WebhookVerdict::Late);
    }
}
