//! Refunds: recorded once, and never above the total.

use std::time::Duration;

use database::Database;
use jobs::IdempotencyKey;
use orders::{
    CancelReason, Cancellation, Changed, HistoryKind, NewRefund, Order, OrderContext, OrderDetails,
    OrderError, OrderStatus, PaymentStatus, RefundReason, Viewer,
};
use primitives::{Currency, ErrorCode, MerchantId, Money, OrderId, Problem};
use serde_json::json;
use tokio::task::JoinSet;

use crate::desk::{Desk, available, euros, invalid_field, merchant, priced};

fn of(minor: i64) -> NewRefund {
    NewRefund { amount: Some(euros(minor)), ..everything() }
}

fn everything() -> NewRefund {
    NewRefund { amount: None, reason: RefundReason::Goodwill, note: None, reference: None }
}

fn referenced(minor: i64, reference: &str) -> NewRefund {
    NewRefund { reference: Some(reference.to_owned()), ..of(minor) }
}

impl Desk {
    async fn with_placed(order: &Order) -> Self {
        let desk = Self::open().await;
        desk.shop.place(order).await.unwrap();
        desk
    }

    async fn refund(&self, order: &Order, refund: NewRefund) -> Result<Changed, OrderError> {
        orders::refund(&self.merchant(), order.id, None, refund).await
    }
}

/// Asserts that the rows of the refunds add up to the sum of the order, and returns it.
fn books(details: &OrderDetails) -> i64 {
    let sum: i64 = details.refunds.iter().map(|refund| refund.amount_minor).sum();
    assert_eq!(sum, details.order.refunded_minor);
    let entries = details.history.iter().filter(|entry| entry.kind == HistoryKind::Refunded);
    assert_eq!(entries.count(), details.refunds.len());
    sum
}

#[tokio::test]
async fn a_refund_has_an_entry_of_the_history_and_an_event() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    let note = Some(String::from(" Sorry\u{0}! "));
    let refund = NewRefund { note, ..referenced(5_00, "re_1") };
    let changed = desk.refund(&order, refund).await.unwrap();
    let (details, [refund]) = (&changed.details, changed.details.refunds.as_slice()) else {
        panic!("{changed:?}")
    };
    assert_eq!(changed.subject, Some(refund.id.to_string()));
    assert_eq!((refund.amount_minor, refund.return_id), (5_00, None));
    assert_eq!(
        (refund.note.as_deref(), refund.reference.as_deref()),
        (Some("Sorry!"), Some("re_1"))
    );
    assert_eq!(details.order.payment_status(), PaymentStatus::PartiallyRefunded);
    let [entry] = details.history.as_slice() else { panic!("{:?}", details.history) };
    assert_eq!((entry.kind, entry.reason.as_deref()), (HistoryKind::Refunded, Some("goodwill")));
    assert_eq!(entry.details, json!({ "refund_id": refund.id, "amount_minor": 5_00 }));
    assert_eq!((entry.sequence, details.order.version), (2, 2));
    assert_eq!(desk.details(order.id).await, *details);

    let events = desk.events("order.refunded").await;
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(event["refundId"], json!(refund.id));
    assert_eq!((&event["amount"], &event["refundedTotal"]), (&json!(5.0), &json!(5.0)));
    assert_eq!((&event["sequence"], &event["changedBy"]), (&json!(2), &json!("merchant")));
}

#[tokio::test]
async fn a_refund_without_an_amount_is_of_everything_that_is_left() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    desk.refund(&order, of(7_77)).await.unwrap();
    let changed = desk.refund(&order, everything()).await.unwrap();
    assert_eq!(changed.details.refunds.iter().map(|it| it.amount_minor).max(), Some(15_00));
    assert_eq!(changed.details.order.payment_status(), PaymentStatus::Refunded);
    assert_eq!(books(&changed.details), 22_77);
    for refund in [everything(), of(1)] {
        assert_eq!(available(&desk.refund(&order, refund).await), "amount: 0.00 EUR");
    }
    assert_eq!(desk.details(order.id).await, changed.details);
}

#[tokio::test]
async fn a_refund_is_above_0_and_has_the_currency_of_the_order() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    for minor in [0, -1, i64::MIN] {
        assert_eq!(invalid_field(desk.refund(&order, of(minor)).await), "amount");
    }
    let dollars = NewRefund { amount: Some(Money::new(1, Currency::USD)), ..everything() };
    assert_eq!(invalid_field(desk.refund(&order, dollars).await), "currency");
    for minor in [22_78, i64::MAX] {
        assert_eq!(available(&desk.refund(&order, of(minor)).await), "amount: 22.77 EUR");
    }
    for (field, refund) in [
        ("note", NewRefund { note: Some("x".repeat(2_001)), ..of(1) }),
        ("reference", referenced(1, &"x".repeat(256))),
    ] {
        assert_eq!(invalid_field(desk.refund(&order, refund).await), field);
    }
    assert_eq!(desk.details(order.id).await.order, order);
    assert!(desk.events("order.refunded").await.is_empty());
}

