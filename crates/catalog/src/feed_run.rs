//! A feed run: one import of a product feed. The feed is received in chunks, checked as a whole and applied in batches;
//! only then does the catalog count as complete. The API calls a feed run a job.

use database::{Database, DatabaseError, Reading, Snapshot, Work};
use jobs::{Claim, IdempotencyKey, SweepRow};
use primitives::{FeedRunId, MerchantId, PageRequest, Timestamp};
use serde_json::json;

use crate::apply_feed_run::ApplyFeedRun;
use crate::{CatalogError, FeedColumns, FeedFormat, FieldError, quota, table};

primitives::text_enum! {
    /// What happens to listed products that a feed does not contain.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum FeedRunMode {
        /// They are retired after all rows have been applied.
        Replace,
        /// They stay as they are.
        Merge,
    }
}

primitives::text_enum! {
    /// State of a feed run.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum FeedRunState {
        /// The feed is being uploaded.
        Receiving,
        /// The upload is complete; the run waits for a worker.
        Queued,
        /// The feed is read once to determine its products and whether it is truncated. Nothing changes yet.
        Checking,
        /// Products are written, batch by batch.
        Applying,
        /// Products that the feed does not contain are retired.
        Retiring,
        /// The run has ended. `complete` says whether the catalog now equals the feed.
        Completed,
        /// The run would have retired more than half of the catalog; nothing was changed.
        Refused,
        /// No product was imported, the upload was aborted, or the run failed too often.
        Failed,
        /// A newer replacement has taken its place.
        Superseded,
    }
}

impl FeedRunState {
    /// Whether the run has ended.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Refused | Self::Failed | Self::Superseded)
    }
}

/// Parameters of a feed run.
#[derive(Debug, Clone)]
pub struct NewFeedRun {
    pub format: FeedFormat,
    pub mode: FeedRunMode,
    /// Report what would change, and change nothing.
    pub dry_run: bool,
    /// Apply the feed even if it would retire more than half of the catalog.
    pub force: bool,
    /// Shown in the list of runs; otherwise unused.
    pub file_name: Option<String>,
    /// Columns of a file without a known format.
    pub columns: Option<FeedColumns>,
}

/// A feed run.
#[derive(Debug, Clone)]
pub struct FeedRun {
    pub id: FeedRunId,
    pub request: NewFeedRun,
    pub state: FeedRunState,
    /// Whether the whole feed was applied and absent products were retired.
    pub complete: bool,
    /// Explains the final state, if it needs an explanation.
    pub reason: Option<String>,
    pub bytes_total: i64,
    /// Bytes read in the current pass.
    pub bytes_read: i64,
    /// Products and invalid rows of the feed; `None` before the check has completed.
    pub rows_total: Option<i64>,
    pub counts: RowCounts,
    /// Listed products that the feed does not contain; `None` before the check has completed, and for a merge.
    pub absent: Option<i64>,
    pub started_at: Timestamp,
    /// When the upload was complete.
    pub received_at: Option<Timestamp>,
    pub finished_at: Option<Timestamp>,
    /// When the search index contained the result.
    pub searchable_at: Option<Timestamp>,
}

impl FeedRun {
    /// Returns the progress, 0 to 1: the check counts for a tenth, the products for the rest.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a progress bar needs no 53 bits")]
    pub fn progress(&self) -> f64 {
        let part =
            |done: i64, of: i64| if of > 0 { (done as f64 / of as f64).min(1.0) } else { 0.0 };
        match self.state {
            FeedRunState::Receiving | FeedRunState::Queued => 0.0,
            FeedRunState::Checking => 0.1 * part(self.bytes_read, self.bytes_total),
            FeedRunState::Applying => {
                0.1 + 0.85 * part(self.counts.rows, self.rows_total.unwrap_or(0))
            }
            FeedRunState::Retiring => 0.95,
            _ => 1.0,
        }
    }
}

