//! Stored scores: append-only, by epoch and revision.

use database::Work;
use primitives::{Id, MerchantId};
use trust::{Basis, Cause, Component, Epoch, HistoryRecord, ScoreRecord};

use crate::market::{EPOCH, FIRST, Market};

fn ago(epochs: i64) -> Epoch {
    Epoch(FIRST.0 - epochs)
}

#[tokio::test]
async fn a_history_is_appended_to_and_never_changed() {
    let market = Market::open().await;
    let (one, two) = (MerchantId::from_random(1), MerchantId::from_random(2));
    market.append(one, ago(2), 0.5).await;
    market.append(one, ago(1), 0.75).await;
    market.append(two, ago(0), 0.2).await;

    let scores = |from, to| {
        let reading = market.reading(one);
        async move {
            let past = trust::thinned_history(&reading, one, from, to, 9).await.unwrap();
            past.iter().map(|it| (it.epoch, it.score)).collect::<Vec<_>>()
        }
    };
    let (older, newer) = ((ago(2), Some(0.5)), (ago(1), Some(0.75)));
    assert_eq!(scores(None, None).await, [newer, older]);
    assert_eq!(scores(None, Some(ago(2).as_of())).await, [older]);
    assert_eq!(scores(Some(ago(1).as_of()), None).await, [newer]);
    let latest = market.latest(one).await.unwrap();
    assert_eq!((latest.epoch, latest.basis, latest.cause), (ago(1), Basis::Demo, Cause::Demo));
    assert_eq!(latest.components.get(&Component::PriceAccuracy), Some(&0.75));
    let reading = market.reading(one);
    assert_eq!(trust::latest(&reading, two).await.unwrap(), None, "it belongs to another store");

    for statement in [
        "UPDATE trust_score SET score = 1",
        "DELETE FROM trust_score",
        "TRUNCATE trust_score",
        "INSERT INTO trust_score_692 SELECT * FROM trust_score",
    ] {
        let mut work = Work::for_platform(market.database()).await.unwrap();
        let refused = sqlx::query(statement).execute(work.sql()).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{statement}: {refused}");
    }
}

#[tokio::test]
async fn a_score_that_was_computed_late_is_in_the_history_at_the_time_of_its_epoch() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    market.compute().await;
    market.advance(EPOCH * 3);
    market.compute().await;
    let (first, last) = (FIRST.next(), FIRST.next().next());
    let reading = market.reading(merchant);
    let (from, to) = (Some(first.as_of()), Some(last.as_of()));
    let found = trust::thinned_history(&reading, merchant, from, to, 9).await.unwrap();
    let points = HistoryRecord::of(&market.loaded(merchant).await, &found).points;
    let times: Vec<_> = points.iter().map(|point| (point.as_of, point.computed_at)).collect();
    let now = market.database().local_now();
    assert_eq!(times, [(last.as_of(), now), (first.as_of(), now)]);
}

#[tokio::test]
async fn a_score_is_published_with_the_hash_of_its_evidence_or_said_to_be_a_former_one() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 10).await;
    market.compute().await;
    let before = market.loaded(merchant).await;
    market.set_good(merchant, 0).await;
    market.advance(EPOCH);
    market.compute().await;
    let suspended = market.loaded(merchant).await;
    let newest = market.latest(merchant).await.unwrap();
    assert_ne!(before.standing.score, newest.score);
    // Caches have stores as they were before.
    for store in [&before, &suspended] {
        let record = ScoreRecord::of(store, Some(&newest));
        assert_eq!((record.score, record.is_former), (newest.score, false));
        assert_eq!((record.label, record.computed_at), (newest.band(), newest.computed_at));
        assert_eq!(record.evidence_hash, newest.evidence_hash.as_ref().map(hex::encode));
    }

    market.set_quality(merchant, 0, 0).await;
    market.advance(EPOCH);
    market.compute().await;
    let newest = market.latest(merchant).await.unwrap();
    assert_eq!(newest.score, None);
    let after = market.loaded(merchant).await;
    for store in [&suspended, &after] {
        let record = ScoreRecord::of(store, Some(&newest));
        assert_eq!((record.score, record.is_former), (suspended.standing.score, true));
        assert_eq!((record.epoch, record.agent_checkout), (Some(newest.epoch), false));
    }
}

