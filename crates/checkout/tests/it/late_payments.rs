//! Payments that a merchant reports: amounts of open quotes, and sessions that have ended.

use std::time::Duration;

use checkout::{CheckoutError, PaymentReport, ReportedAmounts, SessionSnapshot, Status};
use primitives::{Currency, Money, ProductId};

use crate::shop::{Shop, agent};

fn euros(minor: i64) -> Money {
    Money::new(minor, Currency::EUR)
}

fn report(amounts: ReportedAmounts) -> PaymentReport {
    PaymentReport { reference: String::from("A-1"), amounts }
}

async fn completed(shop: &Shop, mug: ProductId, quantity: i64) -> SessionSnapshot {
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, quantity)]).await;
    shop.complete(&owner, cart.cart.id).await.unwrap()
}

#[tokio::test]
async fn a_late_payment_is_an_order_to_review_while_units_remain() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let at = completed(&shop, mug, 2).await;
    shop.advance(checkout::SESSION_LIFETIME + Duration::from_mins(1));
    let paid = report(ReportedAmounts::default());
    for _ in 0..2 {
        let late = checkout::report_paid(&shop.context(), at.session.id, &paid).await.unwrap();
        assert_eq!(late.status(), Status::Expired);
        let order = late.session.order.unwrap();
        let (reading, viewer) = (shop.reading(), orders::Viewer::Merchant);
        let order = orders::order(&reading, shop.store.merchant, order, &viewer).await.unwrap();
        assert_eq!(order.status.as_str(), "manual_review");
    }
    assert_eq!(shop.stock_and_held(mug).await, (1, 0));
    assert_eq!(shop.count("SELECT count(*) FROM placed_order").await, 1);
    assert_eq!(shop.count("SELECT count(*) FROM cart WHERE status = 'converted'").await, 1);
    let other = PaymentReport { reference: String::from("A-2"), ..paid };
    let twice = checkout::report_paid(&shop.context(), at.session.id, &other).await;
    assert!(matches!(twice, Err(CheckoutError::AlreadyPaid { .. })));
    let due = "SELECT count(*) FROM payment_report WHERE outcome = 'refund_due'";
    assert_eq!(shop.count(due).await, 1, "a second payment is to be refunded");
}

#[tokio::test]
async fn a_late_payment_without_units_is_recorded_as_a_refund() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let at = completed(&shop, mug, 2).await;
    checkout::cancel(&shop.context(), &agent(1), at.session.id, None, None).await.unwrap();
    shop.stock(&[("mug", "12.50", 1)]).await;
    let paid = report(ReportedAmounts::default());
    let late = checkout::report_paid(&shop.context(), at.session.id, &paid).await;
    assert!(matches!(late, Err(CheckoutError::RefundDue { .. })));
    let due = "SELECT count(*) FROM payment_report WHERE outcome = 'refund_due'";
    assert_eq!(shop.count(due).await, 1);
    let again = checkout::report_paid(&shop.context(), at.session.id, &paid).await;
    assert!(matches!(again, Err(CheckoutError::RefundDue { .. })));
    let notices = "SELECT count(*) FROM merchant_notice WHERE kind = 'refund_due'";
    assert_eq!(shop.count(notices).await, 1, "one notice");
    assert_eq!(shop.stock_and_held(mug).await, (1, 0));
}

