//! How the queue and the outbox are doing, for metrics and health.

use database::Reading;

use crate::{QueueError, table};

/// Figures of one moment.
#[derive(Debug, Clone, Default)]
pub struct Measures {
    /// Jobs that are due and not leased.
    pub due: i64,
    /// How long the oldest due job has been waiting.
    pub oldest_due_seconds: f64,
    /// Jobs under a lease.
    pub leased: i64,
    /// Jobs that took a worker down, or were beside one that did, and wait to run alone.
    pub suspects: i64,
    /// Dead letters.
    pub dead: i64,
    /// How far the oldest open transaction of the cluster is behind, in transactions. While it
    /// stands, vacuum waits and outbox readers look again at what came since.
    pub xmin_age_transactions: i64,
    /// How long that transaction has been open.
    pub xmin_age_seconds: f64,
    /// How far each outbox reader is behind.
    pub cursors: Vec<CursorLag>,
}

/// How far an outbox reader is behind.
#[derive(Debug, Clone)]
pub struct CursorLag {
    /// The reader's name.
    pub name: String,
    /// The age of the oldest event it has not read.
    pub seconds: f64,
}

/// Takes the figures.
pub async fn measure(reading: &Reading) -> Result<Measures, QueueError> {
    let mut snapshot = reading.open().await?;
    let now = reading.local_now();
    let mut measures = table::measure_queue(&mut snapshot, now).await?;
    measures.cursors = table::measure_cursors(&mut snapshot, now).await?;
    snapshot.close().await?;
    Ok(measures)
}
