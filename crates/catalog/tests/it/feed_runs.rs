//! Feed runs.

use std::io::BufRead;
use std::ops::ControlFlow;
use std::time::Duration;

use catalog::{
    ApplyFeedRun, EndOrphanedRuns, FeedFormat, FeedItem, FeedRun, FeedRunMode, FeedRunState,
    FeedSettings, FieldError, FieldErrorCode, NewFeedRun, ProductDraft, PurgeFeedFiles,
    PurgeFeedRuns, Quota, RefreshCatalogStats, RowErrorKind,
};
use database::Work;
use jobs::{Job, Runner, RunnerSettings, Sweep};
use primitives::FeedRunId;

use crate::shop::{Shop, merchant, mug, variant};

/// A feed reader for tests: one draft per line, `!` for an invalid row, `!` and an id for an invalid row of a known
/// product, `-` and an id for a draft, `?` for a warning, `~` for the end of a truncated file.
fn read(
    _: FeedFormat,
    input: &mut dyn BufRead,
    _: &FeedSettings,
    sink: &mut dyn FnMut(FeedItem) -> ControlFlow<()>,
) {
    for (line, text) in (1..).zip(input.lines()) {
        let text = text.unwrap();
        let error = FieldError::new("row", FieldErrorCode::Unreadable, "cannot be read");
        let item = if let Some(id) = text.strip_prefix('!') {
            let external_id = (!id.is_empty()).then(|| id.to_owned());
            FeedItem::InvalidRow { line, external_id, error }
        } else if let Some(id) = text.strip_prefix('-') {
            let error = FieldError::new("row", FieldErrorCode::NotForSale, "is a draft");
            let external_id = Some(id.to_owned());
            FeedItem::Skipped { line, external_id, error, stays_listed: false }
        } else if text == "?" {
            let error = FieldError::new("file", FieldErrorCode::Encoding, "was converted");
            FeedItem::Warning { line, external_id: None, error }
        } else if text == "~" {
            FeedItem::Truncated { line, error }
        } else {
            FeedItem::Product { line, draft: serde_json::from_str(&text).unwrap() }
        };
        if sink(item).is_break() {
            return;
        }
    }
}

impl Shop {
    async fn begin(&self, request: &NewFeedRun, rows: &[String]) -> FeedRunId {
        let database = self.test.database();
        let run = catalog::begin_feed_run(database, merchant(), request, 0).await.unwrap();
        let bytes = rows.join("\n").into_bytes();
        for (number, chunk) in (0..).zip(bytes.chunks(40_000)) {
            catalog::receive_chunk(database, merchant(), run, number, chunk).await.unwrap();
        }
        let length = i64::try_from(bytes.len()).unwrap();
        catalog::finish_upload(database, merchant(), run, length, b"hash").await.unwrap();
        run
    }

    /// Advances the clock by a second.
    fn later(&self) {
        self.test.clock().advance(Duration::from_secs(1));
    }

    async fn run_jobs(&self) {
        let runner = Runner::new(self.test.database().clone(), RunnerSettings::default())
            .register::<ApplyFeedRun>(read)
            .register::<RefreshCatalogStats>(())
            .register::<PurgeFeedRuns>(())
            .sweep::<EndOrphanedRuns>(Duration::from_mins(1), ())
            .sweep::<PurgeFeedFiles>(Duration::from_mins(1), ());
        runner.run_until_idle().await.unwrap();
    }

    async fn enqueue(&self, job: &impl Job) {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        jobs::enqueue(&mut work, job).await.unwrap();
        work.commit().await.unwrap();
        self.run_jobs().await;
    }

    async fn sweep<S: Sweep>(&self) {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        jobs::enqueue_sweep::<S>(&mut work).await.unwrap();
        work.commit().await.unwrap();
        self.run_jobs().await;
    }

    async fn feed(&self, request: &NewFeedRun, rows: &[String]) -> FeedRun {
        self.later();
        let run = self.begin(request, rows).await;
        self.run_jobs().await;
        catalog::feed_run(&self.reading(), merchant(), run).await.unwrap()
    }

    async fn listed(&self) -> i64 {
        self.count("SELECT count(*) FROM product WHERE retired_at IS NULL").await
    }
}

fn replace() -> NewFeedRun {
    let (format, mode) = (FeedFormat::Ndjson, FeedRunMode::Replace);
    NewFeedRun { format, mode, dry_run: false, force: false, file_name: None, columns: None }
}

