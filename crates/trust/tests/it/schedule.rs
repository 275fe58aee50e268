//! Scores every six hours: each store once in each epoch.

use std::time::Duration;

use database::{Reading, Work};
use jobs::{Runner, RunnerSettings, Scheduled};
use merchants::StoreError;
use primitives::{Id, MerchantId};
use trust::{
    Cause, FailureStage, MethodologyVersion, RecomputeScores, TrustError, TrustHealth, compute_due,
};

use crate::market::{EPOCH, FIRST, Market, compute_all};

/// Opens stores whose ids are spread evenly.
async fn spread(market: &Market, count: u128) -> Vec<MerchantId> {
    let mut merchants = Vec::new();
    for number in 0..count {
        let id = MerchantId::from_random(u128::MAX / count * number + 1);
        merchants.push(market.store_with_id(&format!("store-{number}"), id).await);
        market.set_good(id, 9).await;
    }
    merchants
}

#[tokio::test]
async fn two_workers_compute_each_score_once() {
    let market = Market::open().await;
    let merchants = spread(&market, 36).await;
    let opened = market.events(merchants[0], "store.changed").await;
    // The next epoch begins.
    market.advance(Duration::from_mins(1));
    let last = EPOCH.checked_sub(Duration::from_secs(2 * 60 * 60 + 1)).unwrap();
    for span in [Duration::ZERO, Duration::from_hours(2), last] {
        market.advance(span);
        let runs = [(); 3].map(|()| {
            let database = market.database().clone();
            tokio::spawn(async move { compute_due(&database, MethodologyVersion::V20).await })
        });
        for run in runs {
            assert!(run.await.unwrap().unwrap());
        }
    }
    for merchant in merchants {
        assert_eq!(market.rows(merchant).await, [(FIRST.0 + 1, 0)], "{merchant}");
        assert_eq!(market.events(merchant, "store.changed").await, opened + 1, "{merchant}");
    }
}

#[tokio::test]
async fn a_store_is_scored_when_its_slot_is_due() {
    let market = Market::open().await;
    let merchants = spread(&market, 6).await;
    let scored = async || {
        let mut scored = 0;
        for merchant in &merchants {
            scored += market.rows(*merchant).await.len();
        }
        scored
    };
    // The slots of the stores are almost an hour apart, from a random one on.
    for hours in 1..=6_usize {
        market.advance(Duration::from_hours(1));
        market.compute().await;
        let now = scored().await;
        assert!(now.abs_diff(hours) <= 1, "{now} in the last minute of hour {hours}");
        market.compute().await;
        assert_eq!(scored().await, now);
    }
    assert_eq!(scored().await, 6);
}

#[tokio::test]
async fn every_epoch_has_an_order_of_stores_of_its_own() {
    let market = Market::open().await;
    for _ in 0..5 {
        market.compute().await;
        market.advance(EPOCH);
    }
    let orders: Vec<String> =
        sqlx::query_scalar("SELECT DISTINCT order_key::text FROM trust_epoch")
            .fetch_all(&mut market.test.raw().await)
            .await
            .unwrap();
    assert_eq!(orders.len(), 5, "{orders:?}");
}

#[tokio::test]
async fn late_epochs_are_computed_with_their_own_epoch_and_none_is_skipped() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    market.compute().await;
    market.advance(EPOCH * 5);
    assert!(lag(&market).await > 5.0 * 3_600.0);
    market.compute().await;
    let epochs: Vec<(i64, i32)> = (FIRST.0..=FIRST.0 + 5).map(|epoch| (epoch, 0)).collect();
    assert_eq!(market.rows(merchant).await, epochs);
    assert!(lag(&market).await < 61.0);
    let standing = market.standing(merchant).await;
    assert_eq!(standing.computed_at, market.database().local_now());

    assert_eq!(health(&market).await.skipped_epochs, 0);

    // At most seven days are made up for.
    market.advance(EPOCH * 40);
    market.compute().await;
    let rows = market.rows(merchant).await;
    let made_up: Vec<(i64, i32)> = (FIRST.0 + 17..=FIRST.0 + 45).map(|epoch| (epoch, 0)).collect();
    assert_eq!(rows[6..], made_up[..]);
    // The others are counted.
    let status = trust::status(&Reading::for_platform(market.database())).await.unwrap();
    assert_eq!((status.skipped_epochs, health(&market).await.skipped_epochs), (11, 11));
}