/// Refunds, again if the database was overloaded.
async fn refund_until_decided(
    database: Database,
    store: MerchantId,
    id: OrderId,
    minor: i64,
) -> Result<Changed, OrderError> {
    loop {
        match orders::refund(&merchant(&database, store), id, None, of(minor)).await {
            Err(error) if error.is_transient() => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            decided => return decided,
        }
    }
}

#[tokio::test]
async fn a_hundred_concurrent_refunds_of_two_processes_never_exceed_the_total() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    let processes = [desk.database().clone(), desk.shop.test.another_process()];
    processes[1].refresh_directory().await.unwrap();
    let mut calls = JoinSet::new();
    for number in 0..100 {
        let database = processes[number % 2].clone();
        calls.spawn(refund_until_decided(database, desk.shop.merchant, order.id, 60));
    }
    let (mut refunded, mut refused) = (0, 0);
    for result in calls.join_all().await {
        match result {
            Ok(_) => refunded += 1,
            Err(OrderError::RefundExceeded { .. }) => refused += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    // 37 times 0.60 is 22.20; 0.57 is left.
    assert_eq!((refunded, refused), (37, 63));
    let details = desk.details(order.id).await;
    assert_eq!((details.refunds.len(), books(&details)), (37, 22_20));
    assert_eq!(desk.events("order.refunded").await.len(), 37);
    let sequences: Vec<i32> = details.history.iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, (2..=38).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_refund_that_the_verb_would_let_through_meets_the_constraint() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    desk.shop
        .execute(
            "ALTER TABLE placed_order DROP CONSTRAINT placed_order_refunded,
                 ADD CONSTRAINT placed_order_refunded CHECK (refunded_minor < 2277)",
        )
        .await
        .unwrap();
    let refused = desk.refund(&order, everything()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::InvalidRequest);
    assert_eq!(available::<Changed>(&Err(refused)), "amount: 22.77 EUR");
    assert_eq!(desk.details(order.id).await.order, order);
    assert_eq!(desk.shop.count("SELECT count(*) FROM order_refund").await, 0);
}

#[tokio::test]
async fn the_table_accepts_no_more_refunds_than_the_total() {
    let desk = Desk::with_placed(&priced(1)).await;
    for sql in [
        "UPDATE placed_order SET refunded_minor = total_minor + 1",
        "UPDATE placed_order SET refunded_minor = -1",
    ] {
        let refused = desk.shop.execute(sql).await.unwrap_err();
        let constraint = refused.as_database_error().unwrap().constraint();
        assert_eq!(constraint, Some("placed_order_refunded"));
    }
}

#[tokio::test]
async fn a_known_reference_is_the_same_refund() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    let first = desk.refund(&order, referenced(5_00, "re_1")).await.unwrap();
    let again = desk.refund(&order, referenced(5_00, " re_1 ")).await.unwrap();
    assert_eq!((again.subject, &again.details), (first.subject, &first.details));
    let other_currency =
        NewRefund { amount: Some(Money::new(5_00, Currency::USD)), ..referenced(1, "re_1") };
    let rest = NewRefund { amount: None, ..referenced(1, "re_1") };
    for (refund, field) in [
        (referenced(5_01, "re_1"), "reference"),
        (rest, "reference"),
        (other_currency, "currency"),
        (referenced(0, "re_1"), "amount"),
    ] {
        assert_eq!(invalid_field(desk.refund(&order, refund).await), field);
    }
    assert_eq!(desk.details(order.id).await, first.details);

    let rest = NewRefund { amount: None, ..referenced(1, "re_2") };
    let second = desk.refund(&order, rest.clone()).await.unwrap();
    let again = desk.refund(&order, rest).await.unwrap();
    assert_eq!((again.subject, books(&again.details)), (second.subject, 22_77));
    assert_eq!(desk.events("order.refunded").await.len(), 2);
}

#[tokio::test]
async fn the_table_accepts_one_refund_of_an_order_per_reference() {
    let (order, other) = (priced(1), priced(2));
    let desk = Desk::with_placed(&order).await;
    desk.shop.place(&other).await.unwrap();
    for order in [&order, &other] {
        desk.refund(order, referenced(1, "re_1")).await.unwrap();
        for _ in 0..2 {
            desk.refund(order, of(1)).await.unwrap();
        }
    }
    let again = "INSERT INTO order_refund
                 SELECT merchant_id, order_id, gen_random_uuid(), NULL, 2, reason, NULL, reference, created_at
                 FROM order_refund WHERE reference IS NOT NULL";
    let refused = desk.shop.execute(again).await.unwrap_err();
    let constraint = refused.as_database_error().unwrap().constraint();
    assert_eq!(constraint, Some("order_refund_reference"));
}

