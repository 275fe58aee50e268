//! Orphaned feed runs, and rows that are kept for a time only.

use database::Work;
use jobs::SweepRow;
use primitives::{FeedRunId, MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

/// The position after which a sweep continues.
pub(super) fn position(after: Option<SweepRow>) -> (Option<Timestamp>, Uuid) {
    after.map_or((None, Uuid::nil()), |row| (Some(row.due_at), row.id))
}

/// Returns runs whose upload was abandoned and runs whose job no longer exists.
pub(crate) async fn orphaned_runs(
    sql: &mut PgConnection,
    received_before: Timestamp,
    job_kind: &str,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let (after, after_id) = position(after);
    sqlx::query_as!(
        SweepRow,
        r#"SELECT merchant_id AS "merchant: MerchantId", run_id AS id,
                  updated_at AS "due_at: Timestamp"
           FROM catalog_run
           WHERE ((state = 'receiving' AND updated_at < $1)
               OR (state IN ('queued', 'checking', 'applying', 'retiring')
                   AND NOT EXISTS (SELECT FROM job WHERE kind = $2
                                   AND once_key = 'job_' || replace(run_id::text, '-', ''))))
             AND ($3::timestamptz IS NULL OR (updated_at, run_id) > ($3, $4))
           ORDER BY updated_at, run_id LIMIT $5"#,
        received_before as Timestamp,
        job_kind,
        after as Option<Timestamp>,
        after_id,
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns completed runs that ended until a time and are not recorded as searchable.
pub(crate) async fn unsearchable_runs(
    sql: &mut PgConnection,
    until: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let (after, after_id) = position(after);
    sqlx::query_as!(
        SweepRow,
        r#"SELECT merchant_id AS "merchant: MerchantId", run_id AS id,
                  finished_at AS "due_at!: Timestamp"
           FROM catalog_run
           WHERE state = 'completed' AND NOT dry_run AND searchable_at IS NULL AND finished_at <= $1
             AND ($2::timestamptz IS NULL OR (finished_at, run_id) > ($2, $3))
           ORDER BY finished_at, run_id LIMIT $4"#,
        until as Timestamp,
        after as Option<Timestamp>,
        after_id,
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Records that search can find the result of a run.
pub(crate) async fn set_searchable(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE catalog_run SET searchable_at = $3
         WHERE merchant_id = $1 AND run_id = $2 AND searchable_at IS NULL",
        merchant as MerchantId,
        run as FeedRunId,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Fails a run if its upload was abandoned or its job no longer exists.
pub(crate) async fn fail_orphaned_run(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
    received_before: Timestamp,
    job_kind: &str,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE catalog_run SET state = 'failed', finished_at = $5, updated_at = $5,
             reason = CASE state WHEN 'receiving' THEN 'the upload was never finished'
                                 ELSE 'it failed too often and was given up' END
         WHERE merchant_id = $1 AND run_id = $2
           AND ((state = 'receiving' AND updated_at < $3)
             OR (state IN ('queued', 'checking', 'applying', 'retiring')
                 AND NOT EXISTS (SELECT FROM job WHERE kind = $4
                                 AND once_key = 'job_' || replace(run_id::text, '-', ''))))",
        merchant as MerchantId,
        run as FeedRunId,
        received_before as Timestamp,
        job_kind,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns ended runs whose feed is still stored.
pub(crate) async fn ended_runs_with_files(
    sql: &mut PgConnection,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let (after, after_id) = position(after);
    sqlx::query_as!(
        SweepRow,
        r#"SELECT merchant_id AS "merchant: MerchantId", run_id AS id,
                  updated_at AS "due_at: Timestamp"
           FROM catalog_run
           WHERE stored_bytes > 0 AND state IN ('completed', 'refused', 'failed', 'superseded')
             AND ($1::timestamptz IS NULL OR (updated_at, run_id) > ($1, $2))
           ORDER BY updated_at, run_id LIMIT $3"#,
        after as Option<Timestamp>,
        after_id,
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Deletes up to `limit` chunks of an ended run. Returns whether they were the last ones.
pub(crate) async fn delete_chunks(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
    limit: i64,
) -> sqlx::Result<bool> {
    let deleted = sqlx::query_scalar!(
        "DELETE FROM catalog_run_chunk WHERE merchant_id = $1 AND run_id = $2 AND number IN (
             SELECT number FROM catalog_run_chunk WHERE merchant_id = $1 AND run_id = $2
             ORDER BY number LIMIT $3)
         RETURNING octet_length(bytes)",
        merchant as MerchantId,
        run as FeedRunId,
        limit,
    )
    .fetch_all(work.sql())
    .await?;
    let is_done = i64::try_from(deleted.len()).unwrap_or(i64::MAX) < limit;
    let bytes: i64 = deleted.into_iter().flatten().map(i64::from).sum();
    sqlx::query!(
        "UPDATE catalog_run
         SET stored_bytes = CASE WHEN $4 THEN 0 ELSE greatest(stored_bytes - $3, 1) END
         WHERE merchant_id = $1 AND run_id = $2",
        merchant as MerchantId,
        run as FeedRunId,
        bytes,
        is_done,
    )
    .execute(work.sql())
    .await?;
    Ok(is_done)
}

/// Deletes errors of rows whose run ended before a time.
pub(crate) async fn delete_row_errors(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let deleted = sqlx::query!(
        "DELETE FROM catalog_run_fault WHERE (merchant_id, run_id, line, number) IN (
             SELECT fault.merchant_id, fault.run_id, line, number
             FROM (SELECT merchant_id, run_id FROM catalog_run
                   WHERE finished_at < $1 ORDER BY finished_at, run_id) AS ended
             CROSS JOIN LATERAL (
                 SELECT * FROM catalog_run_fault AS own
                 WHERE own.merchant_id = ended.merchant_id AND own.run_id = ended.run_id) AS fault
             LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(deleted.rows_affected())
}

/// Deletes runs that ended before a time, except the last one that completed the catalog of a store.
pub(crate) async fn delete_runs(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let deleted = sqlx::query!(
        "DELETE FROM catalog_run WHERE (merchant_id, run_id) IN (
             SELECT merchant_id, run_id FROM catalog_run AS run
             WHERE finished_at < $1 AND stored_bytes = 0
               AND (NOT complete OR EXISTS (
                   SELECT FROM catalog_run AS newer
                   WHERE newer.merchant_id = run.merchant_id AND newer.complete
                     AND newer.finished_at > run.finished_at))
               AND NOT EXISTS (
                   SELECT FROM catalog_run_fault AS fault
                   WHERE fault.merchant_id = run.merchant_id AND fault.run_id = run.run_id)
             ORDER BY finished_at, run_id LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(deleted.rows_affected())
}

/// Deletes counts of uploads before a day.
pub(crate) async fn delete_uploads(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let deleted = sqlx::query!(
        "DELETE FROM catalog_upload WHERE (merchant_id, day) IN (
             SELECT merchant_id, day FROM catalog_upload
             WHERE day < ($1::timestamptz AT TIME ZONE 'UTC')::date LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(deleted.rows_affected())
}

/// Deletes prices that were replaced before a time.
pub(crate) async fn delete_prices(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let deleted = sqlx::query!(
        "DELETE FROM price_history WHERE (merchant_id, product_id, position) IN (
             SELECT merchant_id, product_id, position FROM price_history AS old
             WHERE at < $1 AND EXISTS (
                 SELECT FROM price_history AS newer
                 WHERE newer.merchant_id = old.merchant_id AND newer.product_id = old.product_id
                   AND newer.position > old.position AND newer.at < $1
                   AND newer.variant_id IS NOT DISTINCT FROM old.variant_id)
             LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(deleted.rows_affected())
}
