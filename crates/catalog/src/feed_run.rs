//! A feed on its way in: received in pieces, checked as a whole, applied in batches, and only then
//! counted as complete.

use database::{Database, Reading, Work};
use primitives::{JobId, MerchantId, PageRequest, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apply::ApplyRun;
use crate::{CatalogError, Fault, FeedFormat, table};

/// What a feed says about products it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunMode {
    /// They are gone: they are retired once everything else is in.
    Replace,
    /// Nothing.
    Merge,
}

impl RunMode {
    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }

    pub(crate) fn from_name(name: &str) -> Self {
        if name == "replace" { Self::Replace } else { Self::Merge }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Its bytes are coming in.
    Receiving,
    /// All of it is here; a worker will take it.
    Queued,
    /// It is read once, to know what it names and whether it is whole. Nothing changes yet.
    Checking,
    /// Its products are brought in, batch by batch.
    Applying,
    /// What it does not name is retired.
    Retiring,
    /// It is done. `complete` says whether the catalog now is what the feed says.
    Completed,
    /// It would have dropped more than half of the catalog; nothing was changed.
    Refused,
    /// It was given up.
    Failed,
    /// A newer one took its place.
    Superseded,
}

impl RunState {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Receiving, "receiving"),
        (Self::Queued, "queued"),
        (Self::Checking, "checking"),
        (Self::Applying, "applying"),
        (Self::Retiring, "retiring"),
        (Self::Completed, "completed"),
        (Self::Refused, "refused"),
        (Self::Failed, "failed"),
        (Self::Superseded, "superseded"),
    ];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }

    /// The state of a name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, other)| *other == name).map(|(state, _)| *state)
    }

    /// Whether nothing more will happen.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Refused | Self::Failed | Self::Superseded)
    }
}

/// What a merchant asks for with a feed.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Its format.
    pub format: FeedFormat,
    /// What it says about products it does not name.
    pub mode: RunMode,
    /// Only find out what would happen.
    pub dry_run: bool,
    /// Go on even if more than half of the catalog would be dropped.
    pub force: bool,
    /// What the file is called, for people.
    pub file_name: Option<String>,
}

/// A run, as it stands.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its id.
    pub id: JobId,
    /// What was asked for.
    pub asked: NewRun,
    /// How far it is.
    pub state: RunState,
    /// Whether the whole feed was read, applied, and what it does not name retired.
    pub complete: bool,
    /// Why it ended as it did, if that needs saying.
    pub reason: Option<String>,
    /// Its size.
    pub bytes_total: i64,
    /// What was read of it in the present pass.
    pub bytes_read: i64,
    /// Products and broken rows it holds, once that is known.
    pub rows_total: Option<i64>,
    /// What was done.
    pub tally: Tally,
    /// Products listed and not named by it, once that is known; a merge does not ask.
    pub absent: Option<i64>,
    /// When it began to come in.
    pub started_at: Timestamp,
    /// When all of it had come in.
    pub received_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

impl Run {
    /// The part that is done, 0 to 1: a tenth for the check, the rest for the products.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a progress bar needs no 53 bits")]
    pub fn progress(&self) -> f64 {
        let part =
            |done: i64, of: i64| if of > 0 { (done as f64 / of as f64).min(1.0) } else { 0.0 };
        match self.state {
            RunState::Receiving | RunState::Queued => 0.0,
            RunState::Checking => 0.1 * part(self.bytes_read, self.bytes_total),
            RunState::Applying => 0.1 + 0.85 * part(self.tally.rows, self.rows_total.unwrap_or(0)),
            RunState::Retiring => 0.95,
            _ => 1.0,
        }
    }
}

/// What a run did, in rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Rows that are dealt with.
    pub rows: i64,
    /// Products that were new.
    pub created: i64,
    /// Products that differed.
    pub updated: i64,
    /// Products that were there in just this form.
    pub unchanged: i64,
    /// Products that were pushed after the feed was received.
    pub outdated: i64,
    /// Rows that were not taken.
    pub failed: i64,
    /// Products that were retired.
    pub retired: i64,
}

/// A row that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowFault {
    /// Where it stands in the feed, from 1.
    pub line: i64,
    /// The product it is about, where that can be told.
    pub external_id: Option<String>,
    /// What is wrong.
    pub fault: Fault,
}

