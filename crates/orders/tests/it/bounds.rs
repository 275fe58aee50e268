//! What bounds the history of an order, its times, and what a change locks.

use std::time::Duration;

use orders::{
    Actor, CancelReason, Cancellation, Changed, HistoryKind, NewRefund, Order, OrderContext,
    OrderError, OrderLine, OrderParts, OrderStatus, OrderUpdate, OrdersFilter, RefundReason,
    Shipment, Viewer,
};
use primitives::{Details, ErrorCode, HintNames, Problem as _, Timestamp};

use crate::desk::{Desk, euros, priced};
use crate::fulfillment::units;
use crate::shop::{Shop, agent, order};

/// Asserts that a change was refused by the limit of its kind, which the details name.
fn assert_limited(result: Result<Changed, OrderError>, limit: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidRequest, "{error:?}");
    let mut details = Details::default();
    error.details(&mut details);
    let details = details.into_json(HintNames::MCP);
    assert_eq!(details["field"], "order_id");
    assert!(details["allowed"].as_str().unwrap().contains(limit), "{details:?}");
}

async fn write_note(context: &OrderContext<'_>, number: u32) -> Result<Changed, OrderError> {
    let update = OrderUpdate { note: Some(format!("note {number}")), destination: None };
    orders::update(context, order(1).id, None, update).await
}

#[tokio::test]
async fn an_order_has_50_updates_of_the_agent_and_50_of_the_buyer() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (agent, buyer) = (shop.as_agent(1), shop.acting(Actor::BUYER, Viewer::All));
    for number in 1..=50 {
        write_note(&agent, number).await.unwrap();
    }
    assert_limited(write_note(&agent, 51).await, "fewer than 50 updates");
    // An update that changes nothing appends nothing.
    assert_eq!(write_note(&agent, 50).await.unwrap().details.order.version, 51);
    for number in 52..=101 {
        write_note(&buyer, number).await.unwrap();
    }
    assert_limited(write_note(&buyer, 102).await, "fewer than 50 updates");
    let details = shop.details(order(1).id).await;
    assert_eq!((details.order.version, details.order.note.as_deref()), (101, Some("note 101")));
    // The merchant goes on.
    orders::ship(&shop.as_merchant(), order(1).id, None, Shipment::default()).await.unwrap();
}

#[tokio::test]
async fn an_order_is_held_for_review_20_times() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    for _ in 0..20 {
        orders::hold_for_review(&merchant, id, None).await.unwrap();
        orders::confirm(&merchant, id, None).await.unwrap();
    }
    let refused = orders::hold_for_review(&merchant, id, None).await;
    assert_limited(refused, "for review fewer than 20 times");
    let details = shop.details(id).await;
    assert_eq!((details.order.version, details.order.status), (41, OrderStatus::Confirmed));
    orders::start_processing(&merchant, id, None).await.unwrap();
}

#[tokio::test]
async fn an_order_has_200_refunds_and_the_one_of_everything_that_is_left() {
    let (desk, order) = (Desk::open().await, priced(1));
    desk.shop.place(&order).await.unwrap();
    let refund = async |minor: Option<i64>| {
        let (amount, reason) = (minor.map(euros), RefundReason::Goodwill);
        let refund = NewRefund { amount, reason, note: None, reference: None };
        orders::refund(&desk.merchant(), order.id, None, refund).await
    };
    for _ in 0..200 {
        refund(Some(1)).await.unwrap();
    }
    assert_limited(refund(Some(1)).await, "fewer than 200 refunds");
    let details = desk.details(order.id).await;
    assert_eq!((details.refunds.len(), details.order.refunded_minor), (200, 200));
    let changed = refund(None).await.unwrap();
    assert_eq!((changed.details.refunds.len(), changed.details.order.version), (201, 202));
    assert_eq!(changed.details.order.refunded_minor, order.total.minor());
}

#[tokio::test]
async fn an_order_has_100_cancellations_of_each_side_and_the_one_of_everything_that_is_left() {
    let shop = Shop::open().await;
    let plain = order(1);
    let line = OrderLine { quantity: 300, ..plain.lines[0].clone() };
    shop.place(&Order { lines: vec![line], ..plain }).await.unwrap();
    let cancel = async |context: &OrderContext<'_>, reason, quantity: u32| {
        let items = if quantity == 0 { Vec::new() } else { vec![units(1, quantity)] };
        let cancellation = Cancellation { items, reason, note: None };
        orders::cancel(context, order(1).id, None, cancellation).await
    };
    let (agent, merchant) = (shop.as_agent(1), shop.as_merchant());
    for (context, reason) in
        [(&agent, CancelReason::BuyerRequest), (&merchant, CancelReason::OutOfStock)]
    {
        for _ in 0..100 {
            cancel(context, reason, 1).await.unwrap();
        }
        assert_limited(cancel(context, reason, 1).await, "fewer than 100 cancellations");
    }
    let changed = cancel(&agent, CancelReason::BuyerRequest, 0).await.unwrap();
    assert_eq!(changed.details.order.status, OrderStatus::Canceled);
    assert_eq!(changed.details.order.lines[0].canceled, 300);
}

