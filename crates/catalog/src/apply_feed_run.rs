//! Applying a feed: a job that can be killed at any moment and goes on where it was.

use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Reading, Work};
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use primitives::{JobId, MerchantId};
use serde::{Deserialize, Serialize};

use crate::incoming::{Incoming, Origin};
use crate::run::{RowFault, Run, RunMode, RunState, Tally};
use crate::stream::Feed;
use crate::survey::{Assembly, Checked, Piece, Survey};
use crate::{CatalogError, Done, FeedSettings, ReadFeed, one_line, put_products, retire, table};

/// Faults kept of one run; more are counted and not kept.
const FAULTS_MAX: i64 = 10_000;
/// Identifiers looked at in one go when what is absent is sought.
const LISTED_AT_ONCE: i64 = 5_000;
/// Products retired in one work.
const RETIRED_AT_ONCE: usize = 500;
/// Characters of an identifier that are kept with a fault.
const ID_MAX: usize = 100;
/// How often a pass that writes nothing says how far it is.
const SAYS_EVERY: Duration = Duration::from_secs(1);

/// Applies a feed that has come in.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApplyRun {
    /// Whose it is.
    pub merchant: MerchantId,
    /// Which run.
    pub run: JobId,
}

impl Job for ApplyRun {
    const NAME: &'static str = "catalog.apply_run";
    /// Each batch that is committed starts the count anew; so many failures in one place are enough.
    const ATTEMPTS_MAX: u32 = 100;
    type Needs = ReadFeed;

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, read: ReadFeed) -> Result<Outcome, JobError> {
        let reading = Reading::for_store(context.database(), self.merchant)?;
        let run = match crate::run(&reading, self.merchant, self.run).await {
            Ok(run) if !run.state.is_final() => run,
            Ok(_) | Err(CatalogError::RunNotFound) => return Ok(Outcome::DONE),
            Err(error) => return Err(error.into()),
        };
        let settings = feed_settings(&reading, self.merchant).await?;
        let application = Application { context, merchant: self.merchant, reading, settings, run };
        application.carry_out(read).await
    }
}

