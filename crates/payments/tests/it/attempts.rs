//! Payment attempts of a session: at most one is pending or paid.

use std::time::Duration;

use payments::{ChargeOutcome, Payment, PaymentError, PaymentStatus};
use primitives::{Currency, ErrorCode, Money, Problem};

use crate::shop::{Shop, TOTAL, paid, session};

fn is_refused(result: Result<Payment, PaymentError>) -> bool {
    let Err(error @ PaymentError::AlreadyProcessed) = result else { return false };
    error.code() == ErrorCode::PaymentAlreadyProcessed && !error.is_transient()
}

#[tokio::test]
async fn a_session_has_one_pending_payment() {
    let shop = Shop::open().await;
    let first = shop.create(session(1)).await.unwrap();
    assert_eq!((first.status, &first.reference), (PaymentStatus::Pending, &None));
    assert!(is_refused(shop.create(session(1)).await));
    shop.test.clock().advance(Duration::from_secs(1));
    shop.create(session(2)).await.unwrap();
    let pending: Vec<_> = shop.all_pending().await.into_iter().map(|(_, it)| it.checkout).collect();
    assert_eq!(pending, [session(1), session(2)]);
}

#[tokio::test]
async fn of_two_concurrent_payments_of_a_session_one_is_created() {
    let shop = Shop::open().await;
    let (one, two) = tokio::join!(shop.create(session(1)), shop.create(session(1)));
    assert!(one.is_ok() ^ two.is_ok(), "{one:?} {two:?}");
    assert!(is_refused(one) ^ is_refused(two));
    assert_eq!(shop.all_pending().await.len(), 1);
}

#[tokio::test]
async fn a_paid_session_cannot_be_paid_again_and_a_declined_one_can() {
    let shop = Shop::open().await;
    let declined = shop.create(session(1)).await.unwrap();
    assert!(shop.record(declined.id, &ChargeOutcome::Declined).await);
    let second = shop.create(session(1)).await.unwrap();
    assert_ne!(
        second.id, declined.id,
        "the idempotency key of a declined charge is not used again"
    );
    assert!(shop.record(second.id, &paid("A-1")).await);
    assert!(is_refused(shop.create(session(1)).await));
}

#[tokio::test]
async fn sessions_of_different_stores_do_not_conflict() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    shop.create(session(1)).await.unwrap();
    shop.create_for(other, session(1), TOTAL).await.unwrap();
    assert_eq!(shop.all_pending().await.len(), 2);
}

#[tokio::test]
async fn a_payment_exists_only_if_the_transaction_commits() {
    let shop = Shop::open().await;
    let mut work = shop.work(shop.merchant).await;
    let merchant = shop.merchant;
    payments::create(&mut work, merchant, session(1), "test", "token", TOTAL).await.unwrap();
    work.rollback().await.unwrap();
    assert_eq!(shop.all_pending().await, []);
}

#[tokio::test]
async fn a_negative_amount_is_rejected() {
    let shop = Shop::open().await;
    let negative = Money::new(-1, Currency::EUR);
    let refused = shop.create_for(shop.merchant, session(1), negative).await;
    let Err(PaymentError::Database(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.constraint(), Some("payment_amount_minor_check"));
}
