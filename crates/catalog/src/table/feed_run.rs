//! Runs, their bytes and their faults.

use database::Work;
use primitives::{JobId, MerchantId, Timestamp};
use sqlx::PgConnection;

use super::unreadable;
use crate::run::{CatalogState, NewRun, RowFault, Run, RunMode, RunState, Tally};
use crate::{Fault, FaultCode, FeedFormat};

pub(crate) async fn insert_run(
    work: &mut Work,
    merchant: MerchantId,
    id: JobId,
    asked: &NewRun,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO catalog_run
             (merchant_id, run_id, format, mode, dry_run, force, file_name, state, started_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'receiving', $8, $8)",
        merchant as MerchantId,
        id as JobId,
        asked.format.name(),
        asked.mode.name(),
        asked.dry_run,
        asked.force,
        asked.file_name,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn put_chunk(
    work: &mut Work,
    merchant: MerchantId,
    run: JobId,
    number: i32,
    bytes: &[u8],
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO catalog_run_chunk (merchant_id, run_id, number, bytes) VALUES ($1, $2, $3, $4)
         ON CONFLICT (merchant_id, run_id, number) DO UPDATE SET bytes = excluded.bytes",
        merchant as MerchantId,
        run as JobId,
        number,
        bytes,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn chunk(
    sql: &mut PgConnection,
    merchant: MerchantId,
    run: JobId,
    number: i32,
) -> sqlx::Result<Option<Vec<u8>>> {
    sqlx::query_scalar!(
        "SELECT bytes FROM catalog_run_chunk WHERE merchant_id = $1 AND run_id = $2 AND number = $3",
        merchant as MerchantId,
        run as JobId,
        number,
    )
    .fetch_optional(sql)
    .await
}

/// All bytes are here. Answers whether the run was waiting for them.
pub(crate) async fn accept_run(
    work: &mut Work,
    merchant: MerchantId,
    run: JobId,
    bytes_total: i64,
    content_hash: &[u8],
) -> sqlx::Result<bool> {
    let now = work.now();
    let accepted = sqlx::query!(
        "UPDATE catalog_run SET state = 'queued', bytes_total = $3, content_hash = $4,
             received_at = $5, updated_at = $5
         WHERE merchant_id = $1 AND run_id = $2 AND state = 'receiving'",
        merchant as MerchantId,
        run as JobId,
        bytes_total,
        content_hash,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(accepted.rows_affected() == 1)
}

/// Ends every run of the store that is older news and would still change something.
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

/// Whether a newer replacement has begun to change the catalog.
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

/// Moves a run on, unless it has ended.
pub(crate) async fn advance_run(
    work: &mut Work,
    merchant: MerchantId,
    run: JobId,
    to: RunState,
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
        run as JobId,
        to.name(),
        rows_total,
        absent,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes how far a run is, if it still is the one at work.
pub(crate) async fn note_progress(
    work: &mut Work,
    merchant: MerchantId,
    run: JobId,
    tally: &Tally,
    bytes_read: i64,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE catalog_run SET rows_done = $3, created = $4, updated = $5, unchanged = $6,
             outdated = $7, failed = $8, retired = $9, bytes_read = $10, updated_at = $11
         WHERE merchant_id = $1 AND run_id = $2 AND state IN ('checking', 'applying', 'retiring')",
        merchant as MerchantId,
        run as JobId,
        tally.rows,
        tally.created,
        tally.updated,
        tally.unchanged,
        tally.outdated,
        tally.failed,
        tally.retired,
        bytes_read,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends a run that has not ended.
pub(crate) async fn end_run(
    work: &mut Work,
    merchant: MerchantId,
    run: JobId,
    state: RunState,
    complete: bool,
    reason: Option<&str>,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "UPDATE catalog_run SET state = $3, complete = $4, reason = $5, finished_at = $6, updated_at = $6
         WHERE merchant_id = $1 AND run_id = $2
           AND state NOT IN ('completed', 'refused', 'failed', 'superseded')",
        merchant as MerchantId,
        run as JobId,
        state.name(),
        complete,
        reason,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

struct RunRow {
    run_id: JobId,
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
    absent: Option<i64>,
    retired: i64,
    started_at: Timestamp,
    received_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    total: i64,
}

impl TryFrom<RunRow> for Run {
    type Error = sqlx::Error;
    fn try_from(row: RunRow) -> sqlx::Result<Self> {
        let format = FeedFormat::from_name(&row.format).ok_or_else(|| unreadable("a format"))?;
        let asked = NewRun {
            format,
            mode: RunMode::from_name(&row.mode),
            dry_run: row.dry_run,
            force: row.force,
            file_name: row.file_name,
        };
        Ok(Self {
            id: row.run_id,
            asked,
            state: RunState::from_name(&row.state).ok_or_else(|| unreadable("a state"))?,
            complete: row.complete,
            reason: row.reason,
            bytes_total: row.bytes_total,
            bytes_read: row.bytes_read,
            rows_total: row.rows_total,
            tally: Tally {
                rows: row.rows_done,
                created: row.created,
                updated: row.updated,
                unchanged: row.unchanged,
                outdated: row.outdated,
                failed: row.failed,
                retired: row.retired,
            },
            absent: row.absent,
            started_at: row.started_at,
            received_at: row.received_at,
            finished_at: row.finished_at,
        })
    }
}

macro_rules! run_rows {
    ($rest:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            RunRow,
            r#"SELECT run_id AS "run_id: JobId", format, mode, dry_run, force, file_name, state,
                      complete, reason, bytes_total, bytes_read, rows_total, rows_done, created,
                      updated, unchanged, outdated, failed, absent, retired,
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
    id: JobId,
) -> sqlx::Result<Option<Run>> {
    let row = run_rows!("AND run_id = $2", merchant as MerchantId, id as JobId)
        .fetch_optional(sql)
        .await?;
    row.map(Run::try_from).transpose()
}

pub(crate) async fn runs(
    sql: &mut PgConnection,
    merchant: MerchantId,
    limit: u32,
    offset: i64,
) -> sqlx::Result<(Vec<Run>, i64)> {
    let rows = run_rows!(
        "ORDER BY started_at DESC, run_id LIMIT $2 OFFSET $3",
        merchant as MerchantId,
        i64::from(limit),
        offset
    )
    .fetch_all(sql)
    .await?;
    let total = rows.first().map_or(0, |row| row.total);
    Ok((rows.into_iter().map(Run::try_from).collect::<Result<_, _>>()?, total))
}

pub(crate) async fn unfinished(
    sql: &mut PgConnection,
    merchant: MerchantId,
    content_hash: &[u8],
) -> sqlx::Result<Option<JobId>> {
    sqlx::query_scalar!(
        r#"SELECT run_id AS "id: JobId" FROM catalog_run
           WHERE merchant_id = $1 AND content_hash = $2
             AND state IN ('queued', 'checking', 'applying', 'retiring')
           ORDER BY started_at DESC LIMIT 1"#,
        merchant as MerchantId,
        content_hash,
    )
    .fetch_optional(sql)
    .await
}

pub(crate) async fn put_faults(
    work: &mut Work,
    merchant: MerchantId,
    run: JobId,
    faults: &[RowFault],
) -> sqlx::Result<()> {
    let mut numbers: Vec<i16> = Vec::with_capacity(faults.len());
    for (index, row) in faults.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| faults.get(before));
        let follows = before.is_some_and(|before| before.line == row.line);
        let number =
            if follows { numbers.last().map_or(0, |last| last.saturating_add(1)) } else { 0 };
        numbers.push(number);
    }
    sqlx::query!(
        "INSERT INTO catalog_run_fault (merchant_id, run_id, line, number, external_id, field, code, reason)
         SELECT $1, $2, new.* FROM unnest($3::bigint[], $4::smallint[], $5::text[], $6::text[],
             $7::text[], $8::text[]) AS new
         ON CONFLICT DO NOTHING",
        merchant as MerchantId,
        run as JobId,
        &faults.iter().map(|row| row.line).collect::<Vec<_>>(),
        &numbers,
        &faults.iter().map(|row| row.external_id.as_deref()).collect::<Vec<_>>() as _,
        &faults.iter().map(|row| row.fault.field.as_ref()).collect::<Vec<_>>() as _,
        &faults.iter().map(|row| row.fault.code.name()).collect::<Vec<_>>() as _,
        &faults.iter().map(|row| row.fault.reason.as_ref()).collect::<Vec<_>>() as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn faults(
    sql: &mut PgConnection,
    merchant: MerchantId,
    run: JobId,
    after_line: i64,
    limit: i64,
) -> sqlx::Result<Vec<RowFault>> {
    let rows = sqlx::query!(
        "SELECT line, external_id, field, code, reason
         FROM (SELECT * FROM catalog_run_fault
               WHERE merchant_id = $1 AND run_id = $2 AND line > $3
               ORDER BY line FETCH FIRST $4 ROWS WITH TIES) AS page
         ORDER BY line, number",
        merchant as MerchantId,
        run as JobId,
        after_line,
        limit,
    )
    .fetch_all(sql)
    .await?;
    rows.into_iter()
        .map(|row| {
            let code = FaultCode::from_name(&row.code).ok_or_else(|| unreadable("a fault"))?;
            let fault = Fault::new(row.field, code, row.reason);
            Ok(RowFault { line: row.line, external_id: row.external_id, fault })
        })
        .collect()
}

/// A listed product, as the end of a replacement looks at it.
pub(crate) struct Listed {
    pub(crate) external_id: String,
    pub(crate) pushed_at: Option<Timestamp>,
}

/// Listed products in the order of their identifiers, after one of them.
pub(crate) async fn listed(
    sql: &mut PgConnection,
    merchant: MerchantId,
    after: &str,
    limit: i64,
) -> sqlx::Result<Vec<Listed>> {
    sqlx::query_as!(
        Listed,
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
        r#"SELECT complete.run_id AS "run?: JobId", complete.finished_at AS "at?: Timestamp",
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

/// Ends runs whose bytes never came, and runs whose job was given up.
pub(crate) async fn end_orphans(
    work: &mut Work,
    received_before: Timestamp,
    job_kind: &str,
) -> sqlx::Result<u64> {
    let now = work.now();
    let ended = sqlx::query!(
        "UPDATE catalog_run SET state = 'failed', finished_at = $1, updated_at = $1,
             reason = CASE state WHEN 'receiving' THEN 'the upload was never finished'
                                 ELSE 'it failed too often and was given up' END
         WHERE (state = 'receiving' AND updated_at < $2)
            OR (state IN ('queued', 'checking', 'applying', 'retiring')
                AND NOT EXISTS (SELECT FROM job WHERE kind = $3
                                AND once_key = 'job_' || replace(run_id::text, '-', '')))",
        now as Timestamp,
        received_before as Timestamp,
        job_kind,
    )
    .execute(work.sql())
    .await?;
    Ok(ended.rows_affected())
}

/// Throws away bytes of runs that have ended, some at a time.
pub(crate) async fn drop_chunks(work: &mut Work, limit: i64) -> sqlx::Result<u64> {
    let dropped = sqlx::query!(
        "DELETE FROM catalog_run_chunk WHERE (merchant_id, run_id, number) IN (
             SELECT chunk.merchant_id, chunk.run_id, number FROM catalog_run_chunk AS chunk
             JOIN catalog_run USING (merchant_id, run_id)
             WHERE state IN ('completed', 'refused', 'failed', 'superseded') LIMIT $1)",
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(dropped.rows_affected())
}
