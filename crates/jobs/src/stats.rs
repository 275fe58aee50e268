//! Statistics of the queue and the outbox, for metrics and health checks.

use database::Reading;

use crate::{QueueError, table};

/// Statistics of the queue and the outbox.
#[derive(Debug, Clone, Default)]
pub struct QueueStats {
    /// Jobs that are due and not leased.
    pub due: i64,
    /// Age of the oldest due job.
    pub oldest_due_seconds: f64,
    pub leased: i64,
    /// Jobs that were started and never completed, waiting for an exclusive run.
    pub suspects: i64,
    /// Number of dead letters.
    pub dead: i64,
    /// Scheduled jobs whose last attempt failed.
    pub failing_schedules: i64,
    /// Rows that sweeps could not process.
    pub failed_rows: i64,
    /// Number of transactions since the oldest open one of the cluster started. Until it ends, vacuum is delayed and
    /// readers of the outbox read later events again.
    pub xmin_age_transactions: i64,
    /// Age of that transaction.
    pub xmin_age_seconds: f64,
    pub cursors: Vec<CursorLag>,
}

/// The lag of an outbox reader.
#[derive(Debug, Clone)]
pub struct CursorLag {
    /// Name of the cursor.
    pub name: String,
    /// Age of the oldest unread event.
    pub seconds: f64,
}

/// Returns the current statistics.
pub async fn queue_stats(reading: &Reading) -> Result<QueueStats, QueueError> {
    let now = reading.local_now();
    reading
        .run(async |sql| {
            let mut stats = table::queue_stats(sql, now).await?;
            stats.cursors = table::cursor_lags(sql, now).await?;
            Ok(stats)
        })
        .await
}
