//! The release of units whose sessions have expired, by the job of a worker.

use std::time::{Duration, Instant};

use checkout::ExpireSessions;
use database::Work;
use primitives::MerchantId;
use testkit::TestDatabase;

use crate::report::{Failure, ensure};

const TIMEOUT: Duration = Duration::from_mins(1);

/// Enqueues the job that ends expired sessions, and returns how long it takes until none of a store holds units any more.
pub(crate) async fn release_expired(
    test: &TestDatabase,
    merchant: MerchantId,
) -> Result<Duration, Failure> {
    let (mut raw, since) = (test.raw().await, Instant::now());
    let held = "SELECT count(*) FROM checkout_session WHERE merchant_id = $1 AND is_holding AND expires_at < now()";
    let queued = "SELECT EXISTS (SELECT FROM job WHERE kind = 'checkout.notice_abandoned')";
    while sqlx::query_scalar::<_, i64>(held).bind(merchant).fetch_one(&mut raw).await? > 0 {
        // The job of the schedule may have been running, and have passed the sessions before they expired.
        if !sqlx::query_scalar::<_, bool>(queued).fetch_one(&mut raw).await? {
            let mut work = Work::for_platform(test.database()).await?;
            jobs::enqueue_sweep::<ExpireSessions>(&mut work).await?;
            work.commit().await?;
        }
        ensure(since.elapsed() < TIMEOUT, || String::from("expired holds are not released"))?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(since.elapsed())
}