async fn feed_settings(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<FeedSettings, CatalogError> {
    let store = merchants::store(reading, merchant).await?;
    let gtin_source = merchants::settings(reading, merchant).await?.settings.gtin_source;
    Ok(FeedSettings { currency: store.currency, gtin_source })
}

/// A run at work.
struct Application {
    context: JobContext,
    merchant: MerchantId,
    reading: Reading,
    settings: FeedSettings,
    run: Run,
}

/// What a step came to.
enum Step<T> {
    Goes(T),
    /// The run has ended meanwhile: a newer one took its place.
    Ended,
}

impl Application {
    async fn carry_out(self, read: ReadFeed) -> Result<Outcome, JobError> {
        let feed = Feed {
            reading: self.reading.clone(),
            merchant: self.merchant,
            run: self.run.id,
            format: self.run.asked.format,
            settings: self.settings.clone(),
            read,
        };
        if self.run.state == RunState::Queued && !self.enter(RunState::Checking).await? {
            return Ok(Outcome::DONE);
        }
        let Step::Goes(survey) = self.survey(&feed).await? else { return Ok(Outcome::DONE) };
        let mut absent = None;
        // A merge says nothing about what it does not name, and a catalog takes long to go through.
        if self.run.asked.mode == RunMode::Replace {
            let (missing, listed) = self.absent(&survey).await?;
            if self.retires(&survey) && missing * 2 > listed && !self.run.asked.force {
                return self.refuse(missing, listed).await;
            }
            absent = Some(missing);
        }
        if self.run.state != RunState::Retiring {
            let rows = i64::try_from(survey.items).unwrap_or(i64::MAX);
            if !self.begin(rows, absent).await? {
                return Ok(Outcome::DONE);
            }
        }
        let Step::Goes(mut tally) = self.apply(&feed, &survey).await? else {
            return Ok(Outcome::DONE);
        };
        if self.retires(&survey) && !self.run.asked.dry_run {
            if !self.enter(RunState::Retiring).await? {
                return Ok(Outcome::DONE);
            }
            let Step::Goes(after) = self.retire(&survey, tally).await? else {
                return Ok(Outcome::DONE);
            };
            tally = after;
        }
        self.finish(&survey, &tally).await
    }

    /// Whether what the feed does not name is to go: only if the feed is whole and each of its rows
    /// could be told.
    fn retires(&self, survey: &Survey) -> bool {
        self.run.asked.mode == RunMode::Replace && !survey.cut && survey.anonymous == 0
    }

    fn origin(&self) -> Origin {
        let received_at = self.run.received_at.unwrap_or(self.run.started_at);
        Origin::Run { run: self.run.id, received_at }
    }

    /// Moves the run on; false if it has ended meanwhile.
    async fn enter(&self, state: RunState) -> Result<bool, JobError> {
        let mut work = self.context.work_for_store(self.merchant).await?;
        let (merchant, run) = (self.merchant, self.run.id);
        let entered = table::advance_run(&mut work, merchant, run, state, None, None).await?;
        work.commit().await?;
        Ok(entered)
    }

    /// Begins to change the catalog; false if the run has ended meanwhile. It is the newest word that
    /// counts: a replacement ends what is older and not done, and whatever finds a newer replacement
    /// at work or done ends itself. Only one run changes a catalog at a time; others wait their turn.
    async fn begin(&self, rows: i64, absent: Option<i64>) -> Result<bool, JobError> {
        let (merchant, run) = (self.merchant, self.run.id);
        let received_at = self.run.received_at.unwrap_or(self.run.started_at);
        let mut work = self.context.work_for_store(merchant).await?;
        if !self.run.asked.dry_run {
            if table::is_outdated(&mut work, merchant, received_at).await? {
                let reason = Some("a newer replacement took its place");
                table::end_run(&mut work, merchant, run, RunState::Superseded, false, reason)
                    .await?;
                work.commit().await?;
                return Ok(false);
            }
            if self.run.asked.mode == RunMode::Replace {
                table::supersede_older(&mut work, merchant, received_at).await?;
            }
        }
        let (state, rows) = (RunState::Applying, Some(rows));
        let entered = table::advance_run(&mut work, merchant, run, state, rows, absent).await;
        match entered.map_err(database::DatabaseError::from) {
            Ok(entered) => {
                work.commit().await?;
                Ok(entered)
            }
            Err(error) if error.constraint() == Some("catalog_run_at_work") => {
                Err(JobError::Failed(String::from("another run of the store is at work")))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn survey(&self, feed: &Feed) -> Result<Step<Arc<Survey>>, JobError> {
        let mut pieces = feed.pieces(Survey::default());
        loop {
            if let Ok(survey) = tokio::time::timeout(SAYS_EVERY, pieces.next()).await {
                let survey = survey?.ok_or_else(|| JobError::Failed(String::from("no survey")))?;
                return Ok(Step::Goes(Arc::new(survey)));
            }
            let mut work = self.context.work_for_store(self.merchant).await?;
            if !self.note(&mut work, &self.run.tally, pieces.bytes_read()).await? {
                return Ok(Step::Ended);
            }
            work.commit().await?;
        }
    }

    async fn note(&self, work: &mut Work, tally: &Tally, bytes: i64) -> Result<bool, JobError> {
        Ok(table::note_progress(work, self.merchant, self.run.id, tally, bytes).await?)
    }

    /// How many listed products the feed does not name, and how many are listed.
    async fn absent(&self, survey: &Survey) -> Result<(i64, i64), JobError> {
        let (mut absent, mut listed) = (0, 0);
        let mut after = String::new();
        loop {
            let page = self.listed(&after).await?;
            let Some(last) = page.last() else { return Ok((absent, listed)) };
            last.external_id.clone_into(&mut after);
            listed += i64::try_from(page.len()).unwrap_or(0);
            absent += page.iter().map(|row| i64::from(self.is_absent(survey, row))).sum::<i64>();
        }
    }

    /// Whether a listed product is to go: the feed does not name it, and it was not pushed later.
    fn is_absent(&self, survey: &Survey, row: &table::Listed) -> bool {
        !survey.names(&row.external_id) && !self.origin().is_older_than(row.pushed_at)
    }

    async fn listed(&self, after: &str) -> Result<Vec<table::Listed>, JobError> {
        let mut snapshot = self.reading.open().await?;
        let page = table::listed(&mut snapshot, self.merchant, after, LISTED_AT_ONCE).await?;
        snapshot.close().await?;
        Ok(page)
    }

    async fn apply(&self, feed: &Feed, survey: &Arc<Survey>) -> Result<Step<Tally>, JobError> {
        let dry_run = self.run.asked.dry_run;
        // A dry run keeps nothing, so it begins again from the beginning.
        let mut tally = if dry_run { Tally::default() } else { self.run.tally };
        let skip = u64::try_from(tally.rows).unwrap_or(0);
        let has_groups = feed.format.has_groups();
        let assembly = Assembly::new(Arc::clone(survey), self.settings.currency, has_groups, skip);
        let mut pieces = feed.pieces(assembly);
        let mut said = Instant::now();
        while let Some(piece) = pieces.next().await? {
            let step = self.write(piece, tally, pieces.bytes_read()).await?;
            let Step::Goes(after) = step else { return Ok(Step::Ended) };
            tally = after;
            if dry_run && said.elapsed() > SAYS_EVERY {
                said = Instant::now();
                let mut work = self.context.work_for_store(self.merchant).await?;
                self.note(&mut work, &tally, pieces.bytes_read()).await?;
                work.commit().await?;
            }
        }
        Ok(Step::Goes(tally))
    }

    /// Writes one piece in one work, together with how far that brings the run. A dry run undoes the
    /// products and keeps the faults.
    async fn write(&self, piece: Piece, tally: Tally, bytes: i64) -> Result<Step<Tally>, JobError> {
        let (products, faults, failed) = sort(piece.checked);
        let mut tally = tally;
        let mut work = self.context.work_for_store(self.merchant).await?;
        let put = put_products(&mut work, self.merchant, self.origin(), &products).await?;
        for put in put {
            match put.done {
                Done::Created => tally.created += 1,
                Done::Updated => tally.updated += 1,
                Done::Unchanged => tally.unchanged += 1,
                Done::Outdated => tally.outdated += 1,
            }
        }
        if self.run.asked.dry_run {
            work.abandon().await?;
            work = self.context.work_for_store(self.merchant).await?;
        }
        if !faults.is_empty() && tally.failed < FAULTS_MAX {
            table::put_faults(&mut work, self.merchant, self.run.id, &faults).await?;
        }
        tally.failed += failed;
        tally.rows = i64::try_from(piece.done).unwrap_or(i64::MAX).max(tally.rows);
        if !self.note(&mut work, &tally, bytes).await? {
            return Ok(Step::Ended);
        }
        if self.run.asked.dry_run {
            work.commit().await?;
        } else {
            self.context.advance(work).await?;
        }
        Ok(Step::Goes(tally))
    }

    /// Retires what the feed does not name.
    async fn retire(&self, survey: &Survey, tally: Tally) -> Result<Step<Tally>, JobError> {
        let mut tally = tally;
        let mut after = String::new();
        loop {
            let page = self.listed(&after).await?;
            let Some(last) = page.last() else { return Ok(Step::Goes(tally)) };
            last.external_id.clone_into(&mut after);
            let origin = self.origin();
            let due: Vec<String> = page
                .into_iter()
                .filter(|row| self.is_absent(survey, row))
                .map(|row| row.external_id)
                .collect();
            for due in due.chunks(RETIRED_AT_ONCE) {
                let mut work = self.context.work_for_store(self.merchant).await?;
                let retired = retire(&mut work, self.merchant, origin, due).await?;
                tally.retired += i64::try_from(retired.len()).unwrap_or(0);
                if !self.note(&mut work, &tally, self.run.bytes_total).await? {
                    return Ok(Step::Ended);
                }
                self.context.advance(work).await?;
            }
        }
    }

    /// Ends a run that would drop too much, before it changed anything.
    async fn refuse(&self, absent: i64, listed: i64) -> Result<Outcome, JobError> {
        let reason = format!(
            "it would retire {absent} of {listed} products, more than half; send it again with force if that is meant"
        );
        let mut work = self.context.work_for_store(self.merchant).await?;
        let (merchant, run) = (self.merchant, self.run.id);
        table::end_run(&mut work, merchant, run, RunState::Refused, false, Some(&reason)).await?;
        self.context.finish(work).await
    }

    /// Ends a run that did all it could. The catalog counts as complete from this commit on.
    async fn finish(&self, survey: &Survey, tally: &Tally) -> Result<Outcome, JobError> {
        let complete = self.retires(survey) && !self.run.asked.dry_run;
        let reason = match (survey.cut, survey.anonymous) {
            (true, _) => Some(String::from("the file ends in the middle; nothing was retired")),
            (false, 0) => None,
            (false, rows) if self.run.asked.mode == RunMode::Replace => Some(format!(
                "{rows} rows could not be read well enough to know their product; nothing was retired"
            )),
            (false, _) => None,
        };
        let mut work = self.context.work_for_store(self.merchant).await?;
        let (merchant, run) = (self.merchant, self.run.id);
        if !self.note(&mut work, tally, self.run.bytes_total).await? {
            return Ok(Outcome::DONE);
        }
        let (state, reason) = (RunState::Completed, reason.as_deref());
        table::end_run(&mut work, merchant, run, state, complete, reason).await?;
        if complete {
            merchants::note_sync(&mut work, merchant).await.map_err(CatalogError::from)?;
        }
        take_stock_soon(&mut work, merchant).await?;
        let ended = self.context.finish(work).await?;
        count(&self.run, tally);
        Ok(ended)
    }
}

/// Counts a finished run, for the metrics.
fn count(run: &Run, tally: &Tally) {
    let format = run.asked.format.name();
    metrics::counter!("souk_catalog_runs_total", "format" => format).increment(1);
    let rows = [
        ("created", tally.created),
        ("updated", tally.updated),
        ("unchanged", tally.unchanged),
        ("failed", tally.failed),
        ("retired", tally.retired),
    ];
    for (result, rows) in rows {
        let rows = u64::try_from(rows).unwrap_or(0);
        metrics::counter!("souk_catalog_rows_total", "format" => format, "result" => result)
            .increment(rows);
    }
}

type Sorted = (Vec<Incoming>, Vec<RowFault>, i64);

fn sort(checked: Vec<Checked>) -> Sorted {
    let (mut products, mut faults, mut failed) = (Vec::new(), Vec::new(), 0);
    for row in checked {
        match row {
            Checked::Product(incoming) => products.push(*incoming),
            Checked::Refused { line, external_id, faults: why } => {
                failed += 1;
                let line = i64::try_from(line).unwrap_or(i64::MAX);
                // What could not be taken was not cleaned either, and PostgreSQL keeps no NUL.
                let external_id = external_id.map(|id| one_line(&id, ID_MAX).into_owned());
                faults.extend(why.into_iter().map(|fault| RowFault {
                    line,
                    external_id: external_id.clone(),
                    fault,
                }));
            }
        }
    }
    (products, faults, failed)
}

/// How long changes gather before a store's figures are counted again.
const GATHERED: Duration = Duration::from_secs(5);

/// Sees to it that a store's figures are counted again, once for all changes of some seconds.
pub async fn take_stock_soon(work: &mut Work, merchant: MerchantId) -> Result<(), CatalogError> {
    let at = work.now().plus(GATHERED);
    let window = at.unix_seconds() / i64::try_from(GATHERED.as_secs()).unwrap_or(1);
    let key = format!("{merchant}/{window}");
    jobs::enqueue_once(work, &TakeStock { merchant }, &key, at).await?;
    Ok(())
}

/// Counts what a store's catalog holds and how good it is.
#[derive(Debug, Serialize, Deserialize)]
pub struct TakeStock {
    /// Whose.
    pub merchant: MerchantId,
}

impl Job for TakeStock {
    const NAME: &'static str = "catalog.take_stock";
    type Needs = ();

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        // Two works, because each takes seconds where a store lists a million products.
        let mut work = context.work_for_store(self.merchant).await?;
        crate::sum_up(&mut work, self.merchant).await?;
        work.commit().await?;
        let mut work = context.work_for_store(self.merchant).await?;
        crate::measure(&mut work, self.merchant).await?;
        context.finish(work).await
    }
}

/// How long an upload may take before it counts as broken off.
const UPLOAD_MAX: Duration = Duration::from_hours(6);
/// Pieces of ended feeds thrown away in one work.
const CHUNKS_AT_ONCE: i64 = 100;

/// Ends runs that nobody will end, and throws away the bytes of ended ones.
#[derive(Debug, Serialize, Deserialize)]
pub struct SweepRuns {}

impl Job for SweepRuns {
    const NAME: &'static str = "catalog.sweep_runs";
    type Needs = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let mut work = context.work_for_platform().await?;
        let before = work.now().minus(UPLOAD_MAX);
        table::end_orphans(&mut work, before, ApplyRun::NAME).await?;
        work.commit().await?;
        loop {
            let mut work = context.work_for_platform().await?;
            let dropped = table::drop_chunks(&mut work, CHUNKS_AT_ONCE).await?;
            work.commit().await?;
            if dropped == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}

impl Scheduled for SweepRuns {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}