#[tokio::test]
async fn the_note_of_a_refund_is_part_of_the_order_and_the_reference_is_not() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    let note = Some(String::from("Sorry for the <b>scratch</b>."));
    desk.refund(&order, NewRefund { note, ..referenced(5_00, "re_secret") }).await.unwrap();
    desk.refund(&order, of(1)).await.unwrap();
    let record = desk.details(order.id).await.record("attic", None);
    let mut notes: Vec<_> = record.adjustments.iter().map(|it| it.note.as_deref()).collect();
    notes.sort_unstable();
    assert_eq!(notes, [None, Some("Sorry for the scratch.")]);
    let text = serde_json::to_string(&record).unwrap();
    assert!(!text.contains("re_secret"), "{text}");
}

#[tokio::test]
async fn a_repeated_idempotency_key_refunds_once() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    let key = |minor: i64| {
        IdempotencyKey::new(desk.shop.merchant, &"key_1", "once", ("refund", &minor)).unwrap()
    };
    let (same, other) = (key(1), key(2));
    let context = OrderContext { idempotency_key: Some(&same), ..desk.merchant() };
    let first = orders::refund(&context, order.id, Some(1), of(1)).await.unwrap();
    let again = orders::refund(&context, order.id, Some(1), of(1)).await.unwrap();
    assert_eq!((again.subject, again.details), (first.subject, first.details));
    let context = OrderContext { idempotency_key: Some(&other), ..desk.merchant() };
    let conflict = orders::refund(&context, order.id, None, of(2)).await;
    assert!(matches!(conflict, Err(OrderError::Idempotency(_))), "{conflict:?}");
    assert_eq!(books(&desk.details(order.id).await), 1);
}

#[tokio::test]
async fn a_refund_of_another_version_is_refused() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    let context = desk.merchant();
    orders::refund(&context, order.id, Some(1), of(1)).await.unwrap();
    let stale = orders::refund(&context, order.id, Some(1), of(1)).await;
    assert!(matches!(stale, Err(OrderError::VersionConflict { current: 2 })), "{stale:?}");
}

#[tokio::test]
async fn a_canceled_order_is_refunded_and_a_failed_one_is_not() {
    let (canceled, failed) = (priced(1), Order { status: OrderStatus::Failed, ..priced(2) });
    let desk = Desk::with_placed(&canceled).await;
    let reason = CancelReason::OutOfStock;
    let cancellation = Cancellation { items: Vec::new(), reason, note: None };
    orders::cancel(&desk.merchant(), canceled.id, None, cancellation).await.unwrap();
    let changed = desk.refund(&canceled, everything()).await.unwrap();
    assert_eq!(
        (changed.details.order.status, books(&changed.details)),
        (OrderStatus::Canceled, 22_77)
    );

    desk.shop.place(&failed).await.unwrap();
    let refused = desk.refund(&failed, of(1)).await;
    let from_failed =
        matches!(refused, Err(OrderError::InvalidTransition { from: OrderStatus::Failed }));
    assert!(from_failed, "{refused:?}");
}

#[tokio::test]
async fn only_a_paid_order_is_refunded() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    for payment in ["unpaid", "authorized", "failed", "disputed"] {
        let set = sqlx::query("UPDATE placed_order SET payment_status = $1").bind(payment);
        set.execute(&mut desk.shop.test.raw().await).await.unwrap();
        assert_eq!(available(&desk.refund(&order, of(1)).await), "amount: 0.00 EUR", "{payment}");
    }
    desk.shop.execute("UPDATE placed_order SET payment_status = 'paid'").await.unwrap();
    desk.refund(&order, of(1)).await.unwrap();
}

#[tokio::test]
async fn agents_and_buyers_do_not_refund_and_a_foreign_order_is_not_found() {
    let order = priced(1);
    let desk = Desk::with_placed(&order).await;
    for context in [desk.agent(1), desk.buyer()] {
        let refused = orders::refund(&context, order.id, None, of(1)).await;
        assert_eq!(invalid_field(refused), "actor");
    }
    let other = OrderContext { merchant: desk.shop.another_merchant().await, ..desk.merchant() };
    for (context, id) in [(desk.merchant(), priced(9).id), (other, order.id)] {
        let unknown = orders::refund(&context, id, None, of(1)).await;
        assert!(matches!(unknown, Err(OrderError::NotFound)), "{unknown:?}");
    }
}

#[tokio::test]
async fn a_refund_of_a_sandbox_order_publishes_no_event() {
    let order = Order { is_sandbox: true, ..priced(1) };
    let desk = Desk::with_placed(&order).await;
    let unseen = desk.refund(&order, of(1)).await;
    assert!(matches!(unseen, Err(OrderError::NotFound)), "{unseen:?}");
    let context = OrderContext { viewer: Viewer::All, ..desk.merchant() };
    let changed = orders::refund(&context, order.id, None, of(1)).await.unwrap();
    assert_eq!(books(&changed.details), 1);
    assert!(desk.events("order.refunded").await.is_empty());
}