/// Results of a feed run so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows processed.
    pub rows: i64,
    pub created: i64,
    pub updated: i64,
    pub unchanged: i64,
    /// Products left alone because they were pushed after the feed was received.
    pub outdated: i64,
    /// Rows rejected.
    pub failed: i64,
    /// Rows left out: drafts, and rows with too few fields.
    pub skipped: i64,
    /// Warnings about products that were accepted, and about the file.
    pub warnings: i64,
    pub retired: i64,
}

impl RowCounts {
    /// Returns the number of products that the feed contains and the store now has.
    #[must_use]
    pub fn accepted(&self) -> i64 {
        self.created + self.updated + self.unchanged + self.outdated
    }
}

primitives::text_enum! {
    /// What a row error means.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum RowErrorKind {
        /// The row was rejected.
        Error,
        /// The row was left out: a draft, or a row with too few fields.
        Skipped,
        /// The product was accepted without the field, or the file needs attention.
        Warning,
    }
}

/// An error of a rejected row, the reason why a row was left out, or a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    pub kind: RowErrorKind,
    /// Line of the feed, from 1.
    pub line: i64,
    /// `None` if the product of the row is unknown.
    pub external_id: Option<String>,
    pub error: FieldError,
}

/// Creates a feed run in the state `receiving`, if the quotas of the store allow it and as many bytes as announced.
pub async fn begin_feed_run(
    database: &Database,
    merchant: MerchantId,
    request: &NewFeedRun,
    bytes_announced: i64,
) -> Result<FeedRunId, CatalogError> {
    let mut work = Work::for_store(database, merchant).await?;
    quota::admit_upload(&mut work, merchant, bytes_announced).await?;
    let id = work.new_id();
    table::insert_run(&mut work, merchant, id, request).await?;
    work.commit().await?;
    Ok(id)
}

/// Stores a chunk of a feed, if the quotas of the store allow it. Chunks are numbered from 0 without gaps.
pub async fn receive_chunk(
    database: &Database,
    merchant: MerchantId,
    run: FeedRunId,
    number: i32,
    bytes: &[u8],
) -> Result<(), CatalogError> {
    let mut work = Work::for_store(database, merchant).await?;
    quota::count_upload(&mut work, merchant, bytes.len()).await?;
    if !table::put_chunk(&mut work, merchant, run, number, bytes).await? {
        return Err(CatalogError::FeedRunNotFound);
    }
    quota::check_stored(&mut work, merchant).await?;
    work.commit().await?;
    Ok(())
}

/// Completes the upload of a feed and enqueues the job that applies it.
pub async fn finish_upload(
    database: &Database,
    merchant: MerchantId,
    run: FeedRunId,
    bytes_total: i64,
    content_hash: &[u8],
) -> Result<(), CatalogError> {
    let mut work = Work::for_store(database, merchant).await?;
    queue(&mut work, merchant, run, bytes_total, content_hash).await?;
    work.commit().await?;
    Ok(())
}

/// Like [`finish_upload`], once for an idempotency key. If a run was received under the key before, that one is returned, and
/// this one fails.
pub(crate) async fn finish_upload_once(
    database: &Database,
    merchant: MerchantId,
    run: FeedRunId,
    bytes_total: i64,
    content_hash: &[u8],
    idempotency_key: &IdempotencyKey,
) -> Result<FeedRunId, CatalogError> {
    let mut work = Work::for_store(database, merchant).await?;
    let earlier = match jobs::claim_key(&mut work, idempotency_key).await? {
        Claim::Fresh => {
            queue(&mut work, merchant, run, bytes_total, content_hash).await?;
            jobs::record_response(&mut work, idempotency_key, &json!({ "job_id": run })).await?;
            work.commit().await?;
            return Ok(run);
        }
        Claim::Replay(response) => response["job_id"].as_str().and_then(|id| id.parse().ok()),
    };
    let earlier: FeedRunId = earlier.ok_or(CatalogError::FeedRunNotFound)?;
    let reason = format!("the upload repeats that of {earlier}");
    table::end_run(&mut work, merchant, run, FeedRunState::Failed, false, Some(&reason)).await?;
    work.commit().await?;
    Ok(earlier)
}

