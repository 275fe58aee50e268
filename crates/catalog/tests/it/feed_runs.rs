//! Feeds on their way in.

use std::io::BufRead;
use std::ops::ControlFlow;
use std::time::Duration;

use catalog::{
    ApplyRun, Fault, FaultCode, FeedFormat, FeedItem, FeedSettings, NewRun, ProductDraft, Run,
    RunMode, RunState, SweepRuns, TakeStock,
};
use jobs::{Runner, RunnerSettings};
use primitives::JobId;

use crate::shop::{Shop, merchant, mug, variant};

/// A reader as `connectors` has them: a draft a line, `!` for a broken row, `~` for the end of a file
/// that is cut off, `!` with an id for a broken row of a known product.
fn read(
    _: FeedFormat,
    input: &mut dyn BufRead,
    _: &FeedSettings,
    sink: &mut dyn FnMut(FeedItem) -> ControlFlow<()>,
) {
    for (line, text) in (1..).zip(input.lines()) {
        let text = text.unwrap();
        let fault = Fault::new("row", FaultCode::Unreadable, "cannot be read");
        let item = if let Some(id) = text.strip_prefix('!') {
            let external_id = (!id.is_empty()).then(|| id.to_owned());
            FeedItem::Broken { line, external_id, fault }
        } else if text == "~" {
            FeedItem::Cut { line, fault }
        } else {
            FeedItem::Product { line, draft: serde_json::from_str(&text).unwrap() }
        };
        if sink(item).is_break() {
            return;
        }
    }
}

impl Shop {
    async fn begin(&self, asked: &NewRun, rows: &[String]) -> JobId {
        let database = self.test.database();
        let run = catalog::begin_run(database, merchant(), asked).await.unwrap();
        let bytes = rows.join("\n").into_bytes();
        for (number, chunk) in (0..).zip(bytes.chunks(40_000)) {
            catalog::receive(database, merchant(), run, number, chunk).await.unwrap();
        }
        let length = i64::try_from(bytes.len()).unwrap();
        catalog::accept(database, merchant(), run, length, b"hash").await.unwrap();
        run
    }

    /// A second passes.
    fn later(&self) {
        self.test.clock().advance(Duration::from_secs(1));
    }

    async fn work_off(&self) {
        let runner = Runner::new(self.test.database().clone(), RunnerSettings::default())
            .register::<ApplyRun>(read)
            .register::<TakeStock>(())
            .register::<SweepRuns>(());
        runner.run_until_idle().await.unwrap();
    }

    async fn feed(&self, asked: &NewRun, rows: &[String]) -> Run {
        self.later();
        let run = self.begin(asked, rows).await;
        self.work_off().await;
        catalog::run(&self.reading(), merchant(), run).await.unwrap()
    }

    async fn listed(&self) -> i64 {
        self.count("SELECT count(*) FROM product WHERE retired_at IS NULL").await
    }
}

fn replace() -> NewRun {
    let (format, mode) = (FeedFormat::Ndjson, RunMode::Replace);
    NewRun { format, mode, dry_run: false, force: false, file_name: None }
}

fn rows(drafts: &[ProductDraft]) -> Vec<String> {
    drafts.iter().map(|draft| serde_json::to_string(draft).unwrap()).collect()
}

fn mugs(count: usize) -> Vec<ProductDraft> {
    (0..count).map(|number| mug(&format!("m{number:05}"), "10")).collect()
}

#[tokio::test]
async fn a_replacement_brings_in_what_it_names_and_retires_the_rest() {
    let shop = Shop::open().await;
    let run = shop.feed(&replace(), &rows(&mugs(1_200))).await;
    assert_eq!((run.state, run.complete, run.tally.created), (RunState::Completed, true, 1_200));
    assert_eq!(shop.events().await, 1_200);
    let again = shop.feed(&replace(), &rows(&mugs(1_200))).await;
    assert_eq!((again.tally.unchanged, again.tally.retired), (1_200, 0));
    assert_eq!(shop.events().await, 0, "the same again writes nothing");
    let fewer = shop.feed(&replace(), &rows(&mugs(700))).await;
    assert_eq!((fewer.complete, fewer.tally.retired), (true, 500));
    assert_eq!((shop.listed().await, shop.events().await), (700, 500));
    let state = catalog::catalog_state(&shop.reading(), merchant()).await.unwrap();
    assert_eq!((state.complete_run, state.partial), (Some(fewer.id), false));
    let synced = shop.count("SELECT count(*) FROM store WHERE last_sync_at IS NOT NULL").await;
    assert_eq!(synced, 1);
}

