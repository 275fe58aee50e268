//! Refunds through a provider, and those that merchants make and record.

use std::time::Duration;

use checkout::{
    CheckoutError, PaymentReport, ReconcileRefunds, RecordRefunds, RefundRequest, refund_payment,
};
use orders::{Actor, NewRefund, OrderContext, RefundReason, Viewer};
use payments::PaymentRefundStatus::{Done, Pending, Refused, Unknown};
use payments::ProviderName::Stripe;
use payments::{PaymentError, PaymentRefund};
use primitives::{Currency, Money, OrderId};

use crate::provider_pages::{Purchase, TOTAL};
use crate::scripted_provider::{Known, Reply};
use crate::shop::{Shop, agent};

const REFUNDED: &str = "SELECT refunded_minor FROM placed_order";
const LEDGER: &str =
    "SELECT coalesce(sum(amount_minor), 0)::bigint FROM ledger_transfer WHERE kind = 'refund'";

fn euros(minor: i64) -> Money {
    Money::new(minor, Currency::EUR)
}

/// Returns a purchase that is paid, and its order.
async fn paid() -> (Purchase, OrderId) {
    let purchase = Purchase::opened(Stripe).await;
    purchase.provider.set(Known::Paid(TOTAL));
    purchase.hint().await.unwrap();
    let order = purchase.shop.session(&purchase.at).await.session.order.unwrap();
    (purchase, order)
}

async fn refund(
    shop: &Shop,
    order: OrderId,
    minor: Option<i64>,
) -> Result<PaymentRefund, CheckoutError> {
    let request = RefundRequest {
        order,
        amount: minor.map(euros),
        reason: RefundReason::Goodwill,
        note: Some("Sorry."),
    };
    let (database, merchant) = (shop.test.database(), shop.store.merchant);
    refund_payment(database, &shop.gateway(), merchant, &request).await
}

/// Records a refund as a merchant does who returned the money.
async fn record(shop: &Shop, order: OrderId, minor: i64) {
    let context = OrderContext {
        database: shop.test.database(),
        merchant: shop.store.merchant,
        slug: "attic",
        actor: Actor::merchant(String::from("key")),
        viewer: Viewer::Merchant,
        idempotency_key: None,
    };
    let amount = Some(euros(minor));
    let new = NewRefund { amount, reason: RefundReason::Goodwill, note: None, reference: None };
    orders::refund(&context, order, None, new).await.unwrap();
}

async fn amount(shop: &Shop, sql: &'static str) -> i64 {
    shop.count(sql).await
}

#[tokio::test]
async fn a_refund_is_made_by_the_provider_and_recorded_once() {
    let (purchase, order) = paid().await;
    let shop = &purchase.shop;
    let part = refund(shop, order, Some(990)).await.unwrap();
    assert_eq!((part.status, part.amount), (Done, euros(990)));
    let (one, two) = tokio::join!(refund(shop, order, Some(2_000)), refund(shop, order, None));
    assert!(one.is_ok() ^ two.is_ok(), "{one:?} {two:?}");
    assert_eq!(purchase.provider.refunded(), TOTAL.minor());
    assert_eq!((amount(shop, REFUNDED).await, amount(shop, LEDGER).await), (2_990, 2_990));
    for minor in [None, Some(1), Some(0), Some(-1)] {
        let refused = refund(shop, order, minor).await;
        let Err(CheckoutError::Payment(PaymentError::ExceedsCharge)) = refused else {
            panic!("{refused:?}")
        };
    }
    shop.run_job::<RecordRefunds>().await;
    assert_eq!(amount(shop, LEDGER).await, 2_990, "they are in the ledger already");
    assert_eq!(shop.findings().await, [""; 0]);
}

#[tokio::test]
async fn a_refund_whose_reply_is_lost_is_repeated_with_the_same_key() {
    let (purchase, order) = paid().await;
    let shop = &purchase.shop;
    purchase.provider.script(&[Reply::Lost]);
    assert_eq!(refund(shop, order, Some(990)).await.unwrap().status, Unknown);
    assert_eq!(amount(shop, REFUNDED).await, 0);
    let beyond = refund(shop, order, Some(2_001)).await;
    assert!(matches!(beyond, Err(CheckoutError::Payment(_))), "the unknown refund is reserved");
    shop.advance(Duration::from_mins(5));
    shop.run::<ReconcileRefunds>(shop.gateway()).await;
    assert_eq!(purchase.provider.refunded(), 990, "the provider returned it once");
    assert_eq!((amount(shop, REFUNDED).await, amount(shop, LEDGER).await), (990, 990));
}