fn rows(drafts: &[ProductDraft]) -> Vec<String> {
    drafts.iter().map(|draft| serde_json::to_string(draft).unwrap()).collect()
}

fn mugs(count: usize) -> Vec<ProductDraft> {
    (0..count).map(|number| mug(&format!("m{number:05}"), "10")).collect()
}

#[tokio::test]
async fn a_replacement_writes_its_products_and_retires_the_rest() {
    let shop = Shop::open().await;
    let run = shop.feed(&replace(), &rows(&mugs(1_200))).await;
    assert_eq!(
        (run.state, run.complete, run.counts.created),
        (FeedRunState::Completed, true, 1_200)
    );
    assert_eq!(shop.events().await, 1_200);
    let again = shop.feed(&replace(), &rows(&mugs(1_200))).await;
    assert_eq!((again.counts.unchanged, again.counts.retired), (1_200, 0));
    assert_eq!(shop.events().await, 0, "the same again writes nothing");
    let fewer = shop.feed(&replace(), &rows(&mugs(700))).await;
    assert_eq!((fewer.complete, fewer.counts.retired), (true, 500));
    assert_eq!((shop.listed().await, shop.events().await), (700, 500));
    let state = catalog::catalog_state(&shop.reading(), merchant()).await.unwrap();
    assert_eq!((state.complete_run, state.partial), (Some(fewer.id), false));
    let synced = shop.count("SELECT count(*) FROM store WHERE last_sync_at IS NOT NULL").await;
    assert_eq!(synced, 1);
}

#[tokio::test]
async fn retiring_more_than_half_is_refused_before_anything_changes() {
    let shop = Shop::open().await;
    shop.feed(&replace(), &rows(&mugs(10))).await;
    shop.events().await;
    let mut few = mugs(4);
    few[0].price = Some(catalog::Amount::new("99"));
    let refused = shop.feed(&replace(), &rows(&few)).await;
    assert_eq!((refused.state, refused.complete), (FeedRunState::Refused, false));
    assert!(refused.reason.unwrap().contains("6 of 10"));
    assert_eq!((shop.listed().await, shop.events().await), (10, 0));
    let forced = shop.feed(&NewFeedRun { force: true, ..replace() }, &rows(&few)).await;
    assert_eq!((forced.complete, forced.counts.retired), (true, 6));
}

#[tokio::test]
async fn invalid_rows_are_reported_and_the_rest_is_applied() {
    let shop = Shop::open().await;
    shop.put(&mugs(4)).await;
    let mut lines = rows(&mugs(3));
    lines[1] = String::from("!m00001");
    let bad = ProductDraft { condition: Some(String::from("shiny")), ..mug("bad", "1") };
    lines.push(serde_json::to_string(&bad).unwrap());
    lines.push(lines[0].clone());
    lines.push(String::from("-draft"));
    lines.push(String::from("?"));
    let doubtful = ProductDraft { gtin: Some(String::from("123")), ..mug("doubtful", "1") };
    lines.push(serde_json::to_string(&doubtful).unwrap());
    let run = shop.feed(&replace(), &lines).await;
    assert_eq!((run.state, run.complete, run.counts.failed), (FeedRunState::Completed, true, 3));
    assert_eq!((run.counts.skipped, run.counts.warnings, run.counts.created), (1, 2, 1));
    assert_eq!(run.counts.retired, 1, "m00003 is absent; m00001 is only invalid");
    let errors =
        catalog::row_errors(&shop.reading(), merchant(), run.id, None, 0, 10).await.unwrap();
    let found: Vec<_> = errors.iter().map(|row| (row.line, row.error.code)).collect();
    let expected = [
        (2, FieldErrorCode::Unreadable),
        (4, FieldErrorCode::InvalidValue),
        (5, FieldErrorCode::Duplicate),
        (6, FieldErrorCode::NotForSale),
        (7, FieldErrorCode::Encoding),
        (8, FieldErrorCode::InvalidGtin),
    ];
    assert_eq!(found, expected);
    let reading = shop.reading();
    let of = async |kind| {
        catalog::row_errors(&reading, merchant(), run.id, Some(kind), 0, 10).await.unwrap().len()
    };
    let (errors, skipped) = (of(RowErrorKind::Error).await, of(RowErrorKind::Skipped).await);
    assert_eq!((errors, skipped, of(RowErrorKind::Warning).await), (3, 1, 2));
}

