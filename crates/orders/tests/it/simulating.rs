//! The job that acts as the merchant of sandbox orders.

use std::time::Duration;

use orders::{
    Actor, HistoryKind, Order, OrderError, OrderStatus, PaymentStatus, ReturnAction, ReturnOutcome,
    ReturnStatus, Shipment, SimulateSandbox, Viewer,
};

use crate::desk::{Desk, item, priced};
use crate::fulfillment::story;
use crate::shop::order;

const STEP: Duration = Duration::from_secs(30);
const MICROSECOND: Duration = Duration::from_micros(1);

fn of_sandbox(order: Order) -> Order {
    Order { is_sandbox: true, ..order }
}

impl Desk {
    async fn simulate_after(&self, time: Duration) {
        self.shop.test.clock().advance(time);
        self.sweep::<SimulateSandbox>().await;
    }

    async fn order_status(&self, order: &Order) -> OrderStatus {
        self.details(order.id).await.order.status
    }
}

#[tokio::test]
async fn a_sandbox_order_is_shipped_and_delivered_half_a_minute_after_each_step() {
    let desk = Desk::open().await;
    let order = of_sandbox(priced(1));
    desk.shop.place(&order).await.unwrap();
    desk.simulate_after(STEP.saturating_sub(MICROSECOND)).await;
    assert_eq!(desk.order_status(&order).await, OrderStatus::Pending);
    desk.simulate_after(MICROSECOND).await;
    let shipped = desk.shop.details(order.id).await;
    assert_eq!(shipped.order.status, OrderStatus::Shipped);
    let [parcel] = &shipped.fulfillments[..] else { panic!("{shipped:?}") };
    assert_eq!(parcel.carrier.as_deref(), Some("Sandbox Carrier"));
    let number = parcel.tracking_number.as_deref().unwrap();
    assert!(number.starts_with("SANDBOX-") && number.len() == 20, "{number}");
    assert_eq!(parcel.items.iter().map(|it| it.quantity).sum::<u32>(), 4);

    desk.simulate_after(STEP.saturating_sub(MICROSECOND)).await;
    assert_eq!(desk.order_status(&order).await, OrderStatus::Shipped);
    desk.simulate_after(MICROSECOND).await;
    let delivered = desk.shop.details(order.id).await;
    assert_eq!(delivered.order.status, OrderStatus::Delivered);
    assert!(delivered.order.returnable_until.is_some());
    assert!(delivered.history.iter().all(|entry| entry.actor == Actor::SYSTEM));
    let expected = ["confirmed", "processing", "shipped", "delivered"];
    let statuses = delivered.history.iter().filter(|it| it.kind == HistoryKind::StatusChanged);
    assert_eq!(statuses.map(|it| it.status.as_str()).collect::<Vec<_>>(), expected);

    // Nothing is left to do, and nothing was published.
    desk.simulate_after(STEP * 10).await;
    assert_eq!(story(&desk.shop.details(order.id).await), story(&delivered));
    assert_eq!(desk.shop.count("SELECT count(*) FROM webhook_event").await, 0);
}

