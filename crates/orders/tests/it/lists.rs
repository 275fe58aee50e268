//! Lists of orders: what changed since a time, and rows that cannot be read.

use std::time::Duration;

use database::Reading;
use jobs::Sweep;
use orders::{
    Backlog, CompleteOrders, Order, OrderCursor, OrderError, OrderPage, OrderParts, OrderStatus,
    OrdersFilter, PartsFilter, Shipment, Viewer,
};
use primitives::{Id, MerchantId, OrderId, Timestamp};

use crate::shop::{Shop, agent, order};

const DAY: Duration = Duration::from_hours(24);

/// Returns the time some days after the start of a test.
fn day(number: u32) -> Timestamp {
    Timestamp::from_unix_micros(testkit::START).plus(DAY * number)
}

/// Returns the order with this number, placed on the day with this number.
fn placed_on(number: u32) -> Order {
    let at = day(number);
    Order { created_at: at, updated_at: at, ..order(number.into()) }
}

fn filter() -> OrdersFilter {
    OrdersFilter { limit: 10, ..OrdersFilter::default() }
}

fn viewers() -> [Viewer; 2] {
    [Viewer::Merchant, Viewer::Agent(vec![agent(2), agent(1)])]
}

impl Shop {
    /// Opens a shop with orders of the days 1 to 6; 6 is one of a sandbox.
    async fn with_six_orders() -> Self {
        let shop = Self::open().await;
        for number in 1..=6 {
            let placed = Order { is_sandbox: number == 6, ..placed_on(number) };
            shop.place(&placed).await.unwrap();
        }
        shop
    }

    async fn set_updated(&self, number: u32, at: Timestamp) {
        let update = "UPDATE placed_order SET updated_at = $2 WHERE order_id = $1";
        let update = sqlx::query(update).bind(order(number.into()).id.uuid()).bind(at);
        update.execute(&mut self.test.raw().await).await.unwrap();
    }

    async fn page(&self, viewer: &Viewer, filter: &OrdersFilter) -> OrderPage {
        let reading = Reading::for_store(self.test.database(), self.merchant).unwrap();
        let parts = OrderParts::All;
        orders::orders(&reading, self.merchant, viewer, filter, parts).await.unwrap()
    }

    /// Returns the ids of a list for the merchant or for the agent at this store, which equals that of all stores and of some.
    async fn list(&self, viewer: &Viewer, filter: &OrdersFilter) -> Vec<OrderId> {
        let page = self.page(viewer, filter).await;
        if let Viewer::Agent(keys) = viewer {
            let database = self.test.database();
            let other = MerchantId::from_random(99);
            for stores in [None, Some(&[self.merchant, other, self.merchant][..])] {
                let of_keys = orders::orders_of_keys_at(database, stores, keys, filter).await;
                assert_eq!(of_keys.unwrap(), page);
            }
            let elsewhere = orders::orders_of_keys_at(database, Some(&[other]), keys, filter).await;
            assert!(elsewhere.unwrap().orders.is_empty());
        }
        page.orders.into_iter().map(|(_, details)| details.order.id).collect()
    }

    /// Returns all ids of a list that is read page by page.
    async fn walk(&self, viewer: &Viewer, filter: &OrdersFilter) -> Vec<OrderId> {
        let (mut ids, mut after): (_, Option<OrderCursor>) = (Vec::new(), None);
        loop {
            let filter = OrdersFilter { after, ..filter.clone() };
            let page = self.page(viewer, &filter).await;
            ids.extend(page.orders.into_iter().map(|(_, details)| details.order.id));
            let Some(next) = page.next else { return ids };
            after = Some(next);
        }
    }
}

fn ids(numbers: &[u128]) -> Vec<OrderId> {
    numbers.iter().map(|number| order(*number).id).collect()
}