#[tokio::test]
async fn a_run_that_takes_nothing_fails_with_the_reason() {
    let shop = Shop::open().await;
    shop.put(&mugs(2)).await;
    let fails = async |lines: &[&str], reason: &str| {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let request = NewFeedRun { force: true, ..replace() };
        let run = shop.feed(&request, &lines).await;
        assert_eq!((run.state, run.complete), (FeedRunState::Failed, false), "{lines:?}");
        let found = run.reason.unwrap_or_default();
        assert!(found.contains(reason), "{lines:?}: {found}");
        assert_eq!((run.counts.accepted(), shop.listed().await), (0, 2));
    };
    let rejected = "2 rows were rejected. The first: line 1, row: cannot be read";
    fails(&["!m00000", "!m00001"], rejected).await;
    fails(&["~"], "cannot be read").await;
    fails(&["-m00000"], "1 rows were skipped. The first: line 1, row: is a draft").await;
    fails(&[], "contains no products").await;
    fails(&["?"], "contains no products").await;
}

#[tokio::test]
async fn an_invalid_row_does_not_replace_a_valid_one() {
    for format in [FeedFormat::Ndjson, FeedFormat::GoogleXml] {
        let shop = Shop::open().await;
        let mut lines = vec![String::from("!a")];
        lines.extend(rows(&[mug("a", "1"), mug("b", "1")]));
        let run = shop.feed(&NewFeedRun { format, ..replace() }, &lines).await;
        assert_eq!((run.counts.created, run.counts.failed), (2, 1), "{format:?}");
    }
}

#[tokio::test]
async fn an_incomplete_feed_retires_nothing() {
    let shop = Shop::open().await;
    shop.put(&mugs(4)).await;
    for (ending, why) in [("~", "cannot be read"), ("!", "unreadable rows")] {
        let mut lines = rows(&mugs(3));
        lines.push(String::from(ending));
        let run = shop.feed(&replace(), &lines).await;
        assert_eq!((run.state, run.complete), (FeedRunState::Completed, false));
        assert!(run.reason.unwrap().contains(why));
        assert_eq!(shop.listed().await, 4);
        let state = catalog::catalog_state(&shop.reading(), merchant()).await.unwrap();
        assert!(state.partial && !state.updating, "{why}");
    }
    shop.feed(&replace(), &rows(&mugs(4))).await;
    let state = catalog::catalog_state(&shop.reading(), merchant()).await.unwrap();
    assert!(!state.partial, "a complete feed ends it");
}

#[tokio::test]
async fn a_dry_run_reports_changes_and_makes_none() {
    let shop = Shop::open().await;
    shop.put(&mugs(10)).await;
    shop.events().await;
    let mut lines = rows(&mugs(6));
    lines.push(serde_json::to_string(&mug("new", "1")).unwrap());
    lines.push(String::from("!x"));
    let run = shop.feed(&NewFeedRun { dry_run: true, ..replace() }, &lines).await;
    let counts = run.counts;
    assert_eq!((counts.created, counts.unchanged, counts.failed), (1, 6, 1));
    assert_eq!((run.absent, run.complete), (Some(4), false));
    assert_eq!((shop.listed().await, shop.events().await), (10, 0));
    let errors =
        catalog::row_errors(&shop.reading(), merchant(), run.id, None, 0, 10).await.unwrap();
    assert_eq!(errors.len(), 1);
}

#[tokio::test]
async fn the_newest_replacement_wins_in_any_order_of_execution() {
    let shop = Shop::open().await;
    let state = async |id| catalog::feed_run(&shop.reading(), merchant(), id).await.unwrap().state;
    let older = shop.begin(&replace(), &rows(&mugs(3))).await;
    shop.later();
    let newer = shop.begin(&replace(), &rows(&mugs(5))).await;
    // The job of the older run is delayed, as by a slow worker.
    let mut raw = shop.test.raw().await;
    let delay = "UPDATE job SET run_at = run_at + interval '1 minute' WHERE once_key = $1";
    sqlx::query(delay).bind(older.to_string()).execute(&mut raw).await.unwrap();
    shop.run_jobs().await;
    assert_eq!(state(newer).await, FeedRunState::Completed);
    assert_eq!(
        state(older).await,
        FeedRunState::Superseded,
        "the newer run superseded it when it started"
    );
    // As if it had been queued just after that: it supersedes itself.
    let queue = "UPDATE catalog_run SET state = 'queued', finished_at = NULL WHERE run_id = $1";
    sqlx::query(queue).bind(older).execute(&mut raw).await.unwrap();
    shop.test.clock().advance(Duration::from_mins(2));
    shop.run_jobs().await;
    assert_eq!(state(older).await, FeedRunState::Superseded);
    assert_eq!(shop.listed().await, 5);
}

