//! Facts of before the first epoch, which no event announces.

use std::time::Duration;

use database::{Reading, Work};
use primitives::{Id, MerchantId};
use testkit::StoreBuilder;
use trust::{Cause, FailureStage, MethodologyVersion, TrustError};

use crate::purchases::{DAY, Purchases, key, order};

/// To the last minute of an epoch, in which all slots are due.
const TO_LAST_MINUTE: Duration = Duration::from_mins(239);

/// Forgets the events, as if the facts had been written by a former version.
async fn forget(shop: &Purchases) {
    shop.execute("DELETE FROM outbox").await;
}

#[tokio::test]
async fn facts_of_before_an_upgrade_are_in_the_first_score() {
    let shop = Purchases::open().await;
    shop.list_products(9).await;
    for number in 1..=3 {
        shop.buy(number, key(1, 1)).await;
    }
    shop.ship(1).await;
    shop.deliver(1).await;
    forget(&shop).await;
    shop.advance(2 * DAY + TO_LAST_MINUTE);
    let platform = Reading::for_platform(shop.database());
    assert!(!trust::is_backfilled(&platform).await.unwrap());
    let before = trust::status(&platform).await.unwrap();
    assert!(!before.is_backfilled && before.slots_done == 0 && before.late_epochs == 0);
    shop.compute().await;
    assert!(trust::status(&platform).await.unwrap().is_backfilled);
    shop.check().await;
    let reading = shop.reading(shop.merchant);
    let evidence = trust::evidence_record(&reading, shop.merchant).await.unwrap().evidence;
    let orders: u32 = evidence.days.iter().map(|row| row.counts.orders).sum();
    assert_eq!((orders, evidence.delivered_total), (3, 1));
    assert_eq!(
        trust::evidence_hash(&evidence).unwrap(),
        shop.latest().await.evidence_hash.unwrap()
    );
    // Promised times that pass without an event are known as well.
    let waiting = "SELECT count(*) FROM trust_agent_day WHERE late > 0";
    assert_eq!(shop.count(waiting).await, 1);
}

#[tokio::test]
async fn orders_that_were_delivered_long_ago_count_as_delivered() {
    let shop = Purchases::open().await;
    shop.list_products(9).await;
    shop.buy(1, key(1, 1)).await;
    shop.ship(1).await;
    shop.deliver(1).await;
    forget(&shop).await;
    shop.advance(150 * DAY + TO_LAST_MINUTE);
    shop.compute().await;
    assert_eq!(shop.count("SELECT count(*) FROM trust_agent_day").await, 0);
    assert_eq!(shop.count("SELECT delivered FROM trust_tally").await, 1);
}

#[tokio::test]
async fn a_store_whose_facts_cannot_be_counted_is_not_scored_and_delays_no_other() {
    let shop = Purchases::open().await;
    let other = MerchantId::from_random(2);
    StoreBuilder::new("cellar").merchant(other).build(shop.database()).await;
    let mut work = Work::for_checkout(shop.database(), other).await.unwrap();
    let placed = order(9, key(2, 1), work.now());
    orders::place(&mut work, other, "cellar", &placed).await.unwrap();
    work.commit().await.unwrap();
    shop.buy(1, key(1, 1)).await;
    shop.list_products(9).await;
    shop.execute(
        "INSERT INTO catalog_quality
             (merchant_id, products, complete, consistent, missing_price, missing_image, missing_gtin, foreign_currency,
              contradicting_stock, shared_gtin, computed_at)
         SELECT '00000000-0000-0000-0000-000000000002', products, complete, consistent, 0, 0, 0, 0, 0, 0, computed_at
         FROM catalog_quality;
         ALTER TABLE trust_agent_day ADD CONSTRAINT broken
         CHECK (merchant_id <> '00000000-0000-0000-0000-000000000002')",
    )
    .await;
    forget(&shop).await;
    shop.advance(2 * DAY + TO_LAST_MINUTE);
    shop.compute().await;
    let platform = Reading::for_platform(shop.database());
    assert!(trust::is_backfilled(&platform).await.unwrap());
    let failures = trust::failures(&platform, 9).await.unwrap();
    let [failure] = failures.as_slice() else { panic!("{failures:?}") };
    assert_eq!((failure.merchant, failure.stage), (other, FailureStage::Count));
    let scored = "SELECT count(*) FROM trust_score";
    assert_eq!(shop.count(scored).await, 1);

    shop.execute("ALTER TABLE trust_agent_day DROP CONSTRAINT broken").await;
    trust::rebuild(shop.database(), other).await.unwrap();
    assert_eq!(trust::failures(&platform, 9).await.unwrap(), []);
    shop.advance(Duration::from_hours(6));
    shop.compute().await;
    assert_eq!(shop.count(scored).await, 3);
}

