//! Payment attempts of a session: at most one is pending or paid.

use std::time::Duration;

use payments::{ChargeOutcome, Payment, PaymentError, PaymentStatus, ProviderName, ProviderPage};
use primitives::{Currency, ErrorCode, Money, Problem};

use crate::shop::{Shop, TOTAL, charge, paid, session};

fn is_refused(result: Result<Payment, PaymentError>) -> bool {
    let Err(error @ PaymentError::AlreadyProcessed) = result else { return false };
    error.code() == ErrorCode::PaymentAlreadyProcessed && !error.is_transient()
}

#[tokio::test]
async fn a_session_has_one_pending_payment() {
    let shop = Shop::open().await;
    let first = shop.create(session(1)).await.unwrap();
    assert_eq!((first.status, &first.reference), (PaymentStatus::Begun, &None));
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
    let new = shop.attempt(session(1), ProviderName::Test, TOTAL);
    payments::create(&mut work, merchant, new).await.unwrap();
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

/// The page of an attempt.
fn page(reference: &str) -> ProviderPage {
    ProviderPage { reference: reference.to_owned(), url: String::from("https://pay.example/1") }
}

#[tokio::test]
async fn an_open_attempt_has_a_page_and_excludes_others_until_it_expires() {
    let shop = Shop::open().await;
    let first = shop.create(session(1)).await.unwrap();
    let mut work = shop.work(shop.merchant).await;
    assert!(payments::record_page(&mut work, &first, &page("cs_1")).await.unwrap());
    work.commit().await.unwrap();
    let open = shop.find(first.id).await;
    assert_eq!(open.status, PaymentStatus::Open);
    assert_eq!(
        (open.attempt().reference, open.page_url.unwrap()),
        (Some(String::from("cs_1")), String::from("https://pay.example/1"))
    );
    assert!(is_refused(shop.create(session(1)).await));
    assert!(shop.record(first.id, &ChargeOutcome::Ended).await);
    assert_eq!(shop.find(first.id).await.status, PaymentStatus::Expired);
    shop.create(session(1)).await.unwrap();
}

#[tokio::test]
async fn a_page_is_recorded_only_for_an_attempt_that_is_begun() {
    let shop = Shop::open().await;
    let first = shop.create(session(1)).await.unwrap();
    assert!(shop.record(first.id, &ChargeOutcome::Ended).await);
    let mut work = shop.work(shop.merchant).await;
    let recorded = payments::record_page(&mut work, &first, &page("cs_1")).await.unwrap();
    assert!(!recorded, "nobody may get to the page of an attempt that has ended");
}

#[tokio::test]
async fn an_attempt_whose_money_is_being_taken_cannot_be_closed() {
    let shop = Shop::open().await;
    let first = shop.create(session(1)).await.unwrap();
    let mut work = shop.work(shop.merchant).await;
    assert!(payments::record_processing(&mut work, &first, None).await.unwrap());
    assert!(!payments::record_processing(&mut work, &first, None).await.unwrap());
    // Whoever closes it has read it before.
    let closed = payments::record_outcome(&mut work, &first, &ChargeOutcome::Ended).await;
    assert_eq!(closed.unwrap(), None);
    work.commit().await.unwrap();
    assert_eq!(shop.find(first.id).await.status, PaymentStatus::Processing);
    // Whoever knows that it is processing learns from the provider that nothing was taken.
    assert!(shop.record(first.id, &ChargeOutcome::Ended).await);
    assert_eq!(shop.find(first.id).await.status, PaymentStatus::Declined);
}

#[tokio::test]
async fn another_amount_is_never_recorded_as_paid() {
    let shop = Shop::open().await;
    let payment = shop.create(session(1)).await.unwrap();
    for amount in
        [Money::new(TOTAL.minor() - 1, Currency::EUR), Money::new(TOTAL.minor(), Currency::USD)]
    {
        let mut work = shop.work(shop.merchant).await;
        let outcome = ChargeOutcome::Paid(payments::Charge { amount, ..charge("A-1") });
        let refused = payments::record_outcome(&mut work, &payment, &outcome).await;
        assert!(matches!(refused, Err(PaymentError::AmountMismatch { .. })), "{refused:?}");
        work.commit().await.unwrap();
    }
    assert_eq!(shop.find(payment.id).await.status, PaymentStatus::Begun);
}

#[tokio::test]
async fn money_and_attempts_of_a_processor_belong_to_one_payment() {
    let shop = Shop::open().await;
    shop.create_paid(session(1), "pi_1").await;
    let second = shop.create_live(session(2)).await;
    let mut work = shop.work(shop.merchant).await;
    let twice = payments::record_outcome(&mut work, &second, &paid("pi_1")).await;
    assert!(matches!(twice, Err(PaymentError::ReferenceTaken)), "{twice:?}");
    work.rollback().await.unwrap();
    let mut work = shop.work(shop.merchant).await;
    assert!(payments::record_page(&mut work, &second, &page("cs_1")).await.unwrap());
    work.commit().await.unwrap();
    let third = shop.create_live(session(3)).await;
    let mut work = shop.work(shop.merchant).await;
    let twice = payments::record_page(&mut work, &third, &page("cs_1")).await;
    assert!(matches!(twice, Err(PaymentError::ReferenceTaken)), "{twice:?}");
    work.rollback().await.unwrap();
    let find = async |reference: &str| {
        let reading = shop.reading(shop.merchant);
        let stripe = ProviderName::Stripe;
        payments::find_by_reference(&reading, shop.merchant, stripe, reference).await.unwrap()
    };
    assert_eq!(find("cs_1").await, Some(second.id));
    assert!(find("pi_1").await.is_some());
    assert_eq!(find("cs_2").await, None);
}

#[tokio::test]
async fn what_is_to_be_paid_never_changes_and_real_payments_remain() {
    let shop = Shop::open().await;
    let payment = shop.create_live(session(1)).await;
    for change in ["amount_minor = 1", "currency = 'USD'", "is_live = false"] {
        let mut work = shop.work(shop.merchant).await;
        let sql = sqlx::AssertSqlSafe(format!("UPDATE payment SET {change}"));
        let refused = sqlx::query(sql).execute(work.sql()).await.unwrap_err().to_string();
        assert!(refused.contains("permission denied"), "{refused}");
        work.rollback().await.unwrap();
    }
    let sandbox = shop.create(session(2)).await.unwrap();
    for checkout in [session(1), session(2)] {
        let mut work = shop.work(shop.merchant).await;
        payments::purge(&mut work, shop.merchant, checkout).await.unwrap();
        work.commit().await.unwrap();
    }
    assert_eq!(shop.find(payment.id).await, payment);
    let reading = shop.reading(shop.merchant);
    let purged = payments::find(&reading, shop.merchant, sandbox.id).await.unwrap();
    assert_eq!(purged, None);
}