#[tokio::test]
async fn a_change_is_never_older_than_the_one_before_it() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    // The transaction of the last change began after the one of the next change, which waited for it.
    let later = Timestamp::from_unix_micros(testkit::START).plus(Duration::from_secs(10));
    let set = sqlx::query("UPDATE placed_order SET updated_at = $1").bind(later);
    set.execute(&mut shop.test.raw().await).await.unwrap();
    let merchant = shop.as_merchant();
    orders::ship(&merchant, order(1).id, None, Shipment::default()).await.unwrap();
    let changed = orders::deliver(&merchant, order(1).id, None, Vec::new()).await.unwrap();
    let details = shop.details(order(1).id).await;
    assert_eq!(changed.details, details);
    assert_eq!((details.order.updated_at, details.order.delivered_at), (later, Some(later)));
    assert!(details.history.iter().all(|entry| entry.occurred_at == later), "{details:?}");
    assert_eq!(details.fulfillments[0].shipped_at, later);
    shop.test.clock().advance(Duration::from_secs(20));
    let refund =
        NewRefund { amount: None, reason: RefundReason::Goodwill, note: None, reference: None };
    let changed = orders::refund(&merchant, order(1).id, None, refund).await.unwrap();
    assert_eq!(changed.details.order.updated_at, later.plus(Duration::from_secs(10)));
}

#[tokio::test]
async fn a_list_is_read_without_history_and_disputes_unless_it_shows_them() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    orders::ship(&shop.as_merchant(), order(1).id, None, Shipment::default()).await.unwrap();
    let whole = shop.details(order(1).id).await;
    let reading = database::Reading::for_store(shop.test.database(), shop.merchant).unwrap();
    let filter = OrdersFilter { limit: 10, ..OrdersFilter::default() };
    for viewer in [Viewer::Merchant, Viewer::Agent(vec![agent(1)])] {
        for parts in [OrderParts::All, OrderParts::Items] {
            let page = orders::orders(&reading, shop.merchant, &viewer, &filter, parts).await;
            let [(_, listed)] = page.unwrap().orders.try_into().unwrap();
            assert_eq!((&listed.order, &listed.fulfillments), (&whole.order, &whole.fulfillments));
            let is_whole = parts == OrderParts::All;
            assert_eq!(listed.history.len(), if is_whole { 4 } else { 0 });
        }
    }
    assert!(whole.history.iter().any(|entry| entry.kind == HistoryKind::Shipped));
}

#[tokio::test]
async fn stock_is_locked_after_everything_else_of_a_cancellation() {
    let shop = Shop::open().await;
    let mut placed = order(1);
    placed.lines.truncate(1);
    (placed.lines[0].product, placed.lines[0].variant) =
        (shop.put_products(&[testkit::product_draft("mug", "5", 0)]).await[0], None);
    shop.place(&placed).await.unwrap();
    let mut checkout = shop.test.raw().await;
    sqlx::query("BEGIN").execute(&mut checkout).await.unwrap();
    sqlx::query("SELECT FROM product FOR UPDATE").execute(&mut checkout).await.unwrap();
    let merchant = shop.as_merchant();
    let reason = CancelReason::Other;
    let cancellation = Cancellation { items: Vec::new(), reason, note: None };
    // A transaction keeps its locks of the tables that it has read.
    let waiting = "SELECT count(*) FROM pg_stat_activity AS activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let has_read = "SELECT count(*) FROM pg_stat_activity AS activity JOIN pg_locks USING (pid)
                    WHERE datname = current_database() AND wait_event_type = 'Lock' AND granted
                      AND relation = 'order_refund'::regclass";
    let observed = async {
        while shop.count(waiting).await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let has_read = shop.count(has_read).await;
        sqlx::query("COMMIT").execute(&mut checkout).await.unwrap();
        has_read
    };
    let observed = tokio::time::timeout(Duration::from_secs(20), observed);
    let (canceled, has_read) =
        tokio::join!(orders::cancel(&merchant, placed.id, None, cancellation), observed);
    assert_eq!(canceled.unwrap().details, shop.details(placed.id).await);
    assert!(has_read.unwrap() > 0, "the answer was read before the stock was locked");
    assert_eq!(shop.count("SELECT stock_quantity::bigint FROM product").await, 2);
}
