//! What waits for an administrator or a merchant, for metrics.

use std::time::Duration;

use database::Reading;

use crate::{OrderError, table};

/// The time after which a return that the merchant has not answered counts.
const ANSWER_TIME: Duration = Duration::from_hours(7 * 24);

/// What waits, without what belongs to sandboxes. Each is counted up to 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Disputes that an administrator has to decide.
    pub disputes_under_review: i64,
    /// Those of them whose time for the decision has passed.
    pub disputes_overdue: i64,
    /// Returns that were requested more than seven days ago, and neither approved nor declined.
    pub returns_unanswered: i64,
}

/// Counts what waits at all stores.
pub async fn backlog(reading: &Reading) -> Result<Backlog, OrderError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            Ok(table::backlog(sql, now, now.minus(ANSWER_TIME)).await?)
        })
        .await
}
