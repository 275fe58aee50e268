//! How a run ends: its state, its reason, its log line and its metrics.

use jobs::{JobError, Outcome};

use super::Execution;
use crate::feed_run::{FeedRun, FeedRunMode, FeedRunState, RowCounts, RowError, RowErrorKind};
use crate::feed_scan::FeedScan;
use crate::{CatalogError, FieldError, schedule_catalog_stats, table};

impl Execution {
    /// Ends a run that is not completed.
    pub(super) async fn end(&self, state: FeedRunState, reason: &str) -> Result<Outcome, JobError> {
        let mut work = self.context.work_for_store(self.merchant).await?;
        let (merchant, run) = (self.merchant, self.run.id);
        table::end_run(&mut work, merchant, run, state, false, Some(reason)).await?;
        let outcome = self.context.finish(work).await?;
        self.log(state, &self.run.counts, Some(reason));
        Ok(outcome)
    }

    /// Ends a run that imported no product: nothing of the file can be used, and nothing is retired.
    pub(super) async fn fail_without_products(
        &self,
        scan: &FeedScan,
        counts: &RowCounts,
    ) -> Result<Outcome, JobError> {
        let reason = self.reason_without_products(scan, counts).await?;
        let mut work = self.context.work_for_store(self.merchant).await?;
        let (merchant, run) = (self.merchant, self.run.id);
        if !self.record_progress(&mut work, counts, self.run.bytes_total).await? {
            return Ok(Outcome::DONE);
        }
        let state = FeedRunState::Failed;
        table::end_run(&mut work, merchant, run, state, false, Some(&reason)).await?;
        let outcome = self.context.finish(work).await?;
        record_metrics(&self.run, counts);
        self.log(state, counts, Some(&reason));
        Ok(outcome)
    }

    async fn reason_without_products(
        &self,
        scan: &FeedScan,
        counts: &RowCounts,
    ) -> Result<String, JobError> {
        // The error of the file is counted as a failed row.
        if let Some(error) = scan.truncated.as_ref().filter(|_| counts.failed <= 1) {
            return Ok(error.reason.clone().into_owned());
        }
        let first = |kind| async move {
            let found = crate::row_errors(&self.reading, self.merchant, self.run.id, kind, 0, 1);
            found.await.map(|errors| errors.into_iter().next())
        };
        if counts.failed > 0 {
            let first = first(Some(RowErrorKind::Error)).await?.map(describe).unwrap_or_default();
            return Ok(format!(
                "No product was imported: {} rows were rejected.{first}",
                counts.failed
            ));
        }
        if counts.skipped > 0 {
            let first = first(Some(RowErrorKind::Skipped)).await?.map(describe).unwrap_or_default();
            return Ok(format!(
                "No product was imported: {} rows were skipped.{first}",
                counts.skipped
            ));
        }
        Ok(String::from("The file contains no products."))
    }

    /// Logs the result of the run.
    fn log(&self, state: FeedRunState, counts: &RowCounts, reason: Option<&str>) {
        let RowCounts { created, updated, unchanged, outdated, failed, skipped, .. } = *counts;
        let (warnings, retired) = (counts.warnings, counts.retired);
        tracing::info!(
            job = %self.run.id, merchant = %self.merchant, %state, format = %self.run.request.format,
            mode = %self.run.request.mode, dry_run = self.run.request.dry_run, created, updated,
            unchanged, outdated, failed, skipped, warnings, retired,
            reason = reason.unwrap_or_default(), "import ended",
        );
    }

    /// Completes the run. From this commit on the catalog counts as complete if the feed was.
    pub(super) async fn finish(
        &self,
        scan: &FeedScan,
        counts: &RowCounts,
    ) -> Result<Outcome, JobError> {
        let complete = self.retires(scan) && !self.run.request.dry_run;
        let is_replacement = self.run.request.mode == FeedRunMode::Replace;
        let unretired = if is_replacement { " No products were retired." } else { "" };
        let reason = match (&scan.truncated, scan.unidentified_rows) {
            (Some(error), _) => Some(format!("{}{unretired}", error.reason)),
            (None, rows) if rows > 0 && is_replacement => {
                Some(format!("The product of {rows} unreadable rows is unknown.{unretired}"))
            }
            _ => None,
        };
        let mut work = self.context.work_for_store(self.merchant).await?;
        let (merchant, run) = (self.merchant, self.run.id);
        if !self.record_progress(&mut work, counts, self.run.bytes_total).await? {
            return Ok(Outcome::DONE);
        }
        let (state, reason) = (FeedRunState::Completed, reason.as_deref());
        table::end_run(&mut work, merchant, run, state, complete, reason).await?;
        if complete {
            merchants::record_sync(&mut work, merchant).await.map_err(CatalogError::from)?;
        }
        schedule_catalog_stats(&mut work, merchant).await?;
        let outcome = self.context.finish(work).await?;
        record_metrics(&self.run, counts);
        self.log(state, counts, reason);
        Ok(outcome)
    }
}

/// Describes the first row error in the reason of a run.
fn describe(error: RowError) -> String {
    let FieldError { field, reason, .. } = error.error;
    format!(" The first: line {}, {field}: {reason}", error.line)
}

fn record_metrics(run: &FeedRun, counts: &RowCounts) {
    let format = run.request.format.as_str();
    metrics::counter!("souk_catalog_runs_total", "format" => format).increment(1);
    let rows = [
        ("created", counts.created),
        ("updated", counts.updated),
        ("unchanged", counts.unchanged),
        ("failed", counts.failed),
        ("skipped", counts.skipped),
        ("retired", counts.retired),
    ];
    for (result, rows) in rows {
        let rows = u64::try_from(rows).unwrap_or(0);
        metrics::counter!("souk_catalog_rows_total", "format" => format, "result" => result)
            .increment(rows);
    }
}