async fn health(market: &Market) -> TrustHealth {
    trust::health(&Reading::for_platform(market.database())).await.unwrap()
}

async fn lag(market: &Market) -> f64 {
    health(market).await.lag_seconds
}

/// Returns the known epochs up to one, oldest first, and whether they are done.
async fn epochs(market: &Market, last: i64) -> Vec<(i64, bool)> {
    sqlx::query_as(
        "SELECT epoch, position IS NOT DISTINCT FROM 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
         FROM trust_epoch WHERE epoch <= $1 ORDER BY epoch",
    )
    .bind(last)
    .fetch_all(&mut market.test.raw().await)
    .await
    .unwrap()
}

#[tokio::test]
async fn a_clock_that_was_ahead_for_a_moment_stops_no_scores() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    market.compute().await;
    let ahead = market.ahead_by(Duration::from_hours(24 * 365));
    compute_all(&ahead, MethodologyVersion::V20).await;
    let future = Reading::for_platform(&ahead);
    assert_eq!(trust::status(&future).await.unwrap().late_epochs, 0);

    // The clock is right again. What is missing is seen, and computed.
    market.set_good(merchant, 5).await;
    market.advance(EPOCH * 2);
    let status = trust::status(&Reading::for_platform(market.database())).await.unwrap();
    assert_eq!((status.late_epochs, status.slots_done), (1, 0));
    assert!(lag(&market).await > 6.0 * 3_600.0);
    market.compute().await;
    let done = [0, 1, 2].map(|later| (FIRST.0 + later, true));
    assert_eq!(epochs(&market, FIRST.0 + 2).await, done);
    assert!(lag(&market).await < 61.0);
    let latest = market.latest(merchant).await.unwrap();
    assert_eq!((latest.epoch.0, latest.figures.is_empty()), (FIRST.0 + 2, false));
    assert_eq!(market.standing(merchant).await.score, latest.score);
}

#[tokio::test]
async fn a_clock_that_is_ahead_at_the_first_run_delays_no_epoch() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    let ahead = market.ahead_by(Duration::from_hours(24 * 365));
    compute_all(&ahead, MethodologyVersion::V20).await;
    market.compute().await;
    assert_eq!(epochs(&market, FIRST.0).await, [(FIRST.0, true)]);
    assert_eq!(market.latest(merchant).await.unwrap().epoch, FIRST);
}

#[tokio::test]
async fn after_an_outage_the_newest_epoch_is_computed_first() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    market.compute().await;
    market.advance(EPOCH * 3);
    let broken = FIRST.0 + 1;
    let check = format!(
        "ALTER TABLE trust_epoch ADD CONSTRAINT broken CHECK (epoch <> {broken} OR position IS NULL)"
    );
    market.execute(&check).await;
    let failed = compute_due(market.database(), MethodologyVersion::V20).await;
    assert!(failed.is_err(), "{failed:?}");
    let done = [(0, true), (1, false), (2, true), (3, true)];
    assert_eq!(epochs(&market, FIRST.0 + 3).await, done.map(|(later, is)| (FIRST.0 + later, is)));
    assert_eq!(market.standing(merchant).await.computed_at, market.database().local_now());
    market.execute("ALTER TABLE trust_epoch DROP CONSTRAINT broken").await;
    let before = market.standing(merchant).await;
    market.set_good(merchant, 1).await;
    market.advance(Duration::from_secs(5));
    market.compute().await;
    assert_eq!(market.standing(merchant).await, before, "an older score changes no standing");
}

