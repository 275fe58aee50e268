//! The job that applies a received feed. It can be killed at any time and resumes after its last committed batch.

mod end;

use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Reading, Work};
use jobs::{Job, JobContext, JobError, Outcome};
use primitives::{FeedRunId, MerchantId};
use serde::{Deserialize, Serialize};

use crate::batch::{Batch, BatchBuilder, CheckedRow};
use crate::feed_run::{FeedRun, FeedRunMode, FeedRunState, RowCounts, RowError, RowErrorKind};
use crate::feed_scan::FeedScan;
use crate::feed_stream::Feed;
use crate::incoming::{Incoming, Origin};
use crate::{
    CatalogError, FeedSettings, PutOutcome, Quota, ReadFeed, one_line, put_products, retire, table,
};

/// Row errors stored per run; further ones are counted but not stored.
const ROW_ERRORS_MAX: i64 = 10_000;
/// Listed products read per page when absent products are determined.
const LISTED_PAGE: i64 = 5_000;
/// Products retired per transaction.
const RETIRE_BATCH: usize = 500;
/// Characters of an external id that are stored with a row error.
const ID_MAX: usize = 100;
/// Interval of progress updates while a pass writes nothing else.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Applies a feed run whose feed has been received.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApplyFeedRun {
    pub merchant: MerchantId,
    pub run: FeedRunId,
}

impl Job for ApplyFeedRun {
    const NAME: &'static str = "catalog.apply_run";
    /// Each committed batch resets the count, so that this many failures occur at the same position of the feed.
    const ATTEMPTS_MAX: u32 = 100;
    type Dependencies = ReadFeed;

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, read: ReadFeed) -> Result<Outcome, JobError> {
        let reading = Reading::for_store(context.database(), self.merchant)?;
        let run = match crate::feed_run(&reading, self.merchant, self.run).await {
            Ok(run) if !run.state.is_final() => run,
            Ok(_) | Err(CatalogError::FeedRunNotFound) => return Ok(Outcome::DONE),
            Err(error) => return Err(error.into()),
        };
        let mut settings = feed_settings(&reading, self.merchant).await?;
        settings.columns.clone_from(&run.request.columns);
        let execution = Execution { context, merchant: self.merchant, reading, settings, run };
        execution.execute(read).await
    }
}