#[tokio::test]
async fn what_changed_since_a_time_is_listed_in_the_order_of_the_list() {
    let shop = Shop::with_six_orders().await;
    shop.set_updated(1, day(20)).await;
    shop.set_updated(3, day(21)).await;
    shop.set_updated(2, day(22)).await;
    let since = OrdersFilter { updated_min: Some(day(20)), ..filter() };
    for viewer in &viewers() {
        assert_eq!(shop.list(viewer, &since).await, ids(&[3, 2, 1]));
        let one = OrdersFilter { limit: 1, ..since.clone() };
        assert_eq!(shop.walk(viewer, &one).await, ids(&[3, 2, 1]));
        let skipped = OrdersFilter { skip: 1, ..since.clone() };
        assert_eq!(shop.list(viewer, &skipped).await, ids(&[2, 1]));
        let until = OrdersFilter { updated_max: Some(day(21)), ..since.clone() };
        assert_eq!(shop.list(viewer, &until).await, ids(&[3, 1]));
        let created =
            OrdersFilter { created_min: Some(day(2)), created_max: Some(day(2)), ..since.clone() };
        assert_eq!(shop.list(viewer, &created).await, ids(&[2]));
        let named = OrdersFilter { ids: ids(&[1, 4]), ..since.clone() };
        assert_eq!(shop.list(viewer, &named).await, ids(&[1]));
        let canceled = OrdersFilter { statuses: vec![OrderStatus::Canceled], ..since.clone() };
        assert_eq!(shop.list(viewer, &canceled).await, []);
        let nothing = OrdersFilter { updated_min: Some(day(23)), ..filter() };
        assert_eq!(shop.list(viewer, &nothing).await, []);
    }
    // From the beginning, and of sandboxes.
    let until = OrdersFilter { updated_min: Some(day(0)), updated_max: Some(day(5)), ..filter() };
    assert_eq!(shop.list(&Viewer::Merchant, &until).await, ids(&[5, 4]));
    let since = OrdersFilter { updated_min: Some(day(6)), updated_max: Some(day(7)), ..filter() };
    assert_eq!(shop.list(&Viewer::Merchant, &since).await, []);
    assert_eq!(shop.list(&viewers()[1], &since).await, ids(&[6]));
}

#[tokio::test]
async fn what_changed_is_listed_also_if_it_is_very_much() {
    let shop = Shop::with_six_orders().await;
    let copies = "INSERT INTO placed_order
                  SELECT (jsonb_populate_record(placed_order, jsonb_build_object('order_id', gen_random_uuid(),
                      'checkout_id', gen_random_uuid(), 'cart_id', gen_random_uuid(), 'created_at', created_at - interval '9 days'))).*
                  FROM placed_order, generate_series(1, 2500) WHERE NOT is_sandbox";
    assert_eq!(shop.execute(copies).await.unwrap(), 12500);
    let since = OrdersFilter { updated_min: Some(day(2)), limit: 4, ..filter() };
    let pending = OrdersFilter { statuses: vec![OrderStatus::Pending], ..since.clone() };
    for filter in [&since, &pending] {
        let listed = shop.list(&Viewer::Merchant, filter).await;
        assert_eq!(listed, ids(&[5, 4, 3, 2]), "{filter:?}");
        let listed = shop.list(&viewers()[1], filter).await;
        assert_eq!(listed, ids(&[6, 5, 4, 3]), "{filter:?}");
    }
}

