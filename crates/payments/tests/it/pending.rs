//! Finding payments whose outcome is unknown.

use std::time::Duration;

use database::{DatabaseError, Reading};
use payments::ChargeOutcome;

use crate::shop::{Shop, TOTAL, paid, session};

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
    assert_eq!(shop.find_pending(now, 2).await.unwrap(), expected[..2]);
    let reading = Reading::for_platform(shop.test.database());
    let pages = reading
        .run(async |sql| {
            let first = payments::find_pending(sql, now, None, 1).await?;
            let after = first.last().map(|(_, id, at)| (*at, *id));
            Ok::<_, DatabaseError>((first, payments::find_pending(sql, now, after, 9).await?))
        })
        .await
        .unwrap();
    assert_eq!((pages.0.len(), pages.1.len()), (1, 2), "a page starts after the last one");
}

#[tokio::test]
async fn a_payment_is_found_only_if_it_was_created_before_the_timestamp() {
    let shop = Shop::open().await;
    let created_at = shop.test.database().local_now();
    shop.create(session(1)).await.unwrap();
    assert_eq!(shop.find_pending(created_at, 10).await.unwrap(), []);
    let after = created_at.plus(Duration::from_micros(1));
    assert_eq!(shop.find_pending(after, 10).await.unwrap().len(), 1);
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