/// Enqueues the job that applies a received feed.
async fn queue(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
    bytes_total: i64,
    content_hash: &[u8],
) -> Result<(), CatalogError> {
    if !table::queue_run(work, merchant, run, bytes_total, content_hash).await? {
        return Err(CatalogError::FeedRunNotFound);
    }
    let (job, now) = (ApplyFeedRun { merchant, run }, work.now());
    jobs::enqueue_unique(work, &job, &run.to_string(), now).await?;
    Ok(())
}

/// Fails a feed run whose upload was aborted.
pub async fn abort_upload(
    database: &Database,
    merchant: MerchantId,
    run: FeedRunId,
    reason: &str,
) -> Result<(), CatalogError> {
    let mut work = Work::for_store(database, merchant).await?;
    table::end_run(&mut work, merchant, run, FeedRunState::Failed, false, Some(reason)).await?;
    work.commit().await?;
    Ok(())
}

/// Returns a feed run of a store.
pub async fn feed_run(
    reading: &Reading,
    merchant: MerchantId,
    id: FeedRunId,
) -> Result<FeedRun, CatalogError> {
    reading
        .run(async |sql| table::run(sql, merchant, id).await?.ok_or(CatalogError::FeedRunNotFound))
        .await
}

/// Returns a page of the feed runs of a store, the newest first, and their total number.
pub async fn feed_runs(
    reading: &Reading,
    merchant: MerchantId,
    page: PageRequest,
) -> Result<(Vec<FeedRun>, i64), CatalogError> {
    reading
        .run(async |sql| {
            let mut found = table::runs(sql, merchant, page.limit(), page.offset()).await?;
            if found.0.is_empty() && page.offset() > 0 {
                // A page beyond the end carries no total.
                found.1 = table::runs(sql, merchant, 1, 0).await?.1;
            }
            Ok(found)
        })
        .await
}

/// Returns an unfinished feed run of the same bytes, which a caller can follow instead of starting another one.
pub async fn unfinished_feed_run(
    reading: &Reading,
    merchant: MerchantId,
    content_hash: &[u8],
) -> Result<Option<FeedRunId>, CatalogError> {
    reading.run(async |sql| Ok(table::unfinished(sql, merchant, content_hash).await?)).await
}

/// Returns the row errors of a kind, or of all kinds, by line. All errors of one line are in the same page, so that a page
/// may hold a few more than `limit`.
pub async fn row_errors(
    reading: &Reading,
    merchant: MerchantId,
    run: FeedRunId,
    kind: Option<RowErrorKind>,
    after_line: i64,
    limit: i64,
) -> Result<Vec<RowError>, CatalogError> {
    reading
        .run(async |sql| Ok(table::row_errors(sql, merchant, run, kind, after_line, limit).await?))
        .await
}

/// Returns completed runs that ended until a time and are not recorded as searchable, after a row of a sweep.
pub async fn unsearchable_runs(
    sql: &mut Snapshot,
    until: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> Result<Vec<SweepRow>, DatabaseError> {
    Ok(table::unsearchable_runs(sql, until, after, limit).await?)
}

/// Records that search can find the result of a run.
pub async fn set_searchable(
    work: &mut Work,
    merchant: MerchantId,
    run: FeedRunId,
) -> Result<(), CatalogError> {
    Ok(table::set_searchable(work, merchant, run).await?)
}

/// Whether a store's catalog equals its last feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogState {
    /// The last run that completed the catalog.
    pub complete_run: Option<FeedRunId>,
    pub complete_at: Option<Timestamp>,
    /// A run is writing or retiring products now.
    pub updating: bool,
    /// The catalog mixes two feeds: a run is active, or one started since the last complete run and did not complete.
    pub partial: bool,
}

/// Returns whether a store's catalog is complete. Readers must not compute figures from a `partial` catalog.
pub async fn catalog_state(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<CatalogState, CatalogError> {
    reading.run(async |sql| Ok(table::state(sql, merchant).await?)).await
}