/// Waits until a statement waits for a lock.
async fn until_blocked(market: &Market) {
    let blocked = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let mut raw = market.test.raw().await;
    for _ in 0..400 {
        if sqlx::query_scalar::<_, i64>(blocked).fetch_one(&mut raw).await.unwrap() > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no statement waits for a lock");
}

#[tokio::test]
async fn an_older_epoch_that_is_computed_at_the_same_time_changes_no_standing() {
    for has_standing in [true, false] {
        let market = Market::open().await;
        let merchant = market.store(1).await;
        market.set_good(merchant, 9).await;
        market.compute().await;
        if !has_standing {
            market.execute("DELETE FROM standing").await;
        }
        market.advance(EPOCH * 2);
        // Only the epoch before is open.
        let current = FIRST.0 + 2;
        let done = format!(
            "INSERT INTO trust_epoch (epoch, order_key, position, opened_at, updated_at)
             VALUES ({current}, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff',
                     '2026-11-15', '2026-11-15')"
        );
        market.execute(&done).await;
        let mut work = Work::for_platform(market.database()).await.unwrap();
        let in_force = MethodologyVersion::V20;
        let newer =
            trust::recompute(&mut work, merchant, Cause::Requested, in_force).await.unwrap();
        market.set_good(merchant, 1).await;
        let database = market.database().clone();
        let older = tokio::spawn(async move { compute_due(&database, in_force).await });
        until_blocked(&market).await;
        work.commit().await.unwrap();
        assert!(older.await.unwrap().unwrap());
        let rows = [0, 1, 2].map(|later| (FIRST.0 + later, 0));
        assert_eq!(market.rows(merchant).await, rows, "{has_standing}");
        assert_eq!(market.standing(merchant).await.score, newer.score, "{has_standing}");
    }
}

#[tokio::test]
async fn a_score_of_an_epoch_that_has_just_ended_counts() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.compute().await;
    assert!(market.rows(merchant).await.is_empty(), "it has no figures");
    // Ten minutes after the end of the epoch, of which nothing is computed.
    market.set_good(merchant, 9).await;
    market.execute("UPDATE trust_epoch SET position = NULL").await;
    market.advance(Duration::from_mins(11));
    market.compute().await;
    assert!(market.rows(merchant).await.contains(&(FIRST.0, 0)));
    assert!(market.standing(merchant).await.score.is_some());
}

#[tokio::test]
async fn a_store_that_did_not_exist_has_no_score_of_the_epoch() {
    let market = Market::open().await;
    market.compute().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    sqlx::query("UPDATE store SET member_since = '2026-11-15T08:00:00Z'")
        .execute(&mut market.test.raw().await)
        .await
        .unwrap();
    market.advance(EPOCH * 2);
    market.compute().await;
    assert_eq!(market.rows(merchant).await, [(FIRST.0 + 1, 0), (FIRST.0 + 2, 0)]);
}

#[tokio::test]
async fn a_store_without_catalog_figures_is_left_out_until_they_exist() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    let before = market.standing(merchant).await;
    market.compute().await;
    let in_force = MethodologyVersion::V20;
    assert_eq!(trust::recompute_all(market.database(), in_force).await.unwrap().scores, 0);
    let mut work = Work::for_platform(market.database()).await.unwrap();
    let refused = trust::recompute(&mut work, merchant, Cause::Requested, in_force).await;
    assert!(matches!(refused, Err(TrustError::NoFigures)), "{refused:?}");
    work.rollback().await.unwrap();
    assert!(market.rows(merchant).await.is_empty());
    assert_eq!(market.standing(merchant).await, before);
    let platform = Reading::for_platform(market.database());
    assert_eq!(trust::stores_after(&platform, None).await.unwrap(), [merchant]);

    market.set_good(merchant, 9).await;
    market.advance(EPOCH);
    market.compute().await;
    assert_eq!(market.rows(merchant).await, [(FIRST.0 + 1, 0)]);
    assert!(market.standing(merchant).await.score.is_some());
}

