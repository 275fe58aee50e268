//! Stored scores: append-only, by epoch and revision.

use std::collections::BTreeMap;

use database::Work;
use primitives::{Id, MerchantId, Timestamp};
use testkit::START;
use trust::{Basis, Cause, Component, Computation, Epoch};

use crate::market::{EPOCH, FIRST, Market};

fn computation(epochs_ago: i64, value: f64) -> Computation {
    let at = Timestamp::from_unix_micros(START - epochs_ago * 21_600_000_000);
    let components = BTreeMap::from([(Component::PriceAccuracy, value)]);
    Computation::demo(at, Computation::weighted_sum(&components), false, components)
}

async fn append(market: &Market, merchant: MerchantId, computations: &[Computation]) {
    let mut work = Work::for_platform(market.database()).await.unwrap();
    for computation in computations {
        trust::append(&mut work, merchant, computation).await.unwrap();
    }
    work.commit().await.unwrap();
}

#[tokio::test]
async fn a_history_is_appended_to_and_never_changed() {
    let market = Market::open().await;
    let (one, two) = (MerchantId::from_random(1), MerchantId::from_random(2));
    let given = [computation(2, 0.5), computation(1, 0.75), computation(1, 0.1)];
    append(&market, one, &given).await;
    append(&market, two, &[computation(0, 0.2)]).await;

    let reading = market.reading(one);
    let past = trust::history(&reading, one, None, None).await.unwrap();
    assert_eq!(past, [computation(1, 0.75), computation(2, 0.5)]);
    assert_eq!(market.latest(one).await, Some(computation(1, 0.75)));
    assert_eq!(trust::latest(&reading, two).await.unwrap(), None, "it belongs to another store");
    let until = Some(computation(2, 0.5).computed_at);
    let early = trust::history(&reading, one, None, until).await.unwrap();
    assert_eq!(early, [computation(2, 0.5)]);
    let since = Some(computation(1, 0.75).computed_at);
    let late = trust::history(&reading, one, since, None).await.unwrap();
    assert_eq!(late, [computation(1, 0.75)]);

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
async fn a_score_of_long_ago_is_still_the_latest() {
    let market = Market::open().await;
    let merchant = MerchantId::from_random(1);
    append(&market, merchant, &[computation(700, 0.5)]).await;
    assert_eq!(market.latest(merchant).await, Some(computation(700, 0.5)));
}

#[tokio::test]
async fn a_thinned_history_has_the_newest_score_of_equal_parts() {
    let market = Market::open().await;
    let merchant = MerchantId::from_random(1);
    let all: Vec<Computation> = (0..90).map(|ago| computation(ago * 4, 0.5)).collect();
    append(&market, merchant, &all).await;
    let reading = market.reading(merchant);
    let thinned = async |points| {
        let found = trust::thinned_history(&reading, merchant, None, None, points).await.unwrap();
        found.iter().map(|it| FIRST.0 - it.epoch.0).collect::<Vec<i64>>()
    };
    let ten = thinned(10).await;
    assert_eq!((ten.len(), ten[0]), (10, 0));
    assert!(ten.is_sorted() && ten[9] >= 320, "{ten:?}");
    assert_eq!(thinned(1).await, [0]);
    assert_eq!(thinned(1_000).await.len(), 90);
    let from = Some(computation(8, 0.5).computed_at);
    let recent = trust::thinned_history(&reading, merchant, from, None, 50).await.unwrap();
    assert_eq!(recent.len(), 3);
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
    let reading = market.reading(merchant);
    let past = trust::history(&reading, merchant, None, None).await.unwrap();
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

    let reading = market.reading(merchant);
    let past = trust::history(&reading, merchant, None, None).await.unwrap();
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
    market.advance(EPOCH * 2);
    append(&market, merchant, &[computation(-2, 0.5)]).await;
    assert_eq!(market.latest(merchant).await, Some(computation(-2, 0.5)));
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
    let hash = trust::evidence_hash(&record.evidence).unwrap();
    assert_eq!(Some(hash), latest.evidence_hash);
    assert_eq!(trust::score(&record.evidence).values(), latest.components);
    assert_eq!(latest.figures.len(), latest.components.len());
    assert!(latest.shadow.is_some());
    let now = trust::evidence_of(&market.reading(merchant), merchant, FIRST).await.unwrap();
    assert_eq!((now.state.complete, now.epoch), (1, FIRST));
}