#[tokio::test]
async fn the_latest_change_is_limited_only_together_with_the_earliest() {
    let shop = Shop::with_six_orders().await;
    let reading = Reading::for_store(shop.test.database(), shop.merchant).unwrap();
    let unbounded = OrdersFilter { updated_max: Some(day(5)), ..filter() };
    for viewer in &viewers() {
        let (merchant, parts) = (shop.merchant, OrderParts::All);
        let refused = orders::orders(&reading, merchant, viewer, &unbounded, parts).await;
        let Err(OrderError::InvalidField { field, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(field, "updated_min");
    }
    let database = shop.test.database();
    let refused = orders::orders_of_keys_at(database, None, &[agent(1)], &unbounded).await;
    assert!(matches!(refused, Err(OrderError::InvalidField { .. })), "{refused:?}");
}

#[tokio::test]
async fn an_agent_lists_orders_of_some_statuses_and_of_some_ids() {
    let shop = Shop::with_six_orders().await;
    for number in [2, 4] {
        orders::confirm(&shop.as_merchant(), order(number).id, None).await.unwrap();
    }
    orders::ship(&shop.as_merchant(), order(3).id, None, Shipment::default()).await.unwrap();
    let viewer = &viewers()[1];
    let (confirmed, shipped) = (OrderStatus::Confirmed, OrderStatus::Shipped);
    let with = |statuses: &[OrderStatus]| OrdersFilter { statuses: statuses.to_vec(), ..filter() };
    for (filter, expected) in [
        (with(&[confirmed]), &[4, 2][..]),
        (with(&[shipped, confirmed, shipped]), &[4, 3, 2]),
        (with(&[OrderStatus::Canceled]), &[]),
        (OrdersFilter { skip: 1, ..with(&[shipped, confirmed]) }, &[3, 2]),
        (OrdersFilter { created_max: Some(day(3)), ..with(&[confirmed]) }, &[2]),
        (OrdersFilter { ids: ids(&[1, 3, 4]), ..with(&[confirmed]) }, &[4]),
        (OrdersFilter { ids: ids(&[1, 6, 3, 3]), ..filter() }, &[6, 3, 1]),
        (OrdersFilter { ids: ids(&[1, 6, 3]), skip: 1, limit: 1, ..filter() }, &[3]),
    ] {
        assert_eq!(shop.list(viewer, &filter).await, ids(expected), "{filter:?}");
    }
    let one = OrdersFilter { limit: 1, ..with(&[shipped, confirmed]) };
    assert_eq!(shop.walk(viewer, &one).await, ids(&[4, 3, 2]));
    let other = OrdersFilter { ids: ids(&[1]), ..filter() };
    assert_eq!(shop.list(&Viewer::Agent(vec![agent(2)]), &other).await, []);
}

#[tokio::test]
async fn the_orders_of_an_agent_at_two_stores_are_one_list() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    for number in 1..=6 {
        let merchant = if number % 2 == 0 { other } else { shop.merchant };
        shop.place_for(merchant, &placed_on(number)).await.unwrap();
    }
    let (database, keys) = (shop.test.database(), [agent(1)]);
    let pending = vec![OrderStatus::Pending];
    for statuses in [Vec::new(), pending] {
        for stores in [None, Some(&[other, shop.merchant, other][..])] {
            let mut filter = OrdersFilter { statuses: statuses.clone(), limit: 4, ..filter() };
            let mut listed = Vec::new();
            loop {
                let page = orders::orders_of_keys_at(database, stores, &keys, &filter).await;
                let page = page.unwrap();
                listed.extend(page.orders.iter().map(|(_, details)| details.order.id));
                (filter.after, filter.limit) = (page.next, 1);
                if page.next.is_none() {
                    break;
                }
            }
            assert_eq!(listed, ids(&[6, 5, 4, 3, 2, 1]));
            let skipped = OrdersFilter { skip: 2, limit: 3, after: None, ..filter };
            let page = orders::orders_of_keys_at(database, stores, &keys, &skipped).await.unwrap();
            let found: Vec<OrderId> =
                page.orders.iter().map(|(_, details)| details.order.id).collect();
            assert_eq!(found, ids(&[4, 3, 2]));
        }
    }
}

#[tokio::test]
async fn lists_are_read_by_the_index_that_has_their_order() {
    let shop = Shop::with_six_orders().await;
    for sql in [
        "INSERT INTO placed_order
         SELECT (jsonb_populate_record(placed_order, jsonb_build_object('order_id', gen_random_uuid(),
             'checkout_id', gen_random_uuid(), 'cart_id', gen_random_uuid()))).*
         FROM placed_order, generate_series(1, 1000)",
        "INSERT INTO order_return (merchant_id, order_id, return_id, status, outcome, items, requested_at, updated_at)
         SELECT merchant_id, order_id, order_id, 'closed', 'refund', '[{}]', created_at, created_at FROM placed_order",
        "INSERT INTO order_dispute (merchant_id, order_id, dispute_id, status, resolution, reason, opened_by, respond_by,
                                    opened_at, updated_at, resolved_at)
         SELECT merchant_id, order_id, order_id, 'resolved', 'merchant', 'other', 'agent', created_at, created_at, created_at,
                created_at
         FROM placed_order",
        // Most orders of the agents are at other stores.
        "INSERT INTO placed_order
         SELECT (jsonb_populate_record(placed_order, jsonb_build_object('merchant_id', gen_random_uuid()))).*
         FROM placed_order, generate_series(1, 4)",
        "VACUUM ANALYZE placed_order",
        "ANALYZE order_return",
        "ANALYZE order_dispute",
    ] {
        shop.execute(sql).await.unwrap();
    }
    for (index, query) in [
        (
            "placed_order_of_agent_status",
            "SELECT order_id FROM placed_order WHERE agent_key_id = $1 AND status = 'shipped'
             ORDER BY created_at DESC, order_id DESC LIMIT 10",
        ),
        (
            "placed_order_of_agent_at",
            "SELECT order_id FROM placed_order
             WHERE merchant_id = $2 AND agent_key_id = $1 AND updated_at >= '2026-01-01'
             ORDER BY created_at DESC, order_id DESC LIMIT 10",
        ),
        (
            "placed_order_of_agent_at_status",
            "SELECT order_id FROM placed_order
             WHERE merchant_id = $2 AND agent_key_id = $1 AND status = 'pending'
             ORDER BY created_at DESC, order_id DESC LIMIT 10",
        ),
        (
            "order_return_status",
            "SELECT return_id FROM order_return WHERE merchant_id = $1 AND status = 'approved'
             ORDER BY requested_at DESC, return_id LIMIT 10",
        ),
        (
            "order_dispute_status",
            "SELECT dispute_id FROM order_dispute WHERE merchant_id = $1 AND status = 'withdrawn'
             ORDER BY opened_at DESC, dispute_id LIMIT 10",
        ),
    ] {
        let owner =
            if index.starts_with("placed") { agent(1).uuid() } else { shop.merchant.uuid() };
        let explain = query.replace("$1", &format!("'{owner}'"));
        let explain = explain.replace("$2", &format!("'{}'", shop.merchant.uuid()));
        let plan: Vec<String> =
            sqlx::query_scalar(sqlx::AssertSqlSafe(format!("EXPLAIN {explain}")))
                .fetch_all(&mut shop.test.raw().await)
                .await
                .unwrap();
        let plan = plan.join("\n");
        assert!(plan.contains(index) && !plan.contains("Sort"), "{plan}");
    }
}

