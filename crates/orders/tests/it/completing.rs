//! The job that completes orders when their return window has ended.

use std::time::Duration;

use database::Reading;
use jobs::{Sweep, SweepRow};
use orders::{CompleteOrders, DisputeStatus, Order, OrderStatus, ReturnStatus, Shipment};
use serde_json::json;

use crate::fulfillment::story;
use crate::shop::{Shop, order};

const WINDOW: Duration = Duration::from_hours(14 * 24);
const MICROSECOND: Duration = Duration::from_micros(1);

impl Shop {
    async fn deliver(&self, placed: &Order) {
        self.place(placed).await.unwrap();
        let context = self.acting(orders::Actor::SYSTEM, orders::Viewer::All);
        orders::ship(&context, placed.id, None, Shipment::default()).await.unwrap();
        orders::deliver(&context, placed.id, None, Vec::new()).await.unwrap();
    }

    async fn status(&self, number: u128) -> OrderStatus {
        self.details(order(number).id).await.order.status
    }

    /// Inserts a return of an order, as another verb does.
    async fn put_return(&self, number: u128, status: ReturnStatus) {
        let insert = "INSERT INTO order_return (merchant_id, order_id, return_id, status, outcome, items, requested_at, updated_at)
                      SELECT merchant_id, order_id, order_id, $2, 'refund', '[{}]', created_at, created_at FROM placed_order
                      WHERE order_id = $1 ON CONFLICT (merchant_id, order_id, return_id) DO UPDATE SET status = $2";
        let items =
            json!([{ "line": order(number).lines[0].line, "quantity": 1, "reason": "other" }]);
        let mut raw = self.test.raw().await;
        let id = order(number).id.uuid();
        sqlx::query(insert).bind(id).bind(status.as_str()).execute(&mut raw).await.unwrap();
        let update = "UPDATE order_return SET items = $2 WHERE order_id = $1";
        sqlx::query(update).bind(id).bind(items).execute(&mut raw).await.unwrap();
    }

    /// Inserts a dispute of an order, as another verb does.
    async fn put_dispute(&self, number: u128, status: DisputeStatus) {
        let insert = "INSERT INTO order_dispute (merchant_id, order_id, dispute_id, status, reason, opened_by, respond_by, opened_at,
                                                 updated_at, resolution)
                      SELECT merchant_id, order_id, order_id, $2, 'other', 'agent', created_at, created_at, created_at,
                             CASE WHEN $2 = 'resolved' THEN 'buyer' END
                      FROM placed_order WHERE order_id = $1
                      ON CONFLICT (merchant_id, order_id, dispute_id)
                      DO UPDATE SET status = $2, resolution = excluded.resolution";
        let insert = sqlx::query(insert).bind(order(number).id.uuid()).bind(status.as_str());
        insert.execute(&mut self.test.raw().await).await.unwrap();
    }
}

/// Returns the rows that the job finds.
async fn found(shop: &Shop) -> Vec<SweepRow> {
    let platform = Reading::for_platform(shop.test.database());
    platform.run(async |sql| CompleteOrders::find(sql, None, 10).await).await.unwrap()
}

#[tokio::test]
async fn an_order_completes_at_the_end_of_its_return_window_and_not_a_microsecond_before() {
    let shop = Shop::open().await;
    shop.deliver(&order(1)).await;
    shop.test.clock().advance(WINDOW.saturating_sub(MICROSECOND));
    shop.run::<CompleteOrders>().await;
    assert_eq!(shop.status(1).await, OrderStatus::Delivered);
    shop.test.clock().advance(MICROSECOND);
    shop.run::<CompleteOrders>().await;
    let details = shop.details(order(1).id).await;
    assert_eq!(story(&details).last().map(String::as_str), Some("completed"));
    let last = details.history.last().unwrap();
    assert_eq!(Some(last.occurred_at), details.order.returnable_until);
    assert_eq!(
        (last.actor.clone(), last.reason.as_deref()),
        (orders::Actor::SYSTEM, Some("return_window_closed"))
    );
    // Once.
    shop.run::<CompleteOrders>().await;
    assert_eq!(shop.details(order(1).id).await, details);
}

#[tokio::test]
async fn an_order_without_a_return_window_completes_after_its_delivery() {
    let shop = Shop::open().await;
    let terms = json!({ "returns": { "window_days": 0 } });
    shop.deliver(&Order { terms, ..order(1) }).await;
    shop.run::<CompleteOrders>().await;
    assert_eq!(shop.status(1).await, OrderStatus::Completed);
}

#[tokio::test]
async fn an_order_with_an_open_return_is_left_until_the_return_is_settled() {
    let shop = Shop::open().await;
    let statuses = || (1..).zip(ReturnStatus::ALL.iter().copied());
    for (number, status) in statuses() {
        shop.deliver(&order(number)).await;
        shop.put_return(number, status).await;
    }
    shop.test.clock().advance(WINDOW);
    shop.run::<CompleteOrders>().await;
    for (number, status) in statuses() {
        let is_open = matches!(
            status,
            ReturnStatus::Requested
                | ReturnStatus::Approved
                | ReturnStatus::InTransit
                | ReturnStatus::Received
                | ReturnStatus::Inspected
        );
        let expected = if is_open { OrderStatus::Delivered } else { OrderStatus::Completed };
        assert_eq!(shop.status(number).await, expected, "{status}");
        shop.put_return(number, ReturnStatus::Closed).await;
    }
    shop.run::<CompleteOrders>().await;
    for (number, status) in statuses() {
        assert_eq!(shop.status(number).await, OrderStatus::Completed, "{status}");
    }
}

