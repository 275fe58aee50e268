//! Scores every six hours: each store once in each epoch.

use std::time::Duration;

use database::Work;
use jobs::{Runner, RunnerSettings, Scheduled};
use primitives::{Id, MerchantId};
use trust::{Cause, MethodologyVersion, RecomputeScores, TrustError, compute_due};

use crate::market::{EPOCH, FIRST, Market};

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
    for hours in [0, 2, 2] {
        market.advance(Duration::from_hours(hours) - Duration::from_secs(hours.min(1)));
        let runs = [(); 3].map(|()| {
            let database = market.database().clone();
            tokio::spawn(async move { compute_due(&database, MethodologyVersion::V20).await })
        });
        for run in runs {
            assert!(run.await.unwrap().unwrap());
        }
    }
    for merchant in merchants {
        assert_eq!(market.rows(merchant).await, [(FIRST.0, 0)], "{merchant}");
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
    // Two of six hours have passed. The slots of the stores are 0, 59, 119, 179 and so on.
    market.compute().await;
    assert_eq!(scored().await, 3);
    market.advance(Duration::from_mins(58));
    market.compute().await;
    assert_eq!(scored().await, 3);
    market.advance(Duration::from_mins(1));
    market.compute().await;
    assert_eq!(scored().await, 4);
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

    // At most seven days are made up for.
    market.advance(EPOCH * 40);
    market.compute().await;
    let rows = market.rows(merchant).await;
    let made_up: Vec<(i64, i32)> = (FIRST.0 + 17..=FIRST.0 + 45).map(|epoch| (epoch, 0)).collect();
    assert_eq!(rows[6..], made_up[..]);
}

async fn lag(market: &Market) -> f64 {
    let platform = database::Reading::for_platform(market.database());
    trust::lag_seconds(&platform).await.unwrap()
}

#[tokio::test]
async fn a_score_of_the_last_slots_counts_although_its_epoch_has_just_ended() {
    let market = Market::open().await;
    let merchant = market.store_with_id("last", MerchantId::from_random(u128::MAX - 1)).await;
    market.set_good(merchant, 9).await;
    market.compute().await;
    assert!(market.rows(merchant).await.is_empty());
    // Ten minutes after the end of the epoch.
    market.advance(Duration::from_mins(4 * 60 + 10));
    market.compute().await;
    assert_eq!(market.rows(merchant).await, [(FIRST.0, 0)]);
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
    assert_eq!(trust::recompute_all(market.database(), in_force).await.unwrap(), 0);
    let mut work = Work::for_platform(market.database()).await.unwrap();
    let refused = trust::recompute(&mut work, merchant, Cause::Requested, in_force).await;
    assert!(matches!(refused, Err(TrustError::NoFigures)), "{refused:?}");
    work.rollback().await.unwrap();
    assert!(market.rows(merchant).await.is_empty());
    assert_eq!(market.standing(merchant).await, before);
    let platform = database::Reading::for_platform(market.database());
    assert_eq!(trust::stores_after(&platform, None).await.unwrap(), [merchant]);

    market.set_good(merchant, 9).await;
    market.advance(EPOCH);
    market.compute().await;
    assert_eq!(market.rows(merchant).await, [(FIRST.0 + 1, 0)]);
    assert!(market.standing(merchant).await.score.is_some());
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
    // The job failed before. Now it computes an epoch, and fails at the next one.
    let mut raw = market.test.raw().await;
    sqlx::query("UPDATE job SET attempts = 5").execute(&mut raw).await.unwrap();
    let broken = format!(
        "ALTER TABLE trust_epoch ADD CONSTRAINT broken CHECK (epoch <> {} OR position IS NULL)",
        FIRST.0 + 2
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(broken)).execute(&mut raw).await.unwrap();
    let runner = Runner::new(market.database().clone(), RunnerSettings::default())
        .register::<RecomputeScores>(MethodologyVersion::V20);
    assert_eq!(runner.run_until_idle().await.unwrap(), 1);
    let position = "SELECT position IS NOT NULL FROM trust_epoch ORDER BY epoch";
    let done: Vec<bool> = sqlx::query_scalar(position).fetch_all(&mut raw).await.unwrap();
    assert_eq!(done, [true, true, false]);
    let attempts: i32 =
        sqlx::query_scalar("SELECT attempts FROM job").fetch_one(&mut raw).await.unwrap();
    assert_eq!(attempts, 1, "the failure of this run");
}

#[tokio::test]
async fn all_scores_are_computed_again_on_request() {
    let market = Market::open().await;
    let merchants = spread(&market, 7).await;
    let in_force = MethodologyVersion::V20;
    assert_eq!(trust::recompute_all(market.database(), in_force).await.unwrap(), 7);
    assert_eq!(trust::recompute_all(market.database(), in_force).await.unwrap(), 7);
    for merchant in merchants {
        assert_eq!(market.rows(merchant).await, [(FIRST.0, 0), (FIRST.0, 1)]);
    }
}