#[tokio::test]
async fn a_score_of_long_ago_is_still_the_latest() {
    let market = Market::open().await;
    let merchant = MerchantId::from_random(1);
    market.append(merchant, ago(700), 0.5).await;
    let latest = market.latest(merchant).await.unwrap();
    assert_eq!((latest.epoch, latest.score), (ago(700), Some(0.5)));
}

#[tokio::test]
async fn a_thinned_history_has_the_newest_score_of_equal_parts() {
    let market = Market::open().await;
    let (daily, dense) = (MerchantId::from_random(1), MerchantId::from_random(2));
    for day in 0..90 {
        market.append(daily, ago(day * 4), 0.5).await;
    }
    for epochs in 0..16 {
        market.append(dense, ago(epochs), 0.5).await;
    }
    let thinned = async |merchant, from, points| {
        let reading = market.reading(merchant);
        let found = trust::thinned_history(&reading, merchant, from, None, points).await.unwrap();
        found.iter().map(|it| FIRST.0 - it.epoch.0).collect::<Vec<i64>>()
    };
    let ten = thinned(daily, None, 10).await;
    assert_eq!((ten.len(), ten[0]), (10, 0));
    assert!(ten.is_sorted() && ten[9] >= 320, "{ten:?}");
    assert_eq!(thinned(daily, None, 1).await, [0]);
    assert_eq!(thinned(daily, None, 1_000).await.len(), 90);
    assert_eq!(thinned(daily, Some(ago(8).as_of()), 50).await, [0, 4, 8]);
    // As many as are asked for, also if there are only a few more.
    let all: Vec<i64> = (0..16).collect();
    assert_eq!(thinned(dense, None, 16).await, all);
    let fifteen = thinned(dense, None, 15).await;
    assert_eq!(fifteen, all.iter().copied().filter(|it| *it != 1).collect::<Vec<_>>());
    assert_eq!(thinned(dense, None, 9).await.len(), 9);
    assert_eq!(thinned(dense, None, 8).await, [0, 2, 4, 6, 8, 10, 12, 14]);
}

#[tokio::test]
async fn a_correction_is_a_revision_in_the_current_epoch() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 10).await;
    market.compute().await;
    let first = market.latest(merchant).await.unwrap();
    assert_eq!((first.epoch, first.revision, first.cause), (FIRST, 0, Cause::Scheduled));
    assert_eq!(first.basis, Basis::Computed);

    market.set_good(merchant, 8).await;
    let corrected = market.recompute(merchant, Cause::Correction).await;
    assert_eq!((corrected.epoch, corrected.revision), (FIRST, 1));
    assert!(corrected.score < first.score);
    let latest = market.latest(merchant).await.unwrap();
    assert_eq!((latest.revision, latest.cause), (1, Cause::Correction));
    assert_eq!((latest.score, &latest.components), (corrected.score, &corrected.components));
    assert_eq!(market.standing(merchant).await.score, corrected.score);

    // Also if it equals the former one; then nothing else happens.
    let events = market.events(merchant, "store.changed").await;
    let again = market.recompute(merchant, Cause::Requested).await;
    assert_eq!((again.revision, again.score), (2, corrected.score));
    assert_eq!(again.evidence_hash, corrected.evidence_hash);
    assert_eq!(market.events(merchant, "store.changed").await, events);

    market.advance(EPOCH);
    market.compute().await;
    let past = market.history(merchant).await;
    let points: Vec<(Epoch, i32)> = past.iter().map(|it| (it.epoch, it.revision)).collect();
    assert_eq!(points, [(FIRST.next(), 0), (FIRST, 2)], "the newest revision of each epoch");
}