#[tokio::test]
async fn an_order_with_an_open_dispute_is_left_until_the_dispute_has_ended() {
    let shop = Shop::open().await;
    let open = [DisputeStatus::Open, DisputeStatus::UnderReview];
    let ended = [DisputeStatus::Resolved, DisputeStatus::Withdrawn];
    for (number, status) in (1..).zip(open.into_iter().chain(ended)) {
        shop.deliver(&order(number)).await;
        shop.put_dispute(number, status).await;
    }
    shop.test.clock().advance(WINDOW);
    shop.run::<CompleteOrders>().await;
    let left = [shop.status(1).await, shop.status(2).await];
    assert_eq!(left, [OrderStatus::Delivered; 2]);
    assert_eq!([shop.status(3).await, shop.status(4).await], [OrderStatus::Completed; 2]);
    shop.put_dispute(1, DisputeStatus::Resolved).await;
    shop.put_dispute(2, DisputeStatus::Withdrawn).await;
    shop.run::<CompleteOrders>().await;
    assert_eq!([shop.status(1).await, shop.status(2).await], [OrderStatus::Completed; 2]);
}

#[tokio::test]
async fn an_order_that_changed_since_it_was_found_is_left() {
    let shop = Shop::open().await;
    shop.deliver(&order(1)).await;
    let due_at = shop.details(order(1).id).await.order.returnable_until.unwrap();
    let row = SweepRow { merchant: shop.merchant, id: order(1).id.uuid(), due_at };
    let process = async || {
        CompleteOrders::process(shop.test.database().clone(), row, ()).await.unwrap();
        shop.status(1).await
    };
    assert_eq!(found(&shop).await, []);
    // The time of the transaction counts, also if the last change of the order is later.
    shop.execute("UPDATE placed_order SET updated_at = returnable_until").await.unwrap();
    assert_eq!(process().await, OrderStatus::Delivered, "before the window ends");
    shop.test.clock().advance(WINDOW);
    assert_eq!(found(&shop).await, [row]);
    shop.put_dispute(1, DisputeStatus::Open).await;
    assert_eq!(process().await, OrderStatus::Delivered, "with an open dispute");
    shop.put_dispute(1, DisputeStatus::Withdrawn).await;
    shop.put_return(1, ReturnStatus::Approved).await;
    assert_eq!(process().await, OrderStatus::Delivered, "with an open return");
    shop.put_return(1, ReturnStatus::Closed).await;
    // An order that is completed is left as well.
    for _ in 0..2 {
        assert_eq!(process().await, OrderStatus::Completed);
    }
}

#[tokio::test]
async fn orders_that_are_left_do_not_delay_the_others() {
    let shop = Shop::open().await;
    // More than one page of the sweep, all due before the last order.
    shop.deliver(&order(1)).await;
    shop.put_dispute(1, DisputeStatus::Open).await;
    for sql in [
        "INSERT INTO placed_order SELECT (jsonb_populate_record(placed_order, jsonb_build_object('order_id', gen_random_uuid(),
             'checkout_id', gen_random_uuid(), 'cart_id', gen_random_uuid()))).* FROM placed_order, generate_series(1, 250)",
        "INSERT INTO order_dispute (merchant_id, order_id, dispute_id, status, reason, opened_by, respond_by, opened_at, updated_at)
         SELECT merchant_id, order_id, order_id, 'open', 'other', 'agent', created_at, created_at, created_at FROM placed_order
         ON CONFLICT DO NOTHING",
    ] {
        shop.execute(sql).await.unwrap();
    }
    shop.test.clock().advance(MICROSECOND);
    shop.deliver(&order(2)).await;
    shop.test.clock().advance(WINDOW);
    shop.run::<CompleteOrders>().await;
    assert_eq!(shop.status(2).await, OrderStatus::Completed);
    let left = "SELECT count(*) FROM placed_order WHERE status = 'delivered'";
    assert_eq!(shop.count(left).await, 251);
}

#[tokio::test]
async fn only_delivered_orders_complete() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let merchant = shop.as_merchant();
    orders::ship(&merchant, order(1).id, None, Shipment::default()).await.unwrap();
    shop.test.clock().advance(WINDOW * 10);
    shop.run::<CompleteOrders>().await;
    assert_eq!(shop.status(1).await, OrderStatus::Shipped);
}

#[tokio::test]
async fn orders_of_all_stores_and_of_sandboxes_complete() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    shop.deliver(&Order { is_sandbox: true, ..order(1) }).await;
    shop.place_for(other, &order(2)).await.unwrap();
    let context = orders::OrderContext { merchant: other, slug: "cellar", ..shop.as_merchant() };
    orders::ship(&context, order(2).id, None, Shipment::default()).await.unwrap();
    orders::deliver(&context, order(2).id, None, Vec::new()).await.unwrap();
    shop.test.clock().advance(WINDOW);
    shop.run::<CompleteOrders>().await;
    assert_eq!(shop.status(1).await, OrderStatus::Completed);
    let elsewhere = shop.read_for(other, order(2).id, None).await.unwrap();
    assert_eq!(elsewhere.status, OrderStatus::Completed);
    let events = shop.events(order(2).id, "order.status_changed").await;
    let completed = events.iter().find(|it| it["status"] == "completed").unwrap();
    assert_eq!(completed["merchantSlug"], "cellar", "the slug is that of the store");
}