#[tokio::test]
async fn parts_that_changed_since_a_time_are_found() {
    let shop = Shop::open().await;
    for number in 1..=3 {
        shop.place(&order(number)).await.unwrap();
        let merchant = shop.as_merchant();
        orders::ship(&merchant, order(number).id, None, Shipment::default()).await.unwrap();
        shop.test.clock().advance(DAY);
    }
    orders::deliver(&shop.as_merchant(), order(1).id, None, Vec::new()).await.unwrap();
    let reading = Reading::for_store(shop.test.database(), shop.merchant).unwrap();
    for (since, expected) in
        [(None, vec![3, 2, 1]), (Some(day(2)), vec![3, 1]), (Some(day(4)), Vec::new())]
    {
        let filter = PartsFilter {
            ids: Vec::new(),
            orders: Vec::new(),
            created_min: None,
            created_max: None,
            updated_min: since,
            updated_max: None,
            skip: 0,
            limit: 10,
        };
        let keys = [agent(1)];
        let found = orders::fulfillments_of_keys(&reading, shop.merchant, &keys, &filter);
        let found: Vec<OrderId> =
            found.await.unwrap().into_iter().map(|(details, _)| details.order.id).collect();
        assert_eq!(found, ids(&expected), "{since:?}");
    }
}

#[tokio::test]
async fn an_order_that_cannot_be_read_is_left_out_of_lists() {
    for (damage, left) in [
        ("ALTER TABLE placed_order DROP CONSTRAINT placed_order_status_check", [5, 4, 3, 2, 1]),
        (
            "UPDATE placed_order SET status = 'lost' WHERE created_at = (SELECT created_at FROM placed_order ORDER BY created_at OFFSET 2 LIMIT 1)",
            [5, 4, 2, 1, 0],
        ),
        (
            "UPDATE placed_order SET currency = 'GOLD' WHERE order_id = (SELECT order_id FROM placed_order ORDER BY created_at OFFSET 3 LIMIT 1)",
            [5, 3, 2, 1, 0],
        ),
        (
            r#"UPDATE placed_order SET lines = '[{"quantity": 1}]' WHERE order_id = (SELECT order_id FROM placed_order ORDER BY created_at LIMIT 1)"#,
            [5, 4, 3, 2, 0],
        ),
        ("UPDATE order_history SET kind = 'strange'", [4, 3, 2, 1, 0]),
        ("UPDATE order_history SET occurred_at = '0044-03-15 12:00+00 BC'", [4, 3, 2, 1, 0]),
    ] {
        let shop = Shop::with_six_orders().await;
        let merchant = shop.as_merchant();
        orders::confirm(&merchant, order(5).id, None).await.unwrap();
        let unchecked =
            "ALTER TABLE placed_order DROP CONSTRAINT IF EXISTS placed_order_status_check";
        shop.execute(unchecked).await.unwrap();
        if !damage.starts_with("ALTER") {
            assert_eq!(shop.execute(damage).await.unwrap(), 1, "{damage}");
        }
        let left: Vec<u128> = left.into_iter().filter(|number| *number > 0).collect();
        assert_eq!(shop.list(&Viewer::Merchant, &filter()).await, ids(&left), "{damage}");
        // The list continues after an order that cannot be read.
        let one = OrdersFilter { limit: 1, ..filter() };
        assert_eq!(shop.walk(&Viewer::Merchant, &one).await, ids(&left), "{damage}");
        let by_agent = [vec![6], left].concat();
        assert_eq!(shop.list(&viewers()[1], &filter()).await, ids(&by_agent), "{damage}");
    }
}

