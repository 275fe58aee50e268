//! Recording the outcome of a charge.

use std::time::Duration;

use payments::{ChargeOutcome, Payment, PaymentStatus};
use primitives::{Id, PaymentId};

use crate::shop::{Shop, paid, session};

#[tokio::test]
async fn a_paid_and_a_declined_payment_are_stored_with_their_outcome() {
    let shop = Shop::open().await;
    let first = shop.create(session(1)).await.unwrap();
    shop.test.clock().advance(Duration::from_secs(1));
    assert!(shop.record(first.id, &ChargeOutcome::Declined).await);
    let second = shop.create(session(1)).await.unwrap();
    shop.test.clock().advance(Duration::from_secs(1));
    assert!(shop.record(second.id, &paid("A-1")).await);
    insta::assert_json_snapshot!(shop.rows().await, @r#"
    [
      {
        "amount_minor": 2990,
        "begun_at": "2026-11-15T08:00:00+00:00",
        "checkout_id": "00000000-0000-0000-0000-000000000001",
        "currency": "EUR",
        "ended_at": "2026-11-15T08:00:01+00:00",
        "instrument": "test_approves",
        "merchant_id": "00000000-0000-0000-0000-000000000001",
        "provider": "test",
        "reference": null,
        "status": "declined"
      },
      {
        "amount_minor": 2990,
        "begun_at": "2026-11-15T08:00:01+00:00",
        "checkout_id": "00000000-0000-0000-0000-000000000001",
        "currency": "EUR",
        "ended_at": "2026-11-15T08:00:02+00:00",
        "instrument": "test_approves",
        "merchant_id": "00000000-0000-0000-0000-000000000001",
        "provider": "test",
        "reference": "A-1",
        "status": "paid"
      }
    ]
    "#);
}

#[tokio::test]
async fn only_a_paid_payment_is_found_as_paid() {
    let shop = Shop::open().await;
    let declined = shop.create(session(1)).await.unwrap();
    assert_eq!(shop.find_paid(session(1)).await.unwrap(), None, "a pending payment is not paid");
    shop.record(declined.id, &ChargeOutcome::Declined).await;
    assert_eq!(shop.find_paid(session(1)).await.unwrap(), None);
    let second = shop.create(session(1)).await.unwrap();
    shop.record(second.id, &paid("A-1")).await;
    let expected =
        Payment { status: PaymentStatus::Paid, reference: Some(String::from("A-1")), ..second };
    assert_eq!(shop.find_paid(session(1)).await.unwrap(), Some(expected));
    assert_eq!(shop.find_paid(session(2)).await.unwrap(), None);
}

#[tokio::test]
async fn a_second_outcome_changes_nothing() {
    let shop = Shop::open().await;
    let other = ChargeOutcome::Declined;
    for (first, later) in [
        (paid("A-1"), [paid("A-1"), paid("A-2"), other.clone()]),
        (other.clone(), [other, paid("A-1"), paid("A-2")]),
    ] {
        let checkout = session(if first == ChargeOutcome::Declined { 1 } else { 2 });
        let payment = shop.create(checkout).await.unwrap();
        assert!(shop.record(payment.id, &first).await);
        let before = shop.rows().await;
        shop.test.clock().advance(Duration::from_secs(1));
        for outcome in later {
            assert!(!shop.record(payment.id, &outcome).await, "{outcome:?} after {first:?}");
            assert_eq!(shop.rows().await, before);
        }
    }
}

#[tokio::test]
async fn of_two_concurrent_outcomes_one_is_recorded() {
    let shop = Shop::open().await;
    let payment = shop.create(session(1)).await.unwrap();
    let (one, two) = (paid("A-1"), ChargeOutcome::Declined);
    let (paid, declined) =
        tokio::join!(shop.record(payment.id, &one), shop.record(payment.id, &two));
    assert!(paid ^ declined);
    assert_eq!(shop.find_paid(session(1)).await.unwrap().is_some(), paid);
}

#[tokio::test]
async fn an_outcome_is_recorded_only_for_a_payment_of_the_store() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    let payment = shop.create(session(1)).await.unwrap();
    assert!(!shop.record_for(other, payment.id, &paid("A-1")).await);
    assert!(!shop.record(PaymentId::from_random(9), &paid("A-1")).await);
    assert_eq!(shop.all_pending().await, [(shop.merchant, payment)]);
}