#[tokio::test]
async fn a_refused_replacement_supersedes_no_other_run() {
    let shop = Shop::open().await;
    shop.feed(&replace(), &rows(&mugs(10))).await;
    let good = shop.begin(&replace(), &rows(&mugs(9))).await;
    shop.later();
    let wrong = shop.begin(&replace(), &rows(&mugs(1))).await;
    shop.run_jobs().await;
    let state = async |id| catalog::feed_run(&shop.reading(), merchant(), id).await.unwrap().state;
    assert_eq!(state(wrong).await, FeedRunState::Refused);
    assert_eq!((state(good).await, shop.listed().await), (FeedRunState::Completed, 9));
}

#[tokio::test]
async fn rows_of_one_group_that_are_not_adjacent_form_one_product() {
    let shop = Shop::open().await;
    let part = |sku: &str| ProductDraft { variants: vec![variant(sku, "5", 1)], ..mug("g", "5") };
    let lines = rows(&[part("S"), mug("other", "1"), part("M"), part("L")]);
    let merge = NewFeedRun { format: FeedFormat::GoogleXml, mode: FeedRunMode::Merge, ..replace() };
    let run = shop.feed(&merge, &lines).await;
    assert_eq!((run.counts.created, run.counts.failed), (2, 0));
    assert_eq!(shop.product("g").await.unwrap().variants.len(), 3);
    let again = shop.feed(&merge, &lines).await;
    assert_eq!((again.counts.unchanged, again.counts.updated), (2, 0));
    let alone =
        [mug("twice", "1"), part("S"), mug("twice", "2"), mug("g", "3"), part("M"), part("L")];
    let twice = shop.feed(&merge, &rows(&alone)).await;
    assert_eq!((twice.counts.created, twice.counts.unchanged, twice.counts.failed), (1, 1, 2));
    let mut broken = lines.clone();
    broken[2] = String::from("!g");
    shop.feed(&merge, &broken).await;
    assert_eq!(shop.product("g").await.unwrap().variants.len(), 2);
}

#[tokio::test]
async fn chunks_of_ended_runs_are_deleted() {
    let shop = Shop::open().await;
    shop.feed(&replace(), &rows(&mugs(10))).await;
    assert!(shop.count("SELECT stored_bytes FROM catalog_run").await > 0);
    let waiting = shop.begin(&replace(), &rows(&mugs(9))).await;
    shop.sweep::<PurgeFeedFiles>().await;
    let chunks = shop.count("SELECT count(*) FROM catalog_run_chunk").await;
    let stored = shop.count("SELECT sum(stored_bytes)::bigint FROM catalog_run").await;
    let run = catalog::feed_run(&shop.reading(), merchant(), waiting).await.unwrap();
    assert_eq!((chunks, stored), (1, run.bytes_total), "of the run that has not ended");
}

#[tokio::test]
async fn runs_without_an_upload_or_a_job_fail() {
    let shop = Shop::open().await;
    let database = shop.test.database();
    let receiving = catalog::begin_feed_run(database, merchant(), &replace(), 0).await.unwrap();
    let queued = shop.begin(&replace(), &rows(&mugs(1))).await;
    let waiting = shop.begin(&replace(), &rows(&mugs(1))).await;
    let lost = "DELETE FROM job WHERE payload ->> 'run' = $1";
    sqlx::query(lost).bind(queued.to_string()).execute(&mut shop.test.raw().await).await.unwrap();
    let pause = "UPDATE job SET run_at = 'infinity' WHERE kind = 'catalog.apply_run'";
    sqlx::query(pause).execute(&mut shop.test.raw().await).await.unwrap();
    let states = async || {
        let mut states = Vec::new();
        for id in [receiving, queued, waiting] {
            let run = catalog::feed_run(&shop.reading(), merchant(), id).await.unwrap();
            states.push(run.state);
        }
        states
    };
    shop.sweep::<EndOrphanedRuns>().await;
    let failed = FeedRunState::Failed;
    assert_eq!(states().await, [FeedRunState::Receiving, failed, FeedRunState::Queued]);
    shop.test.clock().advance(Duration::from_mins(16));
    shop.sweep::<EndOrphanedRuns>().await;
    assert_eq!(states().await, [failed, failed, FeedRunState::Queued]);
}