#[tokio::test]
async fn reported_amounts_equal_what_the_quote_fixed() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let at = completed(&shop, mug, 2).await;
    let none = ReportedAmounts::default();
    let wrong = [
        ReportedAmounts { subtotal: Some(euros(2_499)), ..none },
        ReportedAmounts { discount: Some(euros(1)), ..none },
        ReportedAmounts { shipping: Some(euros(0)), ..none },
        ReportedAmounts { tax: Some(euros(1)), ..none },
        ReportedAmounts { total: Some(euros(2_991)), ..none },
        ReportedAmounts { total: Some(Money::new(2_990, Currency::USD)), ..none },
    ];
    for amounts in wrong {
        let refused = checkout::report_paid(&shop.context(), at.session.id, &report(amounts)).await;
        assert!(matches!(refused, Err(CheckoutError::AmountMismatch { .. })), "{amounts:?}");
    }
    let evidence = "SELECT count(*) FROM payment_report WHERE outcome = 'amount_mismatch'";
    assert_eq!(shop.count(evidence).await, 1, "once for a reference");
    let parts = "SELECT count(*) FROM payment_report WHERE parts = '[{\"field\": \"subtotal\", \"expected_minor\": 2500,
                 \"reported_minor\": 2499, \"currency\": \"EUR\"}]'";
    assert_eq!(shop.count(parts).await, 1, "with the amount beside the expected one");
    let right = ReportedAmounts {
        subtotal: Some(euros(2_500)),
        discount: Some(euros(0)),
        shipping: Some(euros(490)),
        tax: Some(euros(0)),
        total: Some(euros(2_990)),
    };
    let paid = checkout::report_paid(&shop.context(), at.session.id, &report(right)).await.unwrap();
    assert_eq!(paid.status(), Status::Completed);
}

#[tokio::test]
async fn reported_amounts_fill_what_the_quote_left_open() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let at = shop.complete_open(&agent(1), mug, 2).await;
    let context = shop.context();
    let none = ReportedAmounts::default();
    let wrong = [
        ReportedAmounts { total: Some(euros(2_499)), ..none },
        ReportedAmounts { shipping: Some(euros(-500)), ..none },
        ReportedAmounts { subtotal: Some(euros(2_400)), total: Some(euros(3_000)), ..none },
        ReportedAmounts { shipping: Some(euros(700)), total: Some(euros(3_199)), ..none },
        ReportedAmounts {
            shipping: Some(euros(700)),
            tax: Some(euros(100)),
            total: Some(euros(3_301)),
            ..none
        },
    ];
    for amounts in wrong {
        let refused = checkout::report_paid(&context, at.session.id, &report(amounts)).await;
        assert!(matches!(refused, Err(CheckoutError::AmountMismatch { .. })), "{amounts:?}");
    }
    let right = ReportedAmounts {
        shipping: Some(euros(700)),
        tax: Some(euros(100)),
        total: Some(euros(3_300)),
        ..none
    };
    let paid = checkout::report_paid(&context, at.session.id, &report(right)).await.unwrap();
    let order = paid.session.order.unwrap();
    let (reading, viewer) = (shop.reading(), orders::Viewer::Merchant);
    let order = orders::order(&reading, shop.store.merchant, order, &viewer).await.unwrap();
    assert_eq!(order.total.minor(), 3_300);
    assert_eq!((order.shipping_minor, order.tax_minor), (Some(700), Some(100)));
}

#[tokio::test]
async fn a_report_during_another_payment_is_kept() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let at = completed(&shop, mug, 2).await;
    shop.leave_payment_pending("test").await;
    let paid = report(ReportedAmounts::default());
    let refused = checkout::report_paid(&shop.context(), at.session.id, &paid).await;
    assert!(matches!(
        refused,
        Err(CheckoutError::InvalidTransition { from: Status::CompleteInProgress })
    ));
    let kept = "SELECT count(*) FROM payment_report WHERE outcome = 'payment_pending'";
    assert_eq!(shop.count(kept).await, 1);
    shop.advance(Duration::from_hours(1));
    shop.run::<checkout::ReconcilePayments>(shop.gateway()).await;
    let twice = checkout::report_paid(&shop.context(), at.session.id, &paid).await;
    assert!(matches!(twice, Err(CheckoutError::AlreadyPaid { .. })));
    assert_eq!(shop.count("SELECT count(*) FROM placed_order").await, 1);
}

#[tokio::test]
async fn a_pending_payment_of_another_provider_is_visible_to_operators() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    completed(&shop, mug, 2).await;
    shop.leave_payment_pending("former").await;
    shop.advance(Duration::from_hours(1));
    shop.run::<checkout::ReconcilePayments>(shop.gateway()).await;
    let failures = "SELECT count(*) FROM sweep_failure WHERE sweep = 'checkout.ask_again'";
    assert_eq!(shop.count(failures).await, 1);
}
