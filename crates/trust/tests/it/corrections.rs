//! Scores outside of the schedule: corrections, and the first one of a store.

use std::time::Duration;

use database::Work;
use orders::CancelReason;
use trust::{Cause, Computation, Epoch, MethodologyVersion};

use crate::purchases::{DAY, Purchases, key};

const MARKED: &str = "SELECT count(*) FROM trust_recomputation";
const MINUTE: Duration = Duration::from_mins(1);

/// A store with a purchase of a settled day, and a score that counted it. All facts of before the first epoch are counted.
async fn scored() -> (Purchases, Computation) {
    let shop = Purchases::open().await;
    shop.compute().await;
    shop.list_products(9).await;
    shop.buy(1, key(1, 1)).await;
    shop.settle().await;
    assert_eq!(shop.count(MARKED).await, 0, "the day does not count yet");
    shop.advance(2 * DAY);
    shop.roll_up().await;
    let first = shop.recompute().await;
    (shop, first)
}

fn revisions(causes: &[&str]) -> Vec<(i32, String)> {
    (0..).zip(causes.iter().map(|cause| String::from(*cause))).collect()
}

#[tokio::test]
async fn a_settled_day_that_changes_corrects_the_score_of_the_epoch() {
    let (shop, first) = scored().await;
    // What the store changed since counts in the next epoch.
    shop.list_products(1).await;
    shop.cancel(1, None, CancelReason::OutOfStock).await;
    shop.settle().await;
    assert_eq!(shop.count(MARKED).await, 1);
    shop.correct().await;
    assert_eq!(shop.revisions().await, revisions(&["requested"]), "changes are collected");
    shop.advance(MINUTE);
    shop.correct().await;
    assert_eq!(shop.revisions().await, revisions(&["requested", "correction"]));
    let corrected = shop.latest().await;
    assert_eq!((corrected.revision, corrected.cause), (1, Cause::Correction));
    assert_eq!(corrected.components, first.components, "those of the catalog are as before");
    assert_ne!(corrected.evidence_hash, first.evidence_hash);
    let reading = shop.reading(shop.merchant);
    let record = trust::evidence_record(&reading, shop.merchant).await.unwrap();
    assert_eq!(trust::evidence_hash(&record.evidence).unwrap(), corrected.evidence_hash.unwrap());
    let kept: u32 = record.evidence.days.iter().map(|row| row.counts.kept).sum();
    assert_eq!((kept, record.evidence.state.complete), (0, 9));
    assert_eq!(shop.count(MARKED).await, 0);
    shop.advance(MINUTE);
    shop.correct().await;
    assert_eq!(shop.revisions().await.len(), 2, "nothing has changed since");
}

#[tokio::test]
async fn a_rebuild_that_changes_what_a_score_counted_corrects_it() {
    let (shop, right) = scored().await;
    shop.execute("UPDATE trust_agent_day SET started = started + 1 WHERE day = '2026-11-15'").await;
    let wrong = shop.recompute().await;
    assert_ne!(wrong.evidence_hash, right.evidence_hash);
    assert_eq!(trust::rebuild(shop.database(), shop.merchant).await.unwrap().changed, 1);
    shop.advance(MINUTE);
    shop.correct().await;
    assert_eq!(shop.revisions().await, revisions(&["requested", "requested", "correction"]));
    assert_eq!(shop.latest().await.evidence_hash, right.evidence_hash);

    // A rebuild that changes nothing corrects nothing.
    trust::rebuild(shop.database(), shop.merchant).await.unwrap();
    assert_eq!(shop.count(MARKED).await, 0);
}