#[tokio::test]
async fn a_feed_with_too_many_rows_is_refused_unread() {
    let shop = Shop::open().await;
    shop.set_quota(Quota::FeedRows, 10).await;
    let refused = shop.feed(&replace(), &rows(&mugs(11))).await;
    assert_eq!((refused.state, shop.listed().await), (FeedRunState::Refused, 0));
    assert!(refused.reason.unwrap().contains("more rows than the quota"));
    let allowed = shop.feed(&replace(), &rows(&mugs(10))).await;
    assert_eq!((allowed.state, shop.listed().await), (FeedRunState::Completed, 10));
}

#[tokio::test]
async fn products_beyond_the_quota_are_rejected_by_row() {
    let shop = Shop::open().await;
    shop.set_quota(Quota::Products, 3).await;
    let run = shop.feed(&replace(), &rows(&mugs(5))).await;
    assert_eq!((run.counts.created, run.counts.failed, shop.listed().await), (3, 2, 3));
    let errors =
        catalog::row_errors(&shop.reading(), merchant(), run.id, None, 0, 10).await.unwrap();
    let lines: Vec<_> = errors.iter().map(|row| (row.line, row.error.code)).collect();
    let code = FieldErrorCode::QuotaExceeded;
    assert_eq!(lines, [(4, code), (5, code)]);
    let same = shop.feed(&replace(), &rows(&mugs(3))).await;
    assert_eq!((same.counts.unchanged, same.counts.failed), (3, 0));
}

#[tokio::test]
async fn a_run_waits_for_its_turn_before_it_reads_the_feed() {
    let shop = Shop::open().await;
    shop.feed(&replace(), &rows(&mugs(2))).await;
    let first = shop.begin(&replace(), &rows(&mugs(2))).await;
    shop.later();
    let merge = NewFeedRun { mode: FeedRunMode::Merge, ..replace() };
    let second = shop.begin(&merge, &[String::from("{not a draft, and never read")]).await;
    let active = "UPDATE catalog_run SET state = 'applying' WHERE run_id = $1";
    let pause = "UPDATE job SET run_at = 'infinity' WHERE payload ->> 'run' = $1";
    sqlx::query(active).bind(first.uuid()).execute(&mut shop.test.raw().await).await.unwrap();
    let mut raw = shop.test.raw().await;
    sqlx::query(pause).bind(first.to_string()).execute(&mut raw).await.unwrap();
    shop.run_jobs().await;
    let run = catalog::feed_run(&shop.reading(), merchant(), second).await.unwrap();
    assert_eq!(run.state, FeedRunState::Queued);
    let error: String =
        sqlx::query_scalar("SELECT last_error FROM job WHERE payload ->> 'run' = $1")
            .bind(second.to_string())
            .fetch_one(&mut raw)
            .await
            .unwrap();
    assert!(error.contains("another feed run"), "{error}");
}

#[tokio::test]
async fn old_runs_row_errors_uploads_and_prices_are_purged() {
    const DAY: Duration = Duration::from_hours(24);
    let shop = Shop::open().await;
    let run =
        shop.feed(&replace(), &[rows(&mugs(1)), vec![String::from("!m00000")]].concat()).await;
    assert_eq!((run.complete, run.counts.failed), (true, 1));
    shop.put(&[mug("m00000", "11")]).await;
    shop.put(&[mug("m00000", "12")]).await;
    shop.sweep::<PurgeFeedFiles>().await;
    let counts = async || {
        [
            shop.count("SELECT count(*) FROM catalog_run_fault").await,
            shop.count("SELECT count(*) FROM catalog_upload").await,
            shop.count("SELECT count(*) FROM catalog_run").await,
            shop.count("SELECT count(*) FROM price_history").await,
        ]
    };
    shop.enqueue(&PurgeFeedRuns {}).await;
    assert_eq!(counts().await, [1, 1, 1, 3]);
    shop.test.clock().advance(DAY * 32);
    shop.enqueue(&PurgeFeedRuns {}).await;
    assert_eq!(counts().await, [0, 0, 1, 3]);
    shop.test.clock().advance(DAY * 400);
    shop.enqueue(&PurgeFeedRuns {}).await;
    assert_eq!(counts().await[2], 1, "the last run that completed the catalog");
    shop.feed(&replace(), &rows(&[mug("m00000", "13")])).await;
    shop.sweep::<PurgeFeedFiles>().await;
    shop.enqueue(&PurgeFeedRuns {}).await;
    assert_eq!(counts().await[2..], [1, 4]);
    shop.test.clock().advance(DAY * 400);
    shop.enqueue(&PurgeFeedRuns {}).await;
    assert_eq!(counts().await[3], 2, "the last price two years ago, and the one since");
}
