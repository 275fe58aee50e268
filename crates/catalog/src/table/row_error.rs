//! Row errors of feed runs: rejected and skipped rows, and warnings.

use database::Work;
use primitives::{FeedRunId, MerchantId};
use sqlx::PgConnection;

use super::unreadable;
use crate::feed_run::{RowError, RowErrorKind};
use crate::{FieldError, FieldErrorCode};

pub(crate) async fn put_row_errors(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
    errors: &[RowError],
) -> sqlx::Result<()> {
    let mut numbers: Vec<i16> = Vec::with_capacity(errors.len());
    for (index, row) in errors.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| errors.get(before));
        let follows = before.is_some_and(|before| before.line == row.line);
        let number =
            if follows { numbers.last().map_or(0, |last| last.saturating_add(1)) } else { 0 };
        numbers.push(number);
    }
    sqlx::query!(
        "INSERT INTO catalog_run_fault (merchant_id, run_id, line, number, external_id, field, code, reason, kind)
         SELECT $1, $2, new.* FROM unnest($3::bigint[], $4::smallint[], $5::text[], $6::text[],
             $7::text[], $8::text[], $9::text[]) AS new
         ON CONFLICT DO NOTHING",
        merchant as MerchantId,
        run as FeedRunId,
        &errors.iter().map(|row| row.line).collect::<Vec<_>>(),
        &numbers,
        &errors.iter().map(|row| row.external_id.as_deref()).collect::<Vec<_>>() as _,
        &errors.iter().map(|row| row.error.field.as_ref()).collect::<Vec<_>>() as _,
        &errors.iter().map(|row| row.error.code.as_str()).collect::<Vec<_>>() as _,
        &errors.iter().map(|row| row.error.reason.as_ref()).collect::<Vec<_>>() as _,
        &errors.iter().map(|row| row.kind.as_str()).collect::<Vec<_>>() as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn row_errors(
    sql: &mut PgConnection,
    merchant: MerchantId,
    run: FeedRunId,
    kind: Option<RowErrorKind>,
    after_line: i64,
    limit: i64,
) -> sqlx::Result<Vec<RowError>> {
    let rows = sqlx::query!(
        "SELECT line, external_id, field, code, reason, kind
         FROM (SELECT * FROM catalog_run_fault
               WHERE merchant_id = $1 AND run_id = $2 AND line > $3
                 AND ($5::text IS NULL OR kind = $5)
               ORDER BY line FETCH FIRST $4 ROWS WITH TIES) AS page
         ORDER BY line, number",
        merchant as MerchantId,
        run as FeedRunId,
        after_line,
        limit,
        kind.map(RowErrorKind::as_str),
    )
    .fetch_all(sql)
    .await?;
    rows.into_iter()
        .map(|row| {
            let code =
                FieldErrorCode::parse(&row.code).ok_or_else(|| unreadable("a row error code"))?;
            let error = FieldError::new(row.field, code, row.reason);
            let kind =
                RowErrorKind::parse(&row.kind).ok_or_else(|| unreadable("a row error kind"))?;
            Ok(RowError { kind, line: row.line, external_id: row.external_id, error })
        })
        .collect()
}