async fn feed_settings(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<FeedSettings, CatalogError> {
    let store = merchants::store(reading, merchant).await?;
    let gtin_source = merchants::settings(reading, merchant).await?.settings.gtin_source;
    Ok(FeedSettings::new(store.currency, gtin_source))
}

/// One attempt to execute a feed run.
struct Execution {
    context: JobContext,
    merchant: MerchantId,
    reading: Reading,
    settings: FeedSettings,
    run: FeedRun,
}

/// Result of one phase.
enum Phase<T> {
    Completed(T),
    /// The run ended meanwhile: a newer run superseded it.
    RunEnded,
    /// The feed cannot be imported.
    Failed(&'static str),
}

impl Execution {
    async fn execute(self, read: ReadFeed) -> Result<Outcome, JobError> {
        let feed = Feed {
            reading: self.reading.clone(),
            merchant: self.merchant,
            run: self.run.id,
            format: self.run.request.format,
            settings: self.settings.clone(),
            read,
        };
        self.require_turn().await?;
        if self.run.state == FeedRunState::Queued && !self.enter(FeedRunState::Checking).await? {
            return Ok(Outcome::DONE);
        }
        let Phase::Completed(scan) = self.scan(&feed).await? else { return Ok(Outcome::DONE) };
        if scan.has_too_many_rows {
            let reason = "has more rows than the quota of the store allows; split the file into parts and import them with mode=merge";
            return self.end(FeedRunState::Refused, reason).await;
        }
        if scan.items == 0 {
            return self.fail_without_products(&scan, &self.run.counts).await;
        }
        let mut absent = None;
        // A merge never retires, and paging through a whole catalog is slow.
        if self.run.request.mode == FeedRunMode::Replace {
            let (missing, listed) = self.count_absent(&scan).await?;
            if self.retires(&scan) && missing * 2 > listed && !self.run.request.force {
                let reason = format!(
                    "would retire {missing} of {listed} products, more than half; to apply it anyway, send it again with force"
                );
                return self.end(FeedRunState::Refused, &reason).await;
            }
            absent = Some(missing);
        }
        if self.run.state != FeedRunState::Retiring {
            let rows = i64::try_from(scan.items).unwrap_or(i64::MAX);
            if !self.begin(rows, absent).await? {
                return Ok(Outcome::DONE);
            }
        }
        let mut counts = match self.apply(&feed, &scan).await? {
            Phase::Completed(counts) => counts,
            Phase::RunEnded => return Ok(Outcome::DONE),
            Phase::Failed(reason) => return self.end(FeedRunState::Failed, reason).await,
        };
        if counts.accepted() == 0 {
            return self.fail_without_products(&scan, &counts).await;
        }
        if self.retires(&scan) && !self.run.request.dry_run {
            if !self.enter(FeedRunState::Retiring).await? {
                return Ok(Outcome::DONE);
            }
            let Phase::Completed(after) = self.retire(&scan, counts).await? else {
                return Ok(Outcome::DONE);
            };
            counts = after;
        }
        self.finish(&scan, &counts).await
    }

    /// Whether products that the feed does not contain are retired: only if the feed is not truncated and the
    /// product of each of its rows is known.
    fn retires(&self, scan: &FeedScan) -> bool {
        self.run.request.mode == FeedRunMode::Replace
            && scan.truncated.is_none()
            && scan.unidentified_rows == 0
    }

    fn origin(&self) -> Origin {
        let received_at = self.run.received_at.unwrap_or(self.run.started_at);
        Origin::FeedRun { run: self.run.id, received_at }
    }

    /// Returns an error, so that the job is retried later, while another run of the store changes the catalog. Reading the
    /// whole feed first would be in vain. A replacement that is newer takes its turn at once, because it supersedes the
    /// other run.
    async fn require_turn(&self) -> Result<(), JobError> {
        if self.run.request.dry_run {
            return Ok(());
        }
        let (merchant, run) = (self.merchant, self.run.id);
        let active: Result<_, CatalogError> =
            self.reading.run(async |sql| Ok(table::active_run(sql, merchant).await?)).await;
        let is_newer = |other: &table::ActiveRun| {
            self.run.request.mode == FeedRunMode::Replace
                && self.run.received_at > other.received_at
        };
        match active? {
            Some(other) if other.run_id != run && !is_newer(&other) => Err(another_is_active()),
            _ => Ok(()),
        }
    }

    /// Moves the run to a state. Returns false if the run has ended meanwhile.
    async fn enter(&self, state: FeedRunState) -> Result<bool, JobError> {
        let mut work = self.context.work_for_store(self.merchant).await?;
        let (merchant, run) = (self.merchant, self.run.id);
        let entered = table::advance_run(&mut work, merchant, run, state, None, None).await?;
        work.commit().await?;
        Ok(entered)
    }

    /// Starts to change the catalog. Returns false if the run has ended meanwhile.
    ///
    /// The newest replacement wins: a replacement supersedes every older unfinished run, and a run that finds a
    /// newer replacement started or completed supersedes itself. Only one run changes a catalog at a time; the
    /// job of any other run fails and is retried.
    async fn begin(&self, rows: i64, absent: Option<i64>) -> Result<bool, JobError> {
        let (merchant, run) = (self.merchant, self.run.id);
        let received_at = self.run.received_at.unwrap_or(self.run.started_at);
        let mut work = self.context.work_for_store(merchant).await?;
        if !self.run.request.dry_run {
            if table::is_outdated(&mut work, merchant, received_at).await? {
                let reason = Some("a newer replacement took its place");
                table::end_run(&mut work, merchant, run, FeedRunState::Superseded, false, reason)
                    .await?;
                work.commit().await?;
                return Ok(false);
            }
            if self.run.request.mode == FeedRunMode::Replace {
                table::supersede_older(&mut work, merchant, received_at).await?;
            }
        }
        let (state, rows) = (FeedRunState::Applying, Some(rows));
        let entered = table::advance_run(&mut work, merchant, run, state, rows, absent).await;
        match entered.map_err(database::DatabaseError::from) {
            Ok(entered) => {
                work.commit().await?;
                Ok(entered)
            }
            Err(error) if error.constraint() == Some("catalog_run_at_work") => {
                Err(another_is_active())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// First pass: reads the whole feed without changing anything.
    async fn scan(&self, feed: &Feed) -> Result<Phase<Arc<FeedScan>>, JobError> {
        let rows_max: Result<i64, CatalogError> = self
            .reading
            .run(async |sql| Ok(table::quota(sql, self.merchant, Quota::FeedRows).await?))
            .await;
        let rows_max = u64::try_from(rows_max?).unwrap_or(0);
        let mut stream = feed.stream(FeedScan::new(rows_max));
        loop {
            if let Ok(scan) = tokio::time::timeout(PROGRESS_INTERVAL, stream.next()).await {
                let scan = scan?.ok_or_else(|| {
                    JobError::Failed(String::from("the feed reader returned no scan"))
                })?;
                return Ok(Phase::Completed(Arc::new(scan)));
            }
            let mut work = self.context.work_for_store(self.merchant).await?;
            if !self.record_progress(&mut work, &self.run.counts, stream.bytes_read()).await? {
                return Ok(Phase::RunEnded);
            }
            work.commit().await?;
        }
    }

    /// Stores the progress of the run. Returns false if the run has ended meanwhile.
    async fn record_progress(
        &self,
        work: &mut Work,
        counts: &RowCounts,
        bytes: i64,
    ) -> Result<bool, JobError> {
        Ok(table::record_progress(work, self.merchant, self.run.id, counts, bytes).await?)
    }

    /// Returns how many listed products the feed does not contain, and how many are listed.
    async fn count_absent(&self, scan: &FeedScan) -> Result<(i64, i64), JobError> {
        let (mut absent, mut listed) = (0, 0);
        let mut after = String::new();
        loop {
            let page = self.listed(&after).await?;
            let Some(last) = page.last() else { return Ok((absent, listed)) };
            last.external_id.clone_into(&mut after);
            listed += i64::try_from(page.len()).unwrap_or(0);
            absent += page.iter().map(|row| i64::from(self.is_absent(scan, row))).sum::<i64>();
        }
    }

    /// Whether a listed product is absent: the feed does not contain it, and it was not pushed after the feed was
    /// received.
    fn is_absent(&self, scan: &FeedScan, row: &table::ListedProduct) -> bool {
        !scan.contains(&row.external_id) && !self.origin().is_older_than(row.pushed_at)
    }

    async fn listed(&self, after: &str) -> Result<Vec<table::ListedProduct>, CatalogError> {
        self.reading
            .run(async |sql| {
                Ok(table::listed_products(sql, self.merchant, after, LISTED_PAGE).await?)
            })
            .await
    }

    /// Second pass: writes the feed in batches.
    async fn apply(&self, feed: &Feed, scan: &Arc<FeedScan>) -> Result<Phase<RowCounts>, JobError> {
        let dry_run = self.run.request.dry_run;
        // A dry run commits no products, so that it starts again from the first row.
        let mut counts = if dry_run { RowCounts::default() } else { self.run.counts };
        let skip = u64::try_from(counts.rows).unwrap_or(0);
        let has_groups = feed.format.has_groups();
        let builder = BatchBuilder::new(Arc::clone(scan), self.settings.currency, has_groups, skip);
        let mut stream = feed.stream(builder);
        let mut recorded = Instant::now();
        while let Some(batch) = stream.next().await? {
            if let Some(reason) = batch.failure {
                return Ok(Phase::Failed(reason));
            }
            let phase = self.write(batch, counts, stream.bytes_read()).await?;
            let Phase::Completed(after) = phase else { return Ok(Phase::RunEnded) };
            counts = after;
            if dry_run && recorded.elapsed() > PROGRESS_INTERVAL {
                recorded = Instant::now();
                let mut work = self.context.work_for_store(self.merchant).await?;
                self.record_progress(&mut work, &counts, stream.bytes_read()).await?;
                work.commit().await?;
            }
        }
        Ok(Phase::Completed(counts))
    }

    /// Writes one batch and the resulting progress in one transaction. A dry run rolls the products back and keeps
    /// the row errors.
    async fn write(
        &self,
        batch: Batch,
        counts: RowCounts,
        bytes: i64,
    ) -> Result<Phase<RowCounts>, JobError> {
        let Partition { products, lines, mut errors, mut failed } = partition(batch.rows);
        let mut counts = counts;
        let before = counts;
        let mut work = self.context.work_for_store(self.merchant).await?;
        let put = put_products(&mut work, self.merchant, self.origin(), &products).await?;
        for ((put, line), incoming) in put.into_iter().zip(lines).zip(&products) {
            match put.outcome {
                PutOutcome::Created => counts.created += 1,
                PutOutcome::Updated => counts.updated += 1,
                PutOutcome::Unchanged => counts.unchanged += 1,
                PutOutcome::Outdated => counts.outdated += 1,
                PutOutcome::OverQuota(quota) => {
                    failed += 1;
                    let external_id = Some(incoming.facts.external_id.clone());
                    let (kind, error) = (RowErrorKind::Error, quota.field_error());
                    errors.push(RowError { kind, line, external_id, error });
                    continue;
                }
            }
            errors.extend(incoming.warnings.iter().map(|warning| RowError {
                kind: RowErrorKind::Warning,
                line,
                external_id: Some(incoming.facts.external_id.clone()),
                error: warning.clone(),
            }));
        }
        let of_kind = |kind| errors.iter().filter(|error| error.kind == kind).count();
        counts.skipped += i64::try_from(of_kind(RowErrorKind::Skipped)).unwrap_or(0);
        counts.warnings += i64::try_from(of_kind(RowErrorKind::Warning)).unwrap_or(0);
        counts.failed += failed;
        // Errors and notes have limits of their own, so that warnings do not displace errors.
        errors.retain(|error| match error.kind {
            RowErrorKind::Error => before.failed < ROW_ERRORS_MAX,
            _ => before.skipped + before.warnings < ROW_ERRORS_MAX,
        });
        // Several errors of one line are numbered in their order.
        errors.sort_by_key(|error| error.line);
        if self.run.request.dry_run {
            work.rollback().await?;
            work = self.context.work_for_store(self.merchant).await?;
        }
        if !errors.is_empty() {
            table::put_row_errors(&mut work, self.merchant, self.run.id, &errors).await?;
        }
        counts.rows = i64::try_from(batch.items_done).unwrap_or(i64::MAX).max(counts.rows);
        if !self.record_progress(&mut work, &counts, bytes).await? {
            return Ok(Phase::RunEnded);
        }
        if self.run.request.dry_run {
            work.commit().await?;
        } else {
            self.context.advance(work).await?;
        }
        Ok(Phase::Completed(counts))
    }

    /// Retires the listed products that the feed does not contain.
    async fn retire(
        &self,
        scan: &FeedScan,
        counts: RowCounts,
    ) -> Result<Phase<RowCounts>, JobError> {
        let mut counts = counts;
        let mut after = String::new();
        loop {
            let page = self.listed(&after).await?;
            let Some(last) = page.last() else { return Ok(Phase::Completed(counts)) };
            last.external_id.clone_into(&mut after);
            let origin = self.origin();
            let absent: Vec<String> = page
                .into_iter()
                .filter(|row| self.is_absent(scan, row))
                .map(|row| row.external_id)
                .collect();
            for absent in absent.chunks(RETIRE_BATCH) {
                let mut work = self.context.work_for_store(self.merchant).await?;
                let retired = retire(&mut work, self.merchant, origin, absent).await?;
                counts.retired += i64::try_from(retired.len()).unwrap_or(0);
                if !self.record_progress(&mut work, &counts, self.run.bytes_total).await? {
                    return Ok(Phase::RunEnded);
                }
                self.context.advance(work).await?;
            }
        }
    }
}

/// The error with which the job of a run waits for another run of the store.
fn another_is_active() -> JobError {
    JobError::Failed(String::from("another feed run of this store is active"))
}

/// The rows of a batch.
#[derive(Default)]
struct Partition {
    products: Vec<Incoming>,
    /// The line of each product.
    lines: Vec<i64>,
    errors: Vec<RowError>,
    /// Rows with errors.
    failed: i64,
}

/// Separates valid products from row errors.
fn partition(rows: Vec<CheckedRow>) -> Partition {
    let mut partition = Partition::default();
    for row in rows {
        match row {
            CheckedRow::Product { line, incoming } => {
                partition.products.push(*incoming);
                partition.lines.push(i64::try_from(line).unwrap_or(i64::MAX));
            }
            CheckedRow::Rejected { line, external_id, errors } => {
                partition.failed += 1;
                let line = i64::try_from(line).unwrap_or(i64::MAX);
                // The id of a rejected row is not sanitized yet, and PostgreSQL stores no NUL.
                let external_id = external_id.map(|id| one_line(&id, ID_MAX).into_owned());
                partition.errors.extend(errors.into_iter().map(|error| RowError {
                    kind: RowErrorKind::Error,
                    line,
                    external_id: external_id.clone(),
                    error,
                }));
            }
            CheckedRow::Noted { line, external_id, error, kind } => {
                let line = i64::try_from(line).unwrap_or(i64::MAX);
                let external_id = external_id.map(|id| one_line(&id, ID_MAX).into_owned());
                partition.errors.push(RowError { kind, line, external_id, error });
            }
        }
    }
    partition
}