#[tokio::test]
async fn a_return_or_dispute_that_cannot_be_read_is_left_out_of_lists() {
    let shop = Shop::with_six_orders().await;
    for sql in [
        "INSERT INTO order_return (merchant_id, order_id, return_id, status, outcome, items, requested_at, updated_at)
         SELECT merchant_id, order_id, order_id, 'requested', 'refund', '[]'::jsonb || '{}'::jsonb, created_at, created_at
         FROM placed_order",
        "INSERT INTO order_dispute (merchant_id, order_id, dispute_id, status, reason, opened_by, respond_by, decide_by, opened_at,
                                    updated_at)
         SELECT merchant_id, order_id, order_id, 'under_review', 'strange', 'agent', created_at, created_at, created_at, created_at
         FROM placed_order",
    ] {
        assert_eq!(shop.execute(sql).await.unwrap(), 6);
    }
    let reading = Reading::for_store(shop.test.database(), shop.merchant).unwrap();
    let returns = orders::ReturnsFilter { limit: 2, ..orders::ReturnsFilter::default() };
    let page = orders::merchant_returns(&reading, shop.merchant, &returns).await.unwrap();
    assert!(page.returns.is_empty() && page.next.is_some_and(|it| it.requested_at == day(4)));
    let disputes = orders::DisputesFilter { limit: 2, ..orders::DisputesFilter::default() };
    let page = orders::disputes_of_store(&reading, shop.merchant, &disputes).await.unwrap();
    assert!(page.disputes.is_empty() && page.next.is_some_and(|it| it.at == day(4)));
    let page = orders::disputes_to_decide(shop.test.database(), None, 2).await.unwrap();
    assert!(page.disputes.is_empty() && page.next.is_some_and(|it| it.at == day(2)));
    // The others are listed.
    for sql in [
        "UPDATE order_dispute SET reason = 'other' WHERE opened_at = (SELECT min(opened_at) FROM order_dispute)",
        "INSERT INTO dispute_statement SELECT merchant_id, order_id, dispute_id, 1, 'agent', 'late', '[]', opened_at FROM order_dispute",
    ] {
        shop.execute(sql).await.unwrap();
    }
    let page = orders::disputes_to_decide(shop.test.database(), None, 9).await.unwrap();
    let [(_, id, dispute)] = page.disputes.as_slice() else { panic!("{page:?}") };
    assert_eq!((*id, dispute.statement_count), (order(1).id, 1));
}