/// Opens a run: its bytes may come in.
pub async fn begin_run(
    database: &Database,
    merchant: MerchantId,
    asked: &NewRun,
) -> Result<JobId, CatalogError> {
    let mut work = Work::for_store(database, merchant).await?;
    let id = work.new_id();
    table::insert_run(&mut work, merchant, id, asked).await?;
    work.commit().await?;
    Ok(id)
}

/// Keeps a piece of a feed. Pieces have numbers from 0 without gaps; the same one again replaces it.
pub async fn receive(
    database: &Database,
    merchant: MerchantId,
    run: JobId,
    number: i32,
    bytes: &[u8],
) -> Result<(), CatalogError> {
    let mut work = Work::for_store(database, merchant).await?;
    table::put_chunk(&mut work, merchant, run, number, bytes).await?;
    work.commit().await?;
    Ok(())
}

/// Says that all of a feed is here; a worker will take it.
pub async fn accept(
    database: &Database,
    merchant: MerchantId,
    run: JobId,
    bytes_total: i64,
    content_hash: &[u8],
) -> Result<(), CatalogError> {
    let mut work = Work::for_store(database, merchant).await?;
    if !table::accept_run(&mut work, merchant, run, bytes_total, content_hash).await? {
        return Err(CatalogError::RunNotFound);
    }
    let (job, now) = (ApplyRun { merchant, run }, work.now());
    jobs::enqueue_once(&mut work, &job, &run.to_string(), now).await?;
    work.commit().await?;
    Ok(())
}

/// Gives up a run whose bytes will not come.
pub async fn give_up(
    database: &Database,
    merchant: MerchantId,
    run: JobId,
    reason: &str,
) -> Result<(), CatalogError> {
    let mut work = Work::for_store(database, merchant).await?;
    table::end_run(&mut work, merchant, run, RunState::Failed, false, Some(reason)).await?;
    work.commit().await?;
    Ok(())
}

/// A run, as it stands.
pub async fn run(reading: &Reading, merchant: MerchantId, id: JobId) -> Result<Run, CatalogError> {
    let mut snapshot = reading.open().await?;
    let run = table::run(&mut snapshot, merchant, id).await?;
    snapshot.close().await?;
    run.ok_or(CatalogError::RunNotFound)
}

/// The newest runs of a store.
pub async fn runs(
    reading: &Reading,
    merchant: MerchantId,
    page: PageRequest,
) -> Result<(Vec<Run>, i64), CatalogError> {
    let mut snapshot = reading.open().await?;
    let mut found = table::runs(&mut snapshot, merchant, page.limit(), page.offset()).await?;
    if found.0.is_empty() && page.offset() > 0 {
        // A page behind the end knows no total.
        found.1 = table::runs(&mut snapshot, merchant, 1, 0).await?.1;
    }
    snapshot.close().await?;
    Ok(found)
}

/// A run of the same bytes that is not done yet, to be followed instead of begun again.
pub async fn unfinished_run(
    reading: &Reading,
    merchant: MerchantId,
    content_hash: &[u8],
) -> Result<Option<JobId>, CatalogError> {
    let mut snapshot = reading.open().await?;
    let run = table::unfinished(&mut snapshot, merchant, content_hash).await?;
    snapshot.close().await?;
    Ok(run)
}

/// The rows that were not taken, by line. The faults of one line come together, so that a page may
/// hold a few more than were asked for.
pub async fn row_faults(
    reading: &Reading,
    merchant: MerchantId,
    run: JobId,
    after_line: i64,
    limit: i64,
) -> Result<Vec<RowFault>, CatalogError> {
    let mut snapshot = reading.open().await?;
    let faults = table::faults(&mut snapshot, merchant, run, after_line, limit).await?;
    snapshot.close().await?;
    Ok(faults)
}

/// Whether a store's catalog is whole at this moment, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogState {
    /// The run that last made it whole.
    pub complete_run: Option<JobId>,
    /// When it did.
    pub complete_at: Option<Timestamp>,
    /// A run is bringing products in or retiring some at this moment.
    pub updating: bool,
    /// What is there is partly of one feed and partly of another: a run is at work, or one began since
    /// and did not come to its end.
    pub partial: bool,
}

/// Whether a store's catalog is whole. A reader that finds it `partial` must not count what it sees.
pub async fn catalog_state(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<CatalogState, CatalogError> {
    let mut snapshot = reading.open().await?;
    let state = table::state(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    Ok(state)
}
