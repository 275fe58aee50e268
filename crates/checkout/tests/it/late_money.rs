//! Money that a provider takes for an attempt that has ended.

use std::time::Duration;

use checkout::{ExpireSessions, SESSION_LIFETIME, Status};
use payments::PaymentStatus;
use payments::ProviderName::Stripe;
use primitives::{Currency, Money, PaymentId};

use crate::provider_pages::{Purchase, TOTAL};
use crate::scripted_provider::Known;

const ORDERS: &str = "SELECT count(*) FROM placed_order";
const CHARGES: &str =
    "SELECT coalesce(sum(amount_minor), 0)::bigint FROM ledger_transfer WHERE kind = 'charge'";
const NOTICES: &str = "SELECT count(*) FROM merchant_notice WHERE kind = 'refund_due'";

/// Returns a purchase whose session and attempt have expired.
async fn expired() -> Purchase {
    let purchase = Purchase::opened(Stripe).await;
    purchase.shop.advance(SESSION_LIFETIME + Duration::from_secs(1));
    purchase.reconcile().await;
    purchase.shop.run::<ExpireSessions>(()).await;
    assert_eq!(purchase.status().await, Status::Expired);
    purchase
}

async fn payment(purchase: &Purchase) -> PaymentId {
    purchase.reference().await.trim_start_matches("page_").parse().unwrap()
}

#[tokio::test]
async fn late_money_is_an_order_to_review_while_units_remain() {
    let purchase = expired().await;
    purchase.provider.set(Known::Paid(TOTAL));
    let (one, two) = tokio::join!(purchase.hint(), purchase.hint());
    assert!(one.unwrap() && two.unwrap());
    purchase.hint().await.unwrap();
    let shop = &purchase.shop;
    let review = "SELECT count(*) FROM placed_order WHERE status = 'manual_review' AND payment_status = 'paid'";
    assert_eq!((shop.count(ORDERS).await, shop.count(review).await), (1, 1));
    assert_eq!(shop.count(CHARGES).await, TOTAL.minor());
    assert_eq!(purchase.attempt().await, PaymentStatus::Paid);
    assert_eq!(shop.stock_and_held(purchase.mug).await, (1, 0));
    assert_eq!(shop.findings().await, [""; 0]);
}

#[tokio::test]
async fn late_money_without_units_is_a_refund_to_make() {
    let purchase = expired().await;
    let shop = &purchase.shop;
    shop.stock(&[("mug", "12.50", 1)]).await;
    purchase.provider.set(Known::Paid(TOTAL));
    let (one, two) = tokio::join!(purchase.hint(), purchase.hint());
    assert!(one.unwrap() && two.unwrap());
    purchase.hint().await.unwrap();
    assert_eq!(shop.findings().await, ["paid_after_end"]);
    assert_eq!((shop.count(ORDERS).await, shop.count(NOTICES).await), (0, 1));
    assert_eq!(shop.count(CHARGES).await, TOTAL.minor(), "the ledger has the money");
    assert_eq!(purchase.attempt().await, PaymentStatus::Expired);
    assert_eq!(shop.stock_and_held(purchase.mug).await, (1, 0), "nothing stays held");
}

#[tokio::test]
async fn the_schedule_finds_late_money_without_a_webhook() {
    let purchase = expired().await;
    purchase.provider.set(Known::Paid(TOTAL));
    purchase.shop.advance(Duration::from_hours(24));
    purchase.reconcile().await;
    assert_eq!(purchase.shop.count(ORDERS).await, 1);
}

#[tokio::test]
async fn money_of_an_earlier_attempt_beside_another_one_is_a_refund_to_make() {
    for is_paid in [false, true] {
        let purchase = Purchase::opened(Stripe).await;
        let first = payment(&purchase).await;
        let reference = purchase.reference().await;
        purchase.abandon().await.unwrap();
        purchase.shop.advance(Duration::from_secs(1));
        purchase.pay().await.unwrap();
        if is_paid {
            purchase.provider.set_of(payment(&purchase).await, Known::Paid(TOTAL));
            purchase.hint().await.unwrap();
            purchase.assert_paid_once().await;
        }
        purchase.provider.set_of(first, Known::Paid(TOTAL));
        let shop = &purchase.shop;
        let (database, gateway) = (shop.test.database(), shop.gateway());
        for _ in 0..2 {
            let merchant = shop.store.merchant;
            checkout::observe_payment(database, &gateway, merchant, Stripe, &reference)
                .await
                .unwrap();
        }
        assert_eq!(shop.findings().await, ["paid_after_end"]);
        assert_eq!(shop.count(NOTICES).await, 1);
        let (orders, charges) = if is_paid { (1, 2) } else { (0, 1) };
        assert_eq!(shop.count(ORDERS).await, orders);
        assert_eq!(shop.count(CHARGES).await, TOTAL.minor() * charges);
    }
}

#[tokio::test]
async fn late_money_of_other_terms_places_no_order() {
    let purchase = expired().await;
    let shop = &purchase.shop;
    let mut raw = shop.test.raw().await;
    let other = "UPDATE checkout_session SET quote_hash = decode(repeat('07', 32), 'hex')";
    sqlx::query(other).execute(&mut raw).await.unwrap();
    purchase.provider.set(Known::Paid(TOTAL));
    purchase.hint().await.unwrap();
    assert_eq!(shop.findings().await, ["paid_after_end"]);
    assert_eq!(shop.count(ORDERS).await, 0);
}

#[tokio::test]
async fn late_money_of_another_amount_is_a_finding() {
    let purchase = expired().await;
    purchase.provider.set(Known::Paid(Money::new(1, Currency::EUR)));
    purchase.hint().await.unwrap();
    assert_eq!(purchase.shop.findings().await, ["amount_mismatch"]);
    assert_eq!((purchase.shop.count(ORDERS).await, purchase.shop.count(CHARGES).await), (0, 0));
}
