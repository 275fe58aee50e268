//! Feed runs and their chunks.

use database::Work;
use primitives::{FeedRunId, MerchantId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::unreadable;
use crate::feed_run::{CatalogState, FeedRun, FeedRunMode, FeedRunState, NewFeedRun, RowCounts};
use crate::{FeedColumns, FeedFormat};

pub(crate) async fn insert_run(
    work: &mut Work,
    merchant: MerchantId,
    id: FeedRunId,
    request: &NewFeedRun,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO catalog_run
             (merchant_id, run_id, format, mode, dry_run, force, file_name, state, started_at, updated_at,
              columns)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'receiving', $8, $8, $9)",
        merchant as MerchantId,
        id as FeedRunId,
        request.format.as_str(),
        request.mode.as_str(),
        request.dry_run,
        request.force,
        request.file_name,
        now as Timestamp,
        request.columns.as_ref().map(Json) as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Stores a chunk of a run that is being received. Returns false if the run has ended.
pub(crate) async fn put_chunk(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
    number: i32,
    bytes: &[u8],
) -> sqlx::Result<bool> {
    let now = work.now();
    let counted = sqlx::query!(
        "UPDATE catalog_run SET stored_bytes = stored_bytes + $3, updated_at = $4
         WHERE merchant_id = $1 AND run_id = $2 AND state = 'receiving'",
        merchant as MerchantId,
        run as FeedRunId,
        i64::try_from(bytes.len()).unwrap_or(i64::MAX),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    if counted.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query!(
        "INSERT INTO catalog_run_chunk (merchant_id, run_id, number, bytes) VALUES ($1, $2, $3, $4)",
        merchant as MerchantId,
        run as FeedRunId,
        number,
        bytes,
    )
    .execute(work.sql())
    .await?;
    Ok(true)
}

pub(crate) async fn chunk(
    sql: &mut PgConnection,
    merchant: MerchantId,
    run: FeedRunId,
    number: i32,
) -> sqlx::Result<Option<Vec<u8>>> {
    sqlx::query_scalar!(
        "SELECT bytes FROM catalog_run_chunk WHERE merchant_id = $1 AND run_id = $2 AND number = $3",
        merchant as MerchantId,
        run as FeedRunId,
        number,
    )
    .fetch_optional(sql)
    .await
}

/// Moves a run from `receiving` to `queued`. Returns whether it was `receiving`.
pub(crate) async fn queue_run(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
    bytes_total: i64,
    content_hash: &[u8],
) -> sqlx::Result<bool> {
    let now = work.now();
    let queued = sqlx::query!(
        "UPDATE catalog_run SET state = 'queued', bytes_total = $3, content_hash = $4,
             received_at = $5, updated_at = $5
         WHERE merchant_id = $1 AND run_id = $2 AND state = 'receiving'",
        merchant as MerchantId,
        run as FeedRunId,
        bytes_total,
        content_hash,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(queued.rows_affected() == 1)
}

/// Supersedes the unfinished runs of the store that were received earlier, dry runs excepted.
pub(crate) async fn supersede_older(
    work: &mut Work,
    merchant: MerchantId,
    received_at: Timestamp,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE catalog_run SET state = 'superseded', finished_at = $3, updated_at = $3,
             reason = 'a newer replacement took its place'
         WHERE merchant_id = $1 AND received_at < $2 AND NOT dry_run
           AND state IN ('queued', 'checking', 'applying', 'retiring')",
        merchant as MerchantId,
        received_at as Timestamp,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// The run of a store that changes its catalog.
pub(crate) struct ActiveRun {
    pub(crate) run_id: FeedRunId,
    pub(crate) received_at: Option<Timestamp>,
}

/// Returns the run of a store that changes its catalog.
pub(crate) async fn active_run(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Option<ActiveRun>> {
    sqlx::query_as!(
        ActiveRun,
        r#"SELECT run_id AS "run_id: FeedRunId", received_at AS "received_at: Timestamp"
           FROM catalog_run
           WHERE merchant_id = $1 AND state IN ('applying', 'retiring') AND NOT dry_run"#,
        merchant as MerchantId,
    )
    .fetch_optional(sql)
    .await
}

/// Returns whether a replacement that was received later has started to change the catalog.
pub(crate) async fn is_outdated(
    work: &mut Work,
    merchant: MerchantId,
    received_at: Timestamp,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM catalog_run
                          WHERE merchant_id = $1 AND received_at > $2 AND mode = 'replace'
                            AND NOT dry_run AND applied_at IS NOT NULL) AS "is!""#,
        merchant as MerchantId,
        received_at as Timestamp,
    )
    .fetch_one(work.sql())
    .await
}

/// Moves a run to a state. Returns false if the run has ended.
pub(crate) async fn advance_run(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
    to: FeedRunState,
    rows_total: Option<i64>,
    absent: Option<i64>,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE catalog_run SET state = $3, rows_total = coalesce($4, rows_total),
             absent = coalesce($5, absent), bytes_read = 0, updated_at = $6,
             applied_at = CASE WHEN $3 = 'applying' THEN coalesce(applied_at, $6) ELSE applied_at END
         WHERE merchant_id = $1 AND run_id = $2
           AND state IN ('queued', 'checking', 'applying', 'retiring')",
        merchant as MerchantId,
        run as FeedRunId,
        to.as_str(),
        rows_total,
        absent,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Stores the progress of a run. Returns false if the run is not active any more.
pub(crate) async fn record_progress(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
    counts: &RowCounts,
    bytes_read: i64,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE catalog_run SET rows_done = $3, created = $4, updated = $5, unchanged = $6,
             outdated = $7, failed = $8, retired = $9, bytes_read = $10, updated_at = $11,
             skipped = $12, warnings = $13
         WHERE merchant_id = $1 AND run_id = $2 AND state IN ('checking', 'applying', 'retiring')",
        merchant as MerchantId,
        run as FeedRunId,
        counts.rows,
        counts.created,
        counts.updated,
        counts.unchanged,
        counts.outdated,
        counts.failed,
        counts.retired,
        bytes_read,
        now as Timestamp,
        counts.skipped,
        counts.warnings,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a run. Returns false if it has ended already.
pub(crate) async fn end_run(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
    state: FeedRunState,
    complete: bool,
    reason: Option<&str>,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE catalog_run SET state = $3, complete = $4, reason = $5, finished_at = $6, updated_at = $6
         WHERE merchant_id = $1 AND run_id = $2
           AND state NOT IN ('completed', 'refused', 'failed', 'superseded')",
        merchant as MerchantId,
        run as FeedRunId,
        state.as_str(),
        complete,
        reason,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

struct RunRow {
    run_id: FeedRunId,
    format: String,
    mode: String,
    dry_run: bool,
    force: bool,
    file_name: Option<String>,
    state: String,
    complete: bool,
    reason: Option<String>,
    bytes_total: i64,
    bytes_read: i64,
    rows_total: Option<i64>,
    rows_done: i64,
    created: i64,
    updated: i64,
    unchanged: i64,
    outdated: i64,
    failed: i64,
    skipped: i64,
    warnings: i64,
    columns: Option<Json<FeedColumns>>,
    absent: Option<i64>,
    retired: i64,
    started_at: Timestamp,
    received_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    searchable_at: Option<Timestamp>,
    total: i64,
}

impl TryFrom<RunRow> for FeedRun {
    type Error = sqlx::Error;
    fn try_from(row: RunRow) -> sqlx::Result<Self> {
        let request = NewFeedRun {
            format: FeedFormat::parse(&row.format).ok_or_else(|| unreadable("a feed format"))?,
            mode: FeedRunMode::parse(&row.mode).ok_or_else(|| unreadable("a feed run mode"))?,
            dry_run: row.dry_run,
            force: row.force,
            file_name: row.file_name,
            columns: row.columns.map(|columns| columns.0),
        };
        Ok(Self {
            id: row.run_id,
            request,
            state: FeedRunState::parse(&row.state).ok_or_else(|| unreadable("a feed run state"))?,
            complete: row.complete,
            reason: row.reason,
            bytes_total: row.bytes_total,
            bytes_read: row.bytes_read,
            rows_total: row.rows_total,
            counts: RowCounts {
                rows: row.rows_done,
                created: row.created,
                updated: row.updated,
                unchanged: row.unchanged,
                outdated: row.outdated,
                failed: row.failed,
                skipped: row.skipped,
                warnings: row.warnings,
                retired: row.retired,
            },
            absent: row.absent,
            started_at: row.started_at,
            received_at: row.received_at,
            finished_at: row.finished_at,
            searchable_at: row.searchable_at,
        })
    }
}

macro_rules! run_rows {
    ($rest:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            RunRow,
            r#"SELECT run_id AS "run_id: FeedRunId", format, mode, dry_run, force, file_name, state,
                      complete, reason, bytes_total, bytes_read, rows_total, rows_done, created,
                      updated, unchanged, outdated, failed, skipped, warnings, absent, retired,
                      columns AS "columns: Json<FeedColumns>",
                      searchable_at AS "searchable_at: Timestamp",
                      started_at AS "started_at: Timestamp", received_at AS "received_at: Timestamp",
                      finished_at AS "finished_at: Timestamp", count(*) OVER () AS "total!"
               FROM catalog_run WHERE merchant_id = $1 "#
                + $rest,
            $($argument),*
        )
    };
}

pub(crate) async fn run(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: FeedRunId,
) -> sqlx::Result<Option<FeedRun>> {
    let row = run_rows!("AND run_id = $2", merchant as MerchantId, id as FeedRunId)
        .fetch_optional(sql)
        .await?;
    row.map(FeedRun::try_from).transpose()
}

pub(crate) async fn runs(
    sql: &mut PgConnection,
    merchant: MerchantId,
    limit: u32,
    offset: i64,
) -> sqlx::Result<(Vec<FeedRun>, i64)> {
    let rows = run_rows!(
        "ORDER BY started_at DESC, run_id LIMIT $2 OFFSET $3",
        merchant as MerchantId,
        i64::from(limit),
        offset
    )
    .fetch_all(sql)
    .await?;
    let total = rows.first().map_or(0, |row| row.total);
    Ok((rows.into_iter().map(FeedRun::try_from).collect::<Result<_, _>>()?, total))
}

pub(crate) async fn unfinished(
    sql: &mut PgConnection,
    merchant: MerchantId,
    content_hash: &[u8],
) -> sqlx::Result<Option<FeedRunId>> {
    sqlx::query_scalar!(
        r#"SELECT run_id AS "id: FeedRunId" FROM catalog_run
           WHERE merchant_id = $1 AND content_hash = $2
             AND state IN ('queued', 'checking', 'applying', 'retiring')
           ORDER BY started_at DESC LIMIT 1"#,
        merchant as MerchantId,
        content_hash,
    )
    .fetch_optional(sql)
    .await
}

/// A listed product: what decides whether a replacement retires it.
pub(crate) struct ListedProduct {
    pub(crate) external_id: String,
    pub(crate) pushed_at: Option<Timestamp>,
}

/// Returns a page of listed products in the order of their external ids.
pub(crate) async fn listed_products(
    sql: &mut PgConnection,
    merchant: MerchantId,
    after: &str,
    limit: i64,
) -> sqlx::Result<Vec<ListedProduct>> {
    sqlx::query_as!(
        ListedProduct,
        r#"SELECT external_id, pushed_at AS "pushed_at: Timestamp" FROM product
           WHERE merchant_id = $1 AND external_id > $2 AND retired_at IS NULL
           ORDER BY external_id LIMIT $3"#,
        merchant as MerchantId,
        after,
        limit,
    )
    .fetch_all(sql)
    .await
}

pub(crate) async fn state(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<CatalogState> {
    let row = sqlx::query!(
        r#"SELECT complete.run_id AS "run?: FeedRunId", complete.finished_at AS "at?: Timestamp",
                  EXISTS (SELECT FROM catalog_run WHERE merchant_id = $1 AND NOT dry_run
                          AND state IN ('applying', 'retiring')) AS "updating!",
                  EXISTS (SELECT FROM catalog_run WHERE merchant_id = $1 AND NOT dry_run
                          AND (applied_at > complete.finished_at OR complete.finished_at IS NULL)
                          AND applied_at IS NOT NULL AND NOT complete
                          AND (mode = 'replace' OR state <> 'completed')) AS "partial!"
           FROM (SELECT 1) AS one
           LEFT JOIN LATERAL (
               SELECT run_id, finished_at FROM catalog_run
               WHERE merchant_id = $1 AND complete AND NOT dry_run
               ORDER BY finished_at DESC LIMIT 1) AS complete ON true"#,
        merchant as MerchantId,
    )
    .fetch_one(sql)
    .await?;
    Ok(CatalogState {
        complete_run: row.run,
        complete_at: row.at,
        updating: row.updating,
        partial: row.partial,
    })
}