#[tokio::test]
async fn a_requested_score_before_its_slot_is_the_first_of_its_epoch() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    let requested = market.recompute(merchant, Cause::Requested).await;
    assert_eq!(requested.revision, 0);
    market.compute().await;
    assert_eq!(market.rows(merchant).await, [(FIRST.0, 0)]);
}

#[tokio::test]
async fn only_the_newest_score_has_details() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 9).await;
    market.compute().await;
    let first = market.latest(merchant).await.unwrap();
    assert!(!first.figures.is_empty());
    market.advance(EPOCH);
    market.compute().await;
    let corrected = market.recompute(merchant, Cause::Correction).await;
    let latest = market.latest(merchant).await.unwrap();
    assert_eq!((latest.epoch, latest.revision), (FIRST.next(), 1));
    assert_eq!((latest.score, &latest.components), (corrected.score, &corrected.components));
    assert_eq!(latest.figures.len(), corrected.figures.len());
    assert!(latest.shadow.is_some_and(|it| it.base.is_some() && !it.dimensions.is_empty()));

    let past = market.history(merchant).await;
    assert!(past.iter().all(|it| it.figures.is_empty()));
    assert_eq!(past[1].components, first.components);
    let shadows: Vec<_> = past.iter().filter_map(|it| it.shadow.as_ref()).collect();
    assert!(shadows.iter().all(|it| it.score.is_some() && it.dimensions.is_empty()));
    let mut raw = market.test.raw().await;
    let details: Vec<(i64, i32)> = sqlx::query_as("SELECT epoch, revision FROM trust_detail")
        .fetch_all(&mut raw)
        .await
        .unwrap();
    assert_eq!(details, [(FIRST.0 + 1, 1)]);

    // A newer score that was not computed from evidence has none.
    market.advance(EPOCH);
    market.append(merchant, ago(-2), 0.5).await;
    let latest = market.latest(merchant).await.unwrap();
    assert_eq!((latest.epoch, latest.figures.len(), latest.shadow), (ago(-2), 0, None));
    let mut work = Work::for_store(market.database(), merchant).await.unwrap();
    let refused = sqlx::query("UPDATE trust_detail SET revision = 9").execute(work.sql()).await;
    assert!(refused.unwrap_err().to_string().contains("permission denied"));
}

#[tokio::test]
async fn a_stored_score_can_be_computed_again_from_its_evidence() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 7).await;
    market.compute().await;
    let latest = market.latest(merchant).await.unwrap();
    // The state of the store has changed since.
    market.set_good(merchant, 1).await;
    let record = trust::evidence_record(&market.reading(merchant), merchant).await.unwrap();
    assert_eq!((record.merchant_slug.as_str(), record.score), ("store-1", latest.score));
    assert_eq!((record.epoch, record.revision), (latest.epoch, Some(latest.revision)));
    assert!(record.is_unchanged && record.stored_score == latest.score);
    let hash = trust::evidence_hash(&record.evidence).unwrap();
    assert_eq!(Some(&hash), latest.evidence_hash.as_ref());
    assert_eq!(record.evidence_hash, Some(hex::encode(hash)));
    assert_eq!(trust::score(&record.evidence).values(), latest.components);
    assert_eq!(latest.figures.len(), latest.components.len());
    assert!(latest.shadow.is_some());
}

#[tokio::test]
async fn evidence_of_a_store_without_a_stored_score_is_that_of_now() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 7).await;
    let reading = market.reading(merchant);
    let now = trust::evidence_record(&reading, merchant).await.unwrap();
    assert_eq!((now.epoch, now.revision, now.evidence.state.complete), (FIRST, None, 7));
    assert!(!now.is_unchanged && now.evidence_hash.is_none() && now.stored_score.is_none());
    // A score that was not computed from evidence is no reason to claim any.
    market.append(merchant, ago(1), 0.5).await;
    let now = trust::evidence_record(&reading, merchant).await.unwrap();
    assert_eq!((now.epoch, now.revision, now.stored_score), (FIRST, None, None));
}
