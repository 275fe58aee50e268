//! Logins that were tried.

use database::Work;
use primitives::Timestamp;

use crate::secret::Mac;

/// Counts an attempt, unless there were as many as there may be in this window. Answers whether it may be made.
pub(crate) async fn take(
    work: &mut Work,
    subject: &Mac,
    window_start: Timestamp,
    attempts_max: i32,
) -> sqlx::Result<bool> {
    let taken = sqlx::query_scalar!(
        "INSERT INTO platform.login_attempt AS made (subject, window_start, attempts)
         VALUES ($1, $2, 1)
         ON CONFLICT (subject, window_start) DO UPDATE SET attempts = made.attempts + 1
         WHERE made.attempts < $3
         RETURNING attempts",
        subject.as_slice(),
        window_start as Timestamp,
        attempts_max,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(taken.is_some())
}

/// Takes back an attempt that was no wrong one.
pub(crate) async fn give_back(
    work: &mut Work,
    subject: &Mac,
    window_start: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE platform.login_attempt SET attempts = attempts - 1
         WHERE subject = $1 AND window_start = $2 AND attempts > 0",
        subject.as_slice(),
        window_start as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// What no window reaches back to any more.
pub(crate) async fn forget(work: &mut Work, before: Timestamp) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM platform.login_attempt WHERE window_start < $1",
        before as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}
