//! Attempts to log in.

use database::Work;
use primitives::Timestamp;

use crate::secret::Mac;

/// Counts an attempt, and returns `false` if the limit of the window has been reached.
pub(crate) async fn count(
    work: &mut Work,
    subject: &Mac,
    window_start: Timestamp,
    attempts_max: i32,
) -> sqlx::Result<bool> {
    let counted = sqlx::query_scalar!(
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
    Ok(counted.is_some())
}

/// Takes back the count of an attempt.
pub(crate) async fn uncount(
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

/// Deletes at most `limit` attempts of windows that started before `before`.
pub(crate) async fn purge(work: &mut Work, before: Timestamp, limit: i64) -> sqlx::Result<u64> {
    let deleted = sqlx::query!(
        "DELETE FROM platform.login_attempt WHERE (subject, window_start) IN
             (SELECT subject, window_start FROM platform.login_attempt WHERE window_start < $1 LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(deleted.rows_affected())
}
