//! What follows from a score: standing, notices, events, alerts.

use database::{Reading, Work};
use merchants::{Band, NoticeKind};
use primitives::MerchantId;
use serde_json::{Value, json};
use trust::{Cause, MethodologyVersion, Shadow};

use crate::market::{EPOCH, Market};

/// Returns the bodies of the events of changed scores, the oldest first.
async fn bodies(market: &Market, merchant: MerchantId) -> Vec<Value> {
    let bodies: Vec<Vec<u8>> = sqlx::query_scalar(
        "SELECT stored.body FROM webhook_event AS event JOIN webhook_body AS stored USING (merchant_id, event_id)
         WHERE event.merchant_id = $1 AND event.kind = 'trust.score_changed' ORDER BY event.created_at",
    )
    .bind(merchant)
    .fetch_all(&mut market.test.raw().await)
    .await
    .unwrap();
    bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect()
}

async fn notices(market: &Market, merchant: MerchantId) -> Vec<(NoticeKind, Value)> {
    let page = merchants::notices(&market.reading(merchant), merchant, None, 9).await.unwrap();
    let notices = page.notices.into_iter().rev();
    notices.map(|notice| (notice.kind, Value::Object(notice.details))).collect()
}

#[tokio::test]
async fn a_low_score_suspends_a_store_and_says_why_until_it_is_mended() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 10).await;
    market.compute().await;
    assert_eq!(market.standing(merchant).await.band(), Some(Band::Restricted));
    assert!(notices(&market, merchant).await.is_empty());

    market.set_good(merchant, 0).await;
    market.advance(EPOCH);
    market.compute().await;
    let store = market.loaded(merchant).await;
    assert!(store.standing.is_suspended() && !store.is_listed() && store.admit().is_err());
    let told = notices(&market, merchant).await;
    let [(NoticeKind::TrustSuspended, details)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((&details["score"], &details["threshold"]), (&json!(0.0), &json!(0.2)));
    let lost: f64 = details["reasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["points_lost"].as_f64().unwrap())
        .sum();
    assert!((lost - 1.0).abs() < 0.001, "{details}");
    assert_eq!(details["reasons"][0]["component"], "catalog_completeness");
    assert!(details["reasons"][0]["remedy"].as_str().unwrap().contains("GTIN"));
    assert_eq!(details["ends"]["points_missing"], json!(0.2));
    assert!(details["ends"]["when"].as_str().unwrap().contains("0.20"), "{details}");
    // The end of the next epoch, not the minute of the store.
    assert_eq!(details["ends"]["next_computation_at"], "2026-11-16T00:00:00Z");

    market.set_good(merchant, 10).await;
    market.advance(EPOCH);
    market.compute().await;
    assert!(market.loaded(merchant).await.is_listed());
    let told = notices(&market, merchant).await;
    assert_eq!((told.len(), told[1].0), (2, NoticeKind::TrustReinstated));

    let events = bodies(&market, merchant).await;
    let said: Vec<(bool, bool)> = events
        .iter()
        .map(|body| {
            (body["previouslySuspended"].as_bool().unwrap(), body["suspended"].as_bool().unwrap())
        })
        .collect();
    assert_eq!(said, [(false, false), (false, true), (true, false)]);
    assert_eq!(
        (&events[0]["previousBand"], &events[0]["band"]),
        (&Value::Null, &"RESTRICTED".into())
    );
    assert_eq!(events[1]["merchantSlug"], "store-1");
    let ends = &events[1]["ends"];
    assert_eq!((&ends["when"], &ends["pointsMissing"]), (&details["ends"]["when"], &json!(0.2)));
    assert_eq!(ends["nextComputationAt"], details["ends"]["next_computation_at"]);
    assert!(events[0]["ends"].is_null() && events[2]["ends"].is_null());
    assert_eq!(events[1]["reasons"][0]["component"], "catalog_completeness");
    assert_eq!(market.events(merchant, "trust.score_changed").await, 3);
}

#[tokio::test]
async fn a_score_within_its_band_tells_nobody() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    for good in [10, 9, 10] {
        market.set_good(merchant, good).await;
        market.compute().await;
        market.advance(EPOCH);
    }
    assert_eq!(bodies(&market, merchant).await.len(), 1, "that of the first score");
    assert!(notices(&market, merchant).await.is_empty());
    // Each score reaches search, though.
    assert_eq!(market.events(merchant, "store.changed").await, 4);
}

#[tokio::test]
async fn nothing_is_told_of_a_score_that_is_rolled_back() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 0).await;
    let mut work = Work::for_platform(market.database()).await.unwrap();
    let in_force = MethodologyVersion::V20;
    trust::recompute(&mut work, merchant, Cause::Requested, in_force).await.unwrap();
    work.rollback().await.unwrap();
    assert!(market.rows(merchant).await.is_empty() && bodies(&market, merchant).await.is_empty());
    assert!(notices(&market, merchant).await.is_empty());
}