#[tokio::test]
async fn orders_with_an_open_return_or_dispute_are_not_found_to_complete() {
    let shop = Shop::with_six_orders().await;
    for sql in [
        "UPDATE placed_order SET status = 'delivered', returnable_until = created_at",
        "INSERT INTO order_return (merchant_id, order_id, return_id, status, outcome, items, requested_at, updated_at)
         SELECT merchant_id, order_id, order_id, (ARRAY['received', 'closed'])[number], 'refund', '[{}]', created_at, created_at
         FROM (SELECT *, row_number() OVER (ORDER BY created_at) AS number FROM placed_order) AS it WHERE number <= 2",
        "INSERT INTO order_dispute (merchant_id, order_id, dispute_id, status, reason, opened_by, respond_by, opened_at, updated_at)
         SELECT merchant_id, order_id, order_id, (ARRAY['open', 'withdrawn', 'under_review'])[number - 2], 'other', 'agent', created_at,
                created_at, created_at
         FROM (SELECT *, row_number() OVER (ORDER BY created_at) AS number FROM placed_order) AS it WHERE number BETWEEN 3 AND 5",
    ] {
        shop.execute(sql).await.unwrap();
    }
    shop.test.clock().advance(DAY * 30);
    let platform = Reading::for_platform(shop.test.database());
    let found = platform.run(async |sql| CompleteOrders::find(sql, None, 10).await).await.unwrap();
    let found: Vec<_> = found.into_iter().map(|row| row.id).collect();
    let expected: Vec<_> = ids(&[2, 4, 6]).into_iter().map(OrderId::uuid).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn what_waits_for_people_is_counted_without_sandboxes() {
    let shop = Shop::with_six_orders().await;
    let count = async || {
        let platform = Reading::for_platform(shop.test.database());
        orders::backlog(&platform).await.unwrap()
    };
    let nothing = Backlog { disputes_under_review: 0, disputes_overdue: 0, returns_unanswered: 0 };
    assert_eq!(count().await, nothing);
    for sql in [
        "INSERT INTO order_return (merchant_id, order_id, return_id, status, outcome, items, requested_at, updated_at)
         SELECT merchant_id, order_id, order_id, 'requested', 'refund', '[{}]', created_at, created_at FROM placed_order",
        "INSERT INTO order_dispute (merchant_id, order_id, dispute_id, status, reason, opened_by, respond_by, decide_by, opened_at,
                                    updated_at)
         SELECT merchant_id, order_id, order_id, 'under_review', 'other', 'agent', created_at, created_at, created_at, created_at
         FROM placed_order",
    ] {
        shop.execute(sql).await.unwrap();
    }
    shop.test.clock().advance(DAY * 9);
    assert_eq!(
        count().await,
        Backlog { disputes_under_review: 5, disputes_overdue: 5, returns_unanswered: 2 }
    );
    shop.execute("UPDATE order_dispute SET decide_by = decide_by + interval '7 days'")
        .await
        .unwrap();
    assert_eq!(count().await.disputes_overdue, 2);
}