/// Waits until a statement waits for a lock.
async fn until_blocked(shop: &Purchases) {
    let blocked = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    for _ in 0..400 {
        if shop.count(blocked).await > 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("no statement waits for a lock");
}

#[tokio::test]
async fn a_correction_from_older_evidence_follows_no_newer_score() {
    let (shop, _) = scored().await;
    shop.cancel(1, None, CancelReason::OutOfStock).await;
    shop.settle().await;
    shop.advance(MINUTE);
    // The correction has read its evidence when it waits for the standing.
    let mut work = Work::for_platform(shop.database()).await.unwrap();
    merchants::lock_standings(&mut work, &[shop.merchant]).await.unwrap();
    let newer = async {
        until_blocked(&shop).await;
        shop.execute("UPDATE trust_agent_day SET started = started + 1").await;
        let (cause, in_force) = (Cause::Requested, MethodologyVersion::V20);
        let newer = trust::recompute(&mut work, shop.merchant, cause, in_force).await.unwrap();
        work.commit().await.unwrap();
        newer
    };
    let ((), newer) = tokio::join!(shop.correct(), newer);
    assert_eq!(shop.revisions().await, revisions(&["requested", "requested"]));
    assert_eq!(shop.latest().await.evidence_hash, newer.evidence_hash);
    assert_eq!(shop.count(MARKED).await, 0, "the newer score has the days of now");
}

#[tokio::test]
async fn a_mark_during_a_computation_is_not_lost() {
    let (shop, _) = scored().await;
    shop.cancel(1, None, CancelReason::OutOfStock).await;
    shop.settle().await;
    shop.advance(MINUTE);
    let mut raw = shop.test.raw().await;
    let mark = "BEGIN; UPDATE trust_recomputation SET mark = gen_random_uuid()";
    sqlx::raw_sql(mark).execute(&mut raw).await.unwrap();
    let marked = async {
        until_blocked(&shop).await;
        sqlx::raw_sql("COMMIT").execute(&mut raw).await.unwrap();
    };
    tokio::join!(shop.correct(), marked);
    assert_eq!(shop.revisions().await, revisions(&["requested", "correction"]));
    assert_eq!(shop.count(MARKED).await, 1);
    shop.advance(MINUTE);
    shop.correct().await;
    assert_eq!((shop.revisions().await.len(), shop.count(MARKED).await), (2, 0));
}

#[tokio::test]
async fn a_day_that_was_counted_late_is_in_the_next_score_without_a_correction() {
    let (shop, _) = scored().await;
    shop.cancel(1, None, CancelReason::OutOfStock).await;
    shop.settle().await;
    // The epoch ends before the correction, and the store has no score of the next one.
    shop.advance(Duration::from_hours(6));
    shop.correct().await;
    assert_eq!((shop.revisions().await, shop.count(MARKED).await), (Vec::new(), 0));
}

#[tokio::test]
async fn a_score_that_is_being_computed_is_corrected_afterwards() {
    let (shop, _) = scored().await;
    shop.cancel(1, None, CancelReason::OutOfStock).await;
    shop.settle().await;
    // The next epoch is open, all its slots are due, and its scores may have been computed from the former days.
    let open = "INSERT INTO trust_epoch (epoch, order_key, opened_at, updated_at)
                VALUES (83098, '00000000-0000-0000-0000-000000000000', '2026-11-17', '2026-11-17')";
    shop.execute(open).await;
    shop.advance(Duration::from_hours(9) + Duration::from_mins(59));
    assert_eq!(Epoch::of(shop.database().local_now()).0, 83_098);
    shop.correct().await;
    assert_eq!((shop.revisions().await.len(), shop.count(MARKED).await), (0, 1));
    shop.execute("UPDATE trust_epoch SET position = 'ffffffff-ffff-ffff-ffff-ffffffffffff'").await;
    shop.execute("UPDATE trust_recomputation SET due_at = '2026-11-17'").await;
    shop.correct().await;
    assert_eq!((shop.revisions().await.len(), shop.count(MARKED).await), (0, 0));
}

#[tokio::test]
async fn a_store_has_its_first_score_soon_after_its_first_products() {
    let shop = Purchases::open().await;
    shop.compute().await;
    let filled = async || {
        let mut work = Work::for_store(shop.database(), shop.merchant).await.unwrap();
        shop.publish(&mut work, "catalog.filled", shop.merchant.uuid()).await;
        work.commit().await.unwrap();
        shop.follow().await;
        shop.advance(MINUTE);
        shop.correct().await;
    };
    shop.list_products(9).await;
    filled().await;
    assert_eq!(shop.revisions().await, revisions(&["requested"]));
    let store = merchants::store(&shop.reading(shop.merchant), shop.merchant).await.unwrap();
    assert_eq!(store.standing.score, shop.latest().await.score);
    assert!(store.standing.score.is_some());

    // A store that had a score does not choose when it is computed again.
    shop.list_products(10).await;
    filled().await;
    assert_eq!(shop.revisions().await, revisions(&["requested"]));
}

#[tokio::test]
async fn nothing_is_corrected_before_the_facts_of_before_are_counted() {
    let shop = Purchases::open().await;
    shop.list_products(9).await;
    let mark =
        "INSERT INTO trust_recomputation SELECT merchant_id, '2026-11-15', merchant_id FROM store";
    shop.execute(mark).await;
    shop.correct().await;
    assert_eq!((shop.revisions().await.len(), shop.count(MARKED).await), (0, 1));
    shop.execute("UPDATE trust_backfill SET completed_at = '2026-11-15'").await;
    shop.advance(MINUTE);
    shop.correct().await;
    assert_eq!((shop.revisions().await.len(), shop.count(MARKED).await), (1, 0));
}