#[tokio::test]
async fn a_store_whose_catalog_figures_are_outdated_is_left_out_until_they_are_computed() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    market.execute("UPDATE catalog_quality SET is_outdated = true").await;
    let before = market.standing(merchant).await;
    market.compute().await;
    let mut work = Work::for_platform(market.database()).await.unwrap();
    let in_force = MethodologyVersion::V20;
    let refused = trust::recompute(&mut work, merchant, Cause::Requested, in_force).await;
    assert!(matches!(refused, Err(TrustError::NoFigures)), "{refused:?}");
    work.rollback().await.unwrap();
    assert!(market.rows(merchant).await.is_empty());
    assert_eq!(market.standing(merchant).await, before);

    market.execute("UPDATE catalog_quality SET is_outdated = false").await;
    market.advance(EPOCH);
    market.compute().await;
    assert_eq!(market.rows(merchant).await, [(FIRST.0 + 1, 0)]);
}

#[tokio::test]
async fn a_store_that_cannot_be_read_stops_no_other() {
    let market = Market::open().await;
    for number in 1..=5 {
        let merchant = market.store(number).await;
        market.set_good(merchant, 9).await;
    }
    sqlx::query("UPDATE store SET member_since = '-infinity' WHERE slug = 'store-3'")
        .execute(&mut market.test.raw().await)
        .await
        .unwrap();
    market.compute().await;
    for number in 1..=5 {
        let rows = market.rows(MerchantId::from_random(number)).await;
        assert_eq!(rows.len(), usize::from(number != 3), "{number}");
    }
    let platform = Reading::for_platform(market.database());
    let failures = trust::failures(&platform, 9).await.unwrap();
    let [failure] = failures.as_slice() else { panic!("{failures:?}") };
    assert_eq!((failure.slug.as_str(), failure.stage), ("store-3", FailureStage::Score));
    assert_eq!((failure.epoch, failure.failed_at), (FIRST, market.database().local_now()));
    let status = trust::status(&platform).await.unwrap();
    assert_eq!((status.failing_stores, health(&market).await.failing_stores), (1, 1));

    market.execute("UPDATE store SET member_since = '2026-01-01' WHERE slug = 'store-3'").await;
    market.advance(EPOCH);
    market.compute().await;
    assert_eq!(trust::failures(&platform, 9).await.unwrap(), []);
}

#[tokio::test]
async fn a_store_that_an_operator_closed_is_not_scored() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    market.execute("UPDATE store SET status = 'closed'").await;
    market.compute().await;
    let in_force = MethodologyVersion::V20;
    assert_eq!(trust::recompute_all(market.database(), in_force).await.unwrap().scores, 0);
    let mut work = Work::for_platform(market.database()).await.unwrap();
    let refused = trust::recompute(&mut work, merchant, Cause::Requested, in_force).await;
    let is_closed = matches!(refused, Err(TrustError::Store(StoreError::Suspended(_))));
    assert!(is_closed, "{refused:?}");
    work.rollback().await.unwrap();
    assert!(market.rows(merchant).await.is_empty());
}

#[tokio::test]
async fn a_store_that_its_owner_closes_for_a_while_is_scored_meanwhile() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    market
        .execute(
            "UPDATE store SET status = 'closed', owner_status = 'closed', status_by_owner = true",
        )
        .await;
    market.compute().await;
    assert_eq!(market.rows(merchant).await.len(), 1);
}