#[tokio::test]
async fn facts_that_could_not_be_counted_are_counted_again_ever_later() {
    let minute = Duration::from_mins(1);
    let shop = Purchases::open().await;
    shop.list_products(9).await;
    shop.buy(1, key(1, 1)).await;
    forget(&shop).await;
    shop.execute("ALTER TABLE trust_agent_day ADD CONSTRAINT broken CHECK (started = 0)").await;
    shop.advance(2 * DAY + TO_LAST_MINUTE);
    shop.compute().await;
    let platform = Reading::for_platform(shop.database());
    let failure = async || {
        let failures = trust::failures(&platform, 9).await.unwrap();
        failures.first().map(|it| (it.attempts, it.retry_at.unwrap().since(it.failed_at)))
    };
    assert_eq!(failure().await, Some((1, minute)));
    shop.recount().await;
    assert_eq!(failure().await, Some((1, minute)), "it is not time yet");

    // Nor is it scored on request, or by a correction.
    let mut work = Work::for_platform(shop.database()).await.unwrap();
    let (merchant, in_force) = (shop.merchant, MethodologyVersion::V20);
    let refused = trust::recompute(&mut work, merchant, Cause::Requested, in_force).await;
    assert!(matches!(refused, Err(TrustError::NotCounted)), "{refused:?}");
    work.rollback().await.unwrap();
    let mark =
        "INSERT INTO trust_recomputation SELECT merchant_id, '2026-11-15', merchant_id FROM store";
    shop.execute(mark).await;
    shop.correct().await;
    let scored = "SELECT count(*) FROM trust_score";
    assert_eq!(shop.count(scored).await, 0);

    shop.advance(minute);
    shop.recount().await;
    assert_eq!(failure().await, Some((2, 2 * minute)));
    shop.execute("ALTER TABLE trust_agent_day DROP CONSTRAINT broken").await;
    shop.advance(2 * minute);
    shop.recount().await;
    assert_eq!(failure().await, None);
    shop.check().await;
    // Its first score does not wait for the next epoch.
    shop.advance(minute);
    shop.correct().await;
    assert_eq!(shop.count(scored).await, 1);
}

#[tokio::test]
async fn a_request_computes_the_figures_and_counts_the_facts_that_its_score_needs() {
    let shop = Purchases::open().await;
    shop.buy(1, key(1, 1)).await;
    forget(&shop).await;
    shop.advance(2 * DAY);
    let recompute = async || {
        let in_force = MethodologyVersion::V20;
        trust::recompute_store(shop.database(), shop.merchant, in_force).await.unwrap()
    };
    let first = recompute().await;
    assert_eq!((first.revision, first.cause, first.score), (0, Cause::Requested, None));
    assert_eq!(shop.count("SELECT count(*) FROM catalog_quality").await, 1);
    assert_eq!(shop.count("SELECT count(*) FROM trust_agent_day WHERE started > 0").await, 1);
    shop.check().await;
    let again = recompute().await;
    assert_eq!((again.revision, &again.evidence_hash), (1, &first.evidence_hash));
    assert_eq!(shop.latest().await.revision, 1);
}