#[tokio::test]
async fn a_refund_that_stays_unknown_is_for_a_person() {
    let (purchase, order) = paid().await;
    let shop = &purchase.shop;
    purchase.provider.script(&[Reply::Lost, Reply::Lost]);
    refund(shop, order, Some(990)).await.unwrap();
    shop.advance(Duration::from_hours(24));
    for _ in 0..2 {
        shop.run::<ReconcileRefunds>(shop.gateway()).await;
        shop.advance(Duration::from_hours(2));
    }
    let calls = purchase.provider.calls();
    assert_eq!(calls.iter().filter(|call| **call == "refund").count(), 2, "not after a day");
    assert_eq!(shop.findings().await, ["refund_unresolved"]);
}

#[tokio::test]
async fn a_pending_refund_is_asked_for_and_a_refused_one_releases_its_amount() {
    let (purchase, order) = paid().await;
    let shop = &purchase.shop;
    purchase.provider.script(&[Reply::Refused]);
    assert_eq!(refund(shop, order, None).await.unwrap().status, Refused);
    purchase.provider.set_refunds_pending(true);
    assert_eq!(refund(shop, order, None).await.unwrap().status, Pending);
    assert_eq!(amount(shop, REFUNDED).await, 0);
    purchase.provider.set_refunds_pending(false);
    shop.advance(Duration::from_hours(30));
    shop.run::<ReconcileRefunds>(shop.gateway()).await;
    assert_eq!((amount(shop, REFUNDED).await, amount(shop, LEDGER).await), (2_990, 2_990));
    assert_eq!(purchase.provider.refunded(), 2_990);
}

#[tokio::test]
async fn refunds_that_merchants_record_are_in_the_ledger() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let cart = shop.cart(&agent(1), &[(mug, 2)]).await;
    let at = shop.complete(&agent(1), cart.cart.id).await.unwrap();
    let report = PaymentReport { reference: String::from("A-1"), ..PaymentReport::default() };
    let paid = checkout::report_paid(&shop.context(), at.session.id, &report).await.unwrap();
    let order = paid.session.order.unwrap();
    let refused = refund(&shop, order, None).await;
    assert!(matches!(refused, Err(CheckoutError::RefundedByMerchant)), "{refused:?}");
    record(&shop, order, 500).await;
    for _ in 0..2 {
        shop.run_job::<RecordRefunds>().await;
        assert_eq!(amount(&shop, LEDGER).await, 500);
    }
    record(&shop, order, 2_490).await;
    shop.run_job::<RecordRefunds>().await;
    let of_merchant = "SELECT coalesce(sum(amount_minor), 0)::bigint FROM ledger_transfer
                       WHERE kind = 'refund' AND stated_by = 'merchant' AND credited = 'merchant'";
    assert_eq!(amount(&shop, of_merchant).await, 2_990);
    assert_eq!(shop.findings().await, [""; 0]);
}

#[tokio::test]
async fn a_refund_beside_those_of_the_merchant_is_a_finding() {
    let (purchase, order) = paid().await;
    let shop = &purchase.shop;
    purchase.provider.script(&[Reply::Lost]);
    refund(shop, order, Some(2_000)).await.unwrap();
    // Meanwhile the merchant records one of its own.
    record(shop, order, 2_000).await;
    shop.run_job::<RecordRefunds>().await;
    assert_eq!(shop.findings().await, ["ledger_difference"], "more than was charged");
    shop.advance(Duration::from_mins(5));
    shop.run::<ReconcileRefunds>(shop.gateway()).await;
    assert_eq!(amount(shop, LEDGER).await, 2_000, "what the provider returned");
    assert_eq!(amount(shop, REFUNDED).await, 2_000);
    assert_eq!(purchase.provider.refunded(), 2_000);
}