#[tokio::test]
async fn standings_that_nobody_computes_are_counted_after_twelve_hours() {
    let market = Market::open().await;
    for number in 1..=3 {
        let merchant = market.store(number).await;
        market.set_good(merchant, 9).await;
    }
    market.compute().await;
    let platform = Reading::for_platform(market.database());
    let old = async || {
        let old = trust::old_standings(&platform).await.unwrap();
        let counts = trust::status(&platform).await.unwrap().counts.unwrap();
        assert_eq!(counts.old_standings, old);
        old
    };
    market.execute("UPDATE store SET status = 'closed' WHERE slug = 'store-3'").await;
    market.advance(EPOCH * 2);
    assert_eq!(old().await, 0);
    market.advance(Duration::from_secs(1));
    assert_eq!(old().await, 2, "a store that is closed is not scored");
    market.compute().await;
    assert_eq!(old().await, 0);
    let status = trust::status(&platform).await.unwrap();
    assert_eq!(status.newest_methodology, Some(MethodologyVersion::V20));
}

#[tokio::test]
async fn the_job_computes_what_is_due_and_creates_partitions_ahead() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    // Years after the last partition of the migrations.
    market.advance(Duration::from_hours(24 * 365 * 4));
    let settings = RunnerSettings::default();
    let runner = Runner::new(market.database().clone(), settings)
        .register::<RecomputeScores>(MethodologyVersion::V20);
    let mut work = Work::for_platform(market.database()).await.unwrap();
    jobs::enqueue(&mut work, &RecomputeScores::for_epoch(0)).await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(runner.run_until_idle().await.unwrap(), 1);
    let epoch = FIRST.0 + 4 * 365 * 4;
    assert_eq!(market.rows(merchant).await, [(epoch, 0)]);
    let partition = format!("trust_score_{}", (epoch + 4 * 365) / 120);
    let exists: bool = sqlx::query_scalar("SELECT to_regclass($1) IS NOT NULL")
        .bind(partition)
        .fetch_one(&mut market.test.raw().await)
        .await
        .unwrap();
    assert!(exists);
}

#[tokio::test]
async fn progress_resets_the_failures_of_the_job() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    market.compute().await;
    market.advance(EPOCH * 2);
    let mut work = Work::for_platform(market.database()).await.unwrap();
    jobs::enqueue(&mut work, &RecomputeScores::for_epoch(0)).await.unwrap();
    work.commit().await.unwrap();
    // The job failed before. Now it computes the newest epoch, and fails at the one before.
    let mut raw = market.test.raw().await;
    sqlx::query("UPDATE job SET attempts = 5").execute(&mut raw).await.unwrap();
    let broken = format!(
        "ALTER TABLE trust_epoch ADD CONSTRAINT broken CHECK (epoch <> {} OR position IS NULL)",
        FIRST.0 + 1
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(broken)).execute(&mut raw).await.unwrap();
    let runner = Runner::new(market.database().clone(), RunnerSettings::default())
        .register::<RecomputeScores>(MethodologyVersion::V20);
    assert_eq!(runner.run_until_idle().await.unwrap(), 1);
    let position = "SELECT position IS NOT NULL FROM trust_epoch ORDER BY epoch";
    let done: Vec<bool> = sqlx::query_scalar(position).fetch_all(&mut raw).await.unwrap();
    assert_eq!(done, [true, false, true]);
    let attempts: i32 =
        sqlx::query_scalar("SELECT attempts FROM job").fetch_one(&mut raw).await.unwrap();
    assert_eq!(attempts, 1, "the failure of this run");
}

#[tokio::test]
async fn all_scores_are_computed_again_on_request() {
    let market = Market::open().await;
    let merchants = spread(&market, 7).await;
    let in_force = MethodologyVersion::V20;
    for _ in 0..2 {
        let all = trust::recompute_all(market.database(), in_force).await.unwrap();
        assert_eq!((all.scores, all.failed), (7, Vec::new()));
    }
    for merchant in merchants {
        assert_eq!(market.rows(merchant).await, [(FIRST.0, 0), (FIRST.0, 1)]);
    }
}
