//! Finding payments about which their provider is to be asked.

use std::time::Duration;

use database::{DatabaseError, Reading};
use payments::{ChargeOutcome, ProviderPage, check_delay};

use crate::shop::{PAYABLE, Shop, TOTAL, paid, session};

#[tokio::test]
async fn pending_payments_of_all_stores_are_found_the_oldest_first() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    let mut expected = Vec::new();
    for (number, merchant) in [(3, shop.merchant), (1, other), (2, shop.merchant)] {
        let payment = shop.create_for(merchant, session(number), TOTAL).await.unwrap();
        expected.push((merchant, payment));
        shop.test.clock().advance(Duration::from_secs(1));
    }
    assert_eq!(shop.all_pending().await, expected);
    let now = shop.test.database().local_now();
    let now = now.plus(Duration::from_mins(1));
    assert_eq!(shop.find_due(now, 2).await.unwrap(), expected[..2]);
    let reading = Reading::for_platform(shop.test.database());
    let pages = reading
        .run(async |sql| {
            let first = payments::find_due(sql, now, None, 1).await?;
            let after = first.last().map(|(_, id, at)| (*at, *id));
            Ok::<_, DatabaseError>((first, payments::find_due(sql, now, after, 9).await?))
        })
        .await
        .unwrap();
    assert_eq!((pages.0.len(), pages.1.len()), (1, 2), "a page starts after the last one");
}

#[tokio::test]
async fn a_provider_is_asked_at_growing_intervals_and_at_the_end() {
    let shop = Shop::open().await;
    let begun_at = shop.test.database().local_now();
    let payment = shop.create(session(1)).await.unwrap();
    let mut due_at = begun_at.plus(check_delay(0));
    for count in 1..7 {
        let before = due_at.minus(Duration::from_micros(1));
        assert_eq!(shop.find_due(before, 10).await.unwrap(), [], "question {count}");
        assert_eq!(shop.find_due(due_at, 10).await.unwrap().len(), 1, "question {count}");
        let now = shop.test.database().local_now();
        shop.test.clock().advance(due_at.since(now));
        let current = shop.find(payment.id).await;
        // Two runs that overlap count once.
        for _ in 0..2 {
            let mut work = shop.work(shop.merchant).await;
            payments::schedule_check(&mut work, &current).await.unwrap();
            work.commit().await.unwrap();
        }
        assert_eq!(shop.find(payment.id).await.check_count, count);
        due_at = due_at.plus(check_delay(count));
        // 30 seconds, a minute and so on: the sixth question would come after the end.
        if count == 5 {
            due_at = begun_at.plus(PAYABLE);
        }
    }
}

#[tokio::test]
async fn a_payment_that_was_at_its_provider_is_compared_once_more() {
    let shop = Shop::open().await;
    let payment = shop.create(session(1)).await.unwrap();
    let mut work = shop.work(shop.merchant).await;
    let page = ProviderPage { reference: String::from("cs_1"), url: String::from("https://a") };
    payments::record_page(&mut work, &payment, &page).await.unwrap();
    work.commit().await.unwrap();
    assert!(shop.record(payment.id, &paid("A-1")).await);
    let compared_at = shop.test.database().local_now().plus(Duration::from_hours(24));
    let before = compared_at.minus(Duration::from_micros(1));
    assert_eq!(shop.find_due(before, 10).await.unwrap(), []);
    let due = shop.find_due(compared_at, 10).await.unwrap();
    let [(_, paid)] = &due[..] else { panic!("{due:?}") };
    let mut work = shop.work(shop.merchant).await;
    payments::end_checks(&mut work, paid).await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(shop.find_due(compared_at, 10).await.unwrap(), []);
}

#[tokio::test]
async fn a_payment_of_the_previous_release_is_due_at_once() {
    let shop = Shop::open().await;
    shop.create(session(1)).await.unwrap();
    shop.execute("UPDATE payment SET next_check_at = NULL, expires_at = NULL").await.unwrap();
    let now = shop.test.database().local_now();
    assert_eq!(shop.find_due(now, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_payment_is_stuck_once_its_buyer_cannot_pay() {
    let shop = Shop::open().await;
    let stuck = async || {
        let now = shop.test.database().local_now();
        let reading = Reading::for_platform(shop.test.database());
        reading.run(async |sql| payments::find_stuck(sql, now, 10).await).await.unwrap().len()
    };
    shop.create(session(1)).await.unwrap();
    let open = shop.create(session(2)).await.unwrap();
    let mut work = shop.work(shop.merchant).await;
    let page = ProviderPage { reference: String::from("cs_1"), url: String::from("https://a") };
    payments::record_page(&mut work, &open, &page).await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(stuck().await, 0);
    shop.test.clock().advance(Duration::from_secs(1));
    assert_eq!(stuck().await, 1, "the provider has not answered");
    shop.test.clock().advance(PAYABLE);
    assert_eq!(stuck().await, 2, "the buyer cannot pay any more");
}

#[tokio::test]
async fn a_payment_with_an_outcome_is_not_pending() {
    let shop = Shop::open().await;
    for (number, outcome) in [(1, paid("A-1")), (2, ChargeOutcome::Declined)] {
        let payment = shop.create(session(number)).await.unwrap();
        assert!(shop.record(payment.id, &outcome).await);
    }
    assert_eq!(shop.all_pending().await, []);
}