#[tokio::test]
async fn a_return_of_a_sandbox_order_is_settled_half_a_minute_after_its_request() {
    let desk = Desk::with_delivered(&of_sandbox(priced(1))).await;
    let order = of_sandbox(priced(1));
    desk.request_units(&order, 2).await;
    desk.simulate_after(STEP.saturating_sub(MICROSECOND)).await;
    assert_eq!(desk.only_return(order.id).await.status, ReturnStatus::Requested);
    desk.simulate_after(MICROSECOND).await;
    let it = desk.only_return(order.id).await;
    assert_eq!(it.status, ReturnStatus::Refunded);
    let refund_minor = it.refund_minor.unwrap();
    // Two of three units for 10.00, and their share of the tax.
    assert!((6_66..10_00).contains(&refund_minor), "{refund_minor}");
    let details = desk.shop.details(order.id).await;
    assert_eq!(details.order.refunded_minor, refund_minor);
    assert_eq!(details.order.payment_status(), PaymentStatus::PartiallyRefunded);

    // A second return, which is settled by other items.
    let items = vec![item(order.lines[1].line, 1)];
    desk.request(&order, items, ReturnOutcome::Exchange).await.unwrap();
    desk.simulate_after(STEP).await;
    let statuses = desk.details(order.id).await.returns.into_iter().map(|it| it.status);
    let expected = [ReturnStatus::Refunded, ReturnStatus::Exchanged];
    assert_eq!(statuses.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_return_that_the_agent_has_sent_is_settled_and_a_canceled_one_is_left() {
    let desk = Desk::open().await;
    let orders = [of_sandbox(priced(1)), of_sandbox(priced(2))];
    let mut returns = Vec::new();
    for order in &orders {
        desk.deliver(order).await;
        returns.push(desk.request_units(order, 1).await);
    }
    // As if the job had ended after the approval.
    let system = desk.shop.acting(Actor::SYSTEM, Viewer::Sandbox);
    let approve = ReturnAction::Approve { instructions: None };
    orders::change_return(&system, orders[0].id, returns[0], None, approve).await.unwrap();
    let send = ReturnAction::MarkInTransit { carrier: None, tracking_number: None };
    let agent = desk.agent(1);
    orders::change_return(&agent, orders[0].id, returns[0], None, send).await.unwrap();
    let cancel = ReturnAction::Cancel;
    orders::change_return(&agent, orders[1].id, returns[1], None, cancel).await.unwrap();
    desk.simulate_after(STEP).await;
    assert_eq!(desk.only_return(orders[0].id).await.status, ReturnStatus::Refunded);
    assert_eq!(desk.only_return(orders[1].id).await.status, ReturnStatus::Canceled);
}

#[tokio::test]
async fn orders_that_are_no_sandbox_orders_are_never_touched() {
    let desk = Desk::open().await;
    let [pending, shipped, returned] = [priced(1), priced(2), priced(3)];
    desk.shop.place(&pending).await.unwrap();
    desk.shop.place(&shipped).await.unwrap();
    let merchant = desk.merchant();
    orders::ship(&merchant, shipped.id, None, Shipment::default()).await.unwrap();
    desk.deliver(&returned).await;
    desk.request_units(&returned, 1).await;
    let mut before = Vec::new();
    for order in [&pending, &shipped, &returned] {
        before.push(desk.details(order.id).await);
    }
    desk.simulate_after(STEP * 100).await;
    for (order, before) in [&pending, &shipped, &returned].into_iter().zip(before) {
        assert_eq!(desk.details(order.id).await, before);
    }
    // They do not exist for the job, which the verbs check under the lock.
    let job = desk.shop.acting(Actor::SYSTEM, Viewer::Sandbox);
    let result = orders::ship(&job, pending.id, None, Shipment::default()).await;
    assert!(matches!(result, Err(OrderError::NotFound)), "{result:?}");
}

#[tokio::test]
async fn orders_that_were_canceled_or_are_under_review_are_left() {
    let desk = Desk::open().await;
    let left = [OrderStatus::Canceled, OrderStatus::ManualReview, OrderStatus::Failed];
    for (number, status) in (1..).zip(left) {
        desk.shop.place(&Order { status, ..of_sandbox(order(number)) }).await.unwrap();
    }
    desk.simulate_after(STEP * 100).await;
    for (number, status) in (1..).zip(left) {
        assert_eq!(desk.order_status(&order(number)).await, status);
    }
}

#[tokio::test]
async fn more_orders_than_a_page_are_shipped_in_one_run() {
    let desk = Desk::open().await;
    desk.shop.place(&of_sandbox(order(1))).await.unwrap();
    let copies = "INSERT INTO placed_order SELECT (jsonb_populate_record(placed_order, jsonb_build_object('order_id', gen_random_uuid(),
             'checkout_id', gen_random_uuid(), 'cart_id', gen_random_uuid()))).* FROM placed_order, generate_series(1, 250)";
    desk.shop.execute(copies).await.unwrap();
    desk.simulate_after(STEP).await;
    let shipped = "SELECT count(*) FROM placed_order WHERE status = 'shipped'";
    assert_eq!(desk.shop.count(shipped).await, 251);
}