#[tokio::test]
async fn a_store_without_products_is_unscored() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_quality(merchant, 0, 0).await;
    market.compute().await;
    let latest = market.latest(merchant).await.unwrap();
    assert_eq!((latest.score, latest.components.len()), (None, 0));
    let standing = market.standing(merchant).await;
    assert!(standing.score.is_none() && standing.provisional);
    assert!(!standing.allows_agent_checkout() && !standing.is_suspended());
    assert!(bodies(&market, merchant).await.is_empty());
}

#[tokio::test]
async fn a_score_is_provisional_until_twenty_orders_were_delivered() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 10).await;
    for (delivered, provisional) in [(19, true), (20, false)] {
        market.set_delivered(merchant, delivered).await;
        market.compute().await;
        assert_eq!(market.standing(merchant).await.provisional, provisional, "{delivered}");
        assert_eq!(market.latest(merchant).await.unwrap().provisional, provisional);
        market.advance(EPOCH);
    }
}

#[tokio::test]
async fn a_suspended_store_that_withdraws_its_products_stays_suspended() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 0).await;
    market.compute().await;
    assert!(market.standing(merchant).await.is_suspended());
    market.set_quality(merchant, 0, 0).await;
    market.advance(EPOCH);
    market.compute().await;
    assert_eq!(market.latest(merchant).await.unwrap().score, None, "it is unscored");
    let standing = market.standing(merchant).await;
    assert!(standing.is_suspended() && standing.score == Some(0.0), "{standing:?}");
    assert_eq!(standing.computed_at, market.database().local_now());
    let told = notices(&market, merchant).await;
    assert_eq!((told.len(), told[0].0), (1, NoticeKind::TrustSuspended), "and nothing else");
    assert_eq!(bodies(&market, merchant).await.len(), 1);

    market.set_good(merchant, 10).await;
    market.advance(EPOCH);
    market.compute().await;
    assert!(!market.standing(merchant).await.is_suspended());
    assert_eq!(notices(&market, merchant).await[1].0, NoticeKind::TrustReinstated);
}

#[tokio::test]
async fn a_fast_gain_or_fall_is_an_alert_for_operators() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    for good in [5, 6, 10, 9, 0] {
        market.set_good(merchant, good).await;
        market.compute().await;
        market.advance(EPOCH);
    }
    let platform = Reading::for_platform(market.database());
    let alerts = trust::alerts(&platform, EPOCH * 9, 9).await.unwrap();
    let [fall, gain] = alerts.as_slice() else { panic!("{alerts:?}") };
    assert_eq!((gain.merchant, gain.slug.as_str()), (merchant, "store-1"));
    assert!((gain.change() - 0.4 * 17.0 / 36.0).abs() < 1e-9, "{gain:?}");
    assert!((fall.change() + 0.9 * 17.0 / 36.0).abs() < 1e-9, "{fall:?}");
    let mut work = Work::for_store(market.database(), merchant).await.unwrap();
    let hidden = sqlx::query("SELECT FROM trust_alert").execute(work.sql()).await;
    assert!(hidden.is_err(), "merchants do not see alerts");
}

#[tokio::test]
async fn one_flag_switches_the_methodology_in_force_and_both_are_kept() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 10).await;
    market.compute_by(MethodologyVersion::V20).await;
    let first = market.latest(merchant).await.unwrap();
    assert_eq!(market.standing(merchant).await.score, first.score);
    market.advance(EPOCH);
    market.compute_by(MethodologyVersion::V41).await;
    let second = market.latest(merchant).await.unwrap();
    let shadow = second.shadow.as_ref().unwrap().trust_score();
    assert!(shadow.is_some() && shadow != second.score, "{second:?}");
    assert_eq!(market.standing(merchant).await.score, shadow);
    assert_eq!(second.trust_score(), shadow);
    market.advance(EPOCH);
    market.compute_by(MethodologyVersion::V20).await;
    let third = market.latest(merchant).await.unwrap();
    assert_eq!(market.standing(merchant).await.score, third.score);
    let reading = Reading::for_platform(market.database());
    let compared = trust::compare(&reading, None, None, 9).await.unwrap();
    assert_eq!((compared.len(), compared[0].score), (1, third.score));
    let outline = |shadow: Option<&Shadow>| shadow.map(|it| (it.tier, it.score));
    assert_eq!(outline(compared[0].shadow.as_ref()), outline(third.shadow.as_ref()));
    assert!(third.shadow.is_some_and(|it| it.base.is_some() && !it.dimensions.is_empty()));
}

#[tokio::test]
async fn scores_of_the_demo_data_say_so() {
    let market = Market::open().await;
    let merchant = market.store(1).await;
    market.set_good(merchant, 10).await;
    let mut work = Work::for_platform(market.database()).await.unwrap();
    trust::mark_synthetic(&mut work, merchant).await.unwrap();
    work.commit().await.unwrap();
    market.compute().await;
    let latest = market.latest(merchant).await.unwrap();
    assert_eq!(latest.basis, trust::Basis::Demo);
    assert_eq!(latest.shadow.unwrap().score, None, "methodology 4.1.0 issues none");
}