#[tokio::test]
async fn dropping_more_than_half_is_refused_before_anything_changes() {
    let shop = Shop::open().await;
    shop.feed(&replace(), &rows(&mugs(10))).await;
    shop.events().await;
    let mut few = mugs(4);
    few[0].price = Some(catalog::Amount::new("99"));
    let refused = shop.feed(&replace(), &rows(&few)).await;
    assert_eq!((refused.state, refused.complete), (RunState::Refused, false));
    assert!(refused.reason.unwrap().contains("6 of 10"));
    assert_eq!((shop.listed().await, shop.events().await), (10, 0));
    let forced = shop.feed(&NewRun { force: true, ..replace() }, &rows(&few)).await;
    assert_eq!((forced.complete, forced.tally.retired), (true, 6));
}

#[tokio::test]
async fn broken_rows_are_explained_and_the_rest_comes_in() {
    let shop = Shop::open().await;
    shop.put(&mugs(4)).await;
    let mut lines = rows(&mugs(3));
    lines[1] = String::from("!m00001");
    let bad = ProductDraft { gtin: Some(String::from("123")), ..mug("bad", "1") };
    lines.push(serde_json::to_string(&bad).unwrap());
    lines.push(lines[0].clone());
    let run = shop.feed(&replace(), &lines).await;
    assert_eq!((run.state, run.complete, run.tally.failed), (RunState::Completed, true, 3));
    assert_eq!(run.tally.retired, 1, "m00003 is absent; m00001 is only broken");
    let faults = catalog::row_faults(&shop.reading(), merchant(), run.id, 0, 10).await.unwrap();
    let found: Vec<_> = faults.iter().map(|row| (row.line, row.fault.code)).collect();
    let expected =
        [(2, FaultCode::Unreadable), (4, FaultCode::InvalidGtin), (5, FaultCode::Duplicate)];
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_broken_row_does_not_take_the_place_of_a_sound_one() {
    for format in [FeedFormat::Ndjson, FeedFormat::GoogleXml] {
        let shop = Shop::open().await;
        let mut lines = vec![String::from("!a")];
        lines.extend(rows(&[mug("a", "1"), mug("b", "1")]));
        let run = shop.feed(&NewRun { format, ..replace() }, &lines).await;
        assert_eq!((run.tally.created, run.tally.failed), (2, 1), "{format:?}");
    }
}

#[tokio::test]
async fn nothing_is_retired_after_a_feed_that_is_not_whole() {
    let shop = Shop::open().await;
    shop.put(&mugs(4)).await;
    for (ending, why) in [("~", "ends in the middle"), ("!", "could not be read")] {
        let mut lines = rows(&mugs(3));
        lines.push(String::from(ending));
        let run = shop.feed(&replace(), &lines).await;
        assert_eq!((run.state, run.complete), (RunState::Completed, false));
        assert!(run.reason.unwrap().contains(why));
        assert_eq!(shop.listed().await, 4);
        let state = catalog::catalog_state(&shop.reading(), merchant()).await.unwrap();
        assert!(state.partial && !state.updating, "{why}");
    }
    shop.feed(&replace(), &rows(&mugs(4))).await;
    let state = catalog::catalog_state(&shop.reading(), merchant()).await.unwrap();
    assert!(!state.partial, "a whole feed mends it");
}

#[tokio::test]
async fn a_dry_run_says_what_would_happen_and_changes_nothing() {
    let shop = Shop::open().await;
    shop.put(&mugs(10)).await;
    shop.events().await;
    let mut lines = rows(&mugs(6));
    lines.push(serde_json::to_string(&mug("new", "1")).unwrap());
    lines.push(String::from("!x"));
    let run = shop.feed(&NewRun { dry_run: true, ..replace() }, &lines).await;
    let tally = run.tally;
    assert_eq!((tally.created, tally.unchanged, tally.failed), (1, 6, 1));
    assert_eq!((run.absent, run.complete), (Some(4), false));
    assert_eq!((shop.listed().await, shop.events().await), (10, 0));
    let faults = catalog::row_faults(&shop.reading(), merchant(), run.id, 0, 10).await.unwrap();
    assert_eq!(faults.len(), 1);
}

#[tokio::test]
async fn the_newest_replacement_counts_in_whatever_order_they_are_applied() {
    let shop = Shop::open().await;
    let state = async |id| catalog::run(&shop.reading(), merchant(), id).await.unwrap().state;
    let older = shop.begin(&replace(), &rows(&mugs(3))).await;
    shop.later();
    let newer = shop.begin(&replace(), &rows(&mugs(5))).await;
    // The older one is put off, as if another worker had been slow.
    let mut raw = shop.test.raw().await;
    let put_off = "UPDATE job SET run_at = run_at + interval '1 minute' WHERE once_key = $1";
    sqlx::query(put_off).bind(older.to_string()).execute(&mut raw).await.unwrap();
    shop.work_off().await;
    assert_eq!(state(newer).await, RunState::Completed);
    assert_eq!(state(older).await, RunState::Superseded, "it was ended when the newer one began");
    // As if it had been accepted just after that: it finds out for itself.
    let accepted = "UPDATE catalog_run SET state = 'queued', finished_at = NULL WHERE run_id = $1";
    sqlx::query(accepted).bind(older).execute(&mut raw).await.unwrap();
    shop.test.clock().advance(Duration::from_mins(2));
    shop.work_off().await;
    assert_eq!(state(older).await, RunState::Superseded);
    assert_eq!(shop.listed().await, 5);
}

#[tokio::test]
async fn a_replacement_that_is_refused_takes_nobodys_place() {
    let shop = Shop::open().await;
    shop.feed(&replace(), &rows(&mugs(10))).await;
    let good = shop.begin(&replace(), &rows(&mugs(9))).await;
    shop.later();
    let wrong = shop.begin(&replace(), &rows(&mugs(1))).await;
    shop.work_off().await;
    let state = async |id| catalog::run(&shop.reading(), merchant(), id).await.unwrap().state;
    assert_eq!(state(wrong).await, RunState::Refused);
    assert_eq!((state(good).await, shop.listed().await), (RunState::Completed, 9));
}

#[tokio::test]
async fn rows_of_one_group_that_lie_apart_make_one_product() {
    let shop = Shop::open().await;
    let part = |sku: &str| ProductDraft { variants: vec![variant(sku, "5", 1)], ..mug("g", "5") };
    let lines = rows(&[part("S"), mug("other", "1"), part("M"), part("L")]);
    let merge = NewRun { format: FeedFormat::GoogleXml, mode: RunMode::Merge, ..replace() };
    let run = shop.feed(&merge, &lines).await;
    assert_eq!((run.tally.created, run.tally.failed), (2, 0));
    assert_eq!(shop.product("g").await.unwrap().variants.len(), 3);
    let again = shop.feed(&merge, &lines).await;
    assert_eq!((again.tally.unchanged, again.tally.updated), (2, 0));
    let alone =
        [mug("twice", "1"), part("S"), mug("twice", "2"), mug("g", "3"), part("M"), part("L")];
    let twice = shop.feed(&merge, &rows(&alone)).await;
    assert_eq!((twice.tally.created, twice.tally.unchanged, twice.tally.failed), (1, 1, 2));
    let mut broken = lines.clone();
    broken[2] = String::from("!g");
    shop.feed(&merge, &broken).await;
    assert_eq!(shop.product("g").await.unwrap().variants.len(), 2);
}

#[tokio::test]
async fn bytes_are_thrown_away_when_a_run_has_ended() {
    let shop = Shop::open().await;
    shop.feed(&replace(), &rows(&mugs(10))).await;
    let mut work = database::Work::for_platform(shop.test.database()).await.unwrap();
    jobs::enqueue(&mut work, &SweepRuns {}).await.unwrap();
    work.commit().await.unwrap();
    shop.work_off().await;
    assert_eq!(shop.count("SELECT count(*) FROM catalog_run_chunk").await, 0);
}
