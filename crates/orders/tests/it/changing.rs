//! Rules of every change: versions, repeated requests, whose orders a caller changes, and an append-only history.

use database::Work;
use jobs::{IdempotencyError, IdempotencyKey};
use orders::{
    Actor, CancelReason, Cancellation, NewRefund, Order, OrderContext, OrderError, OrderStatus,
    OrderUpdate, PaymentStatus, RefundReason, Shipment, Viewer,
};
use primitives::{Id, OrderId};
use serde_json::{Value, json};

use crate::fulfillment::{shipment, units};
use crate::machine::Step;
use crate::shop::{Shop, agent, order};
#[tokio::test]
async fn a_change_is_made_to_the_expected_version_only() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    orders::start_processing(&merchant, id, Some(1)).await.unwrap();
    let before = shop.details(id).await;
    let (update, all) = (OrderUpdate::default(), Vec::new());
    let cancellation = Cancellation { items: Vec::new(), reason: CancelReason::Other, note: None };
    for version in [1, 2, 4] {
        let version = Some(version);
        for result in [
            orders::confirm(&merchant, id, version).await,
            orders::hold_for_review(&merchant, id, version).await,
            orders::start_processing(&merchant, id, version).await,
            orders::ship(&merchant, id, version, Shipment::default()).await,
            orders::deliver(&merchant, id, version, all.clone()).await,
            orders::cancel(&merchant, id, version, cancellation.clone()).await,
            orders::update(&merchant, id, version, update.clone()).await,
        ] {
            assert!(
                matches!(result, Err(OrderError::VersionConflict { current: 3 })),
                "{result:?}"
            );
        }
    }
    assert_eq!(shop.details(id).await, before);
}

#[tokio::test]
async fn a_change_whose_row_is_not_written_is_rolled_back() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    for sql in [
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "CREATE TRIGGER keep BEFORE UPDATE ON placed_order FOR EACH ROW EXECUTE FUNCTION keep()",
    ] {
        shop.execute(sql).await.unwrap();
    }
    let changed = orders::confirm(&shop.as_merchant(), order(1).id, None).await;
    assert!(matches!(changed, Err(OrderError::Unreadable)), "{changed:?}");
    assert_eq!(shop.count("SELECT count(*) FROM order_history").await, 0);
    let events = shop.events(order(1).id, "order.status_changed").await;
    assert!(events.is_empty(), "{events:?}");
    assert_eq!(shop.read(order(1).id, None).await.unwrap(), order(1));
}

#[tokio::test]
async fn a_repeated_request_is_executed_once() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let id = order(1).id;
    let key = |request: Value| {
        IdempotencyKey::new(shop.merchant, &"skey_1", "k-1", ("ship", &request)).unwrap()
    };
    let (one, other) = (key(json!({ "units": 1 })), key(json!({ "units": 2 })));
    let shipped = async |key: &IdempotencyKey| {
        let context = OrderContext { idempotency_key: Some(key), ..shop.as_merchant() };
        orders::ship(&context, id, Some(1), shipment(&[units(1, 1)])).await
    };
    let (first, second) = tokio::join!(shipped(&one), shipped(&one));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first.subject.is_some());
    assert_eq!((&first.subject, &first.details), (&second.subject, &second.details));
    let conflict = shipped(&other).await;
    let is_conflict = matches!(conflict, Err(OrderError::Idempotency(IdempotencyError::Conflict)));
    assert!(is_conflict, "{conflict:?}");
    assert_eq!(shop.details(id).await, first.details);
    // A caller that does not see the order does not learn of it.
    let key = key(json!({ "units": 1 }));
    let viewer = Viewer::Agent(vec![agent(2)]);
    let foreign = OrderContext { idempotency_key: Some(&key), viewer, ..shop.as_merchant() };
    let replayed = orders::ship(&foreign, id, Some(1), shipment(&[units(1, 1)])).await;
    assert!(matches!(replayed, Err(OrderError::NotFound)), "{replayed:?}");
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_idempotency_key() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let key = IdempotencyKey::new(shop.merchant, &"skey_1", "k-1", ("ship", &json!({}))).unwrap();
    let context = OrderContext { idempotency_key: Some(&key), ..shop.as_merchant() };
    let refused = orders::deliver(&context, order(1).id, None, Vec::new()).await;
    assert!(matches!(refused, Err(OrderError::InvalidTransition { .. })), "{refused:?}");
    let confirmed = orders::confirm(&context, order(1).id, None).await.unwrap();
    assert_eq!(confirmed.details.order.status, OrderStatus::Confirmed);
}

#[tokio::test]
async fn an_order_that_the_caller_does_not_see_cannot_be_changed() {
    let shop = Shop::open().await;
    let other = shop.another_merchant().await;
    shop.place(&order(1)).await.unwrap();
    shop.place(&Order { is_sandbox: true, ..order(2) }).await.unwrap();
    let (agent, merchant) = (shop.as_agent(2), shop.as_merchant());
    let elsewhere = OrderContext { merchant: other, ..shop.as_merchant() };
    let unknown = OrderId::from_random(9);
    for (context, id) in [
        (&agent, order(1).id),
        (&elsewhere, order(1).id),
        (&merchant, order(2).id),
        (&merchant, unknown),
    ] {
        let changed = orders::update(context, id, None, OrderUpdate::default()).await;
        assert!(matches!(changed, Err(OrderError::NotFound)), "{changed:?}");
    }
}

#[tokio::test]
async fn agents_and_buyers_do_nothing_that_is_the_merchants() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let id = order(1).id;
    let (agent, buyer) = (shop.as_agent(1), shop.acting(Actor::BUYER, Viewer::All));
    for context in [&agent, &buyer] {
        let (reason, note, reference) = (RefundReason::Other, None, None);
        let refund = NewRefund { amount: None, reason, note, reference };
        let by = testkit::administration();
        for result in [
            orders::confirm(context, id, None).await,
            orders::hold_for_review(context, id, None).await,
            orders::start_processing(context, id, None).await,
            orders::ship(context, id, None, Shipment::default()).await,
            orders::deliver(context, id, None, Vec::new()).await,
            orders::refund(context, id, None, refund).await,
            orders::set_payment_status(context, by, id, PaymentStatus::Failed).await,
        ] {
            let Err(OrderError::InvalidField { field, .. }) = result else { panic!("{result:?}") };
            assert_eq!(field, "actor");
        }
    }
    let by = testkit::administration();
    let refused =
        orders::set_payment_status(&shop.as_merchant(), by, id, PaymentStatus::Failed).await;
    assert!(matches!(refused, Err(OrderError::InvalidField { .. })), "{refused:?}");
    assert_eq!(shop.details(id).await.order.version, 1);
}

#[tokio::test]
async fn every_change_of_an_order_is_published_once_for_other_domains() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    let (merchant, id) = (shop.as_merchant(), order(1).id);
    orders::ship(&merchant, id, None, Shipment::default()).await.unwrap();
    orders::deliver(&merchant, id, None, Vec::new()).await.unwrap();
    shop.set_payment(1, PaymentStatus::Paid).await.unwrap();
    let published = "SELECT count(*) FROM outbox JOIN placed_order ON order_id = subject WHERE topic = 'order.changed'";
    assert_eq!(shop.count(published).await, 3, "placed, shipped, delivered; paid is no change");
}

#[tokio::test]
async fn a_sandbox_order_has_a_history_and_no_events() {
    let shop = Shop::open().await;
    shop.place(&Order { is_sandbox: true, ..order(1) }).await.unwrap();
    let context = shop.acting(orders::Actor::SYSTEM, orders::Viewer::All);
    for step in [Step::ShipOne, Step::CancelRest, Step::Deliver] {
        shop.act(&context, 1, step).await.unwrap();
    }
    let details = shop.details(order(1).id).await;
    assert_eq!(details.order.status, OrderStatus::Delivered);
    assert_eq!(shop.count("SELECT count(*) FROM webhook_event").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM outbox WHERE topic LIKE 'order.%'").await, 0);
}

#[tokio::test]
async fn history_and_refunds_cannot_be_rewritten() {
    let shop = Shop::open().await;
    shop.lead(1, OrderStatus::Delivered).await;
    for statement in [
        "UPDATE order_history SET reason = 'other'",
        "DELETE FROM order_history",
        "UPDATE order_fulfillment SET carrier = 'other'",
        "DELETE FROM order_fulfillment",
        "UPDATE order_refund SET amount_minor = 1",
        "DELETE FROM order_refund",
    ] {
        let mut work = Work::for_checkout(shop.test.database(), shop.merchant).await.unwrap();
        let refused = sqlx::raw_sql(statement).execute(work.sql()).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{statement}: {refused}");
    }
    for table in ["order_history", "order_fulfillment", "order_refund", "placed_order"] {
        let mut work = Work::for_store(shop.test.database(), shop.merchant).await.unwrap();
        let insert = format!("INSERT INTO {table} SELECT * FROM {table}");
        let refused = sqlx::raw_sql(sqlx::AssertSqlSafe(insert)).execute(work.sql()).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("permission denied"), "{table}: {refused}");
    }
}

#[tokio::test]
async fn the_platform_adds_no_evidence_and_nobody_deletes_a_pushed_order() {
    let shop = Shop::open().await;
    shop.lead(1, OrderStatus::Delivered).await;
    let denied = async |mut work: Work, statement: String| {
        let refused = sqlx::raw_sql(sqlx::AssertSqlSafe(statement.clone())).execute(work.sql());
        let refused = refused.await.unwrap_err().to_string();
        assert!(refused.contains("permission denied"), "{statement}: {refused}");
    };
    let database = shop.test.database();
    for table in [
        "order_history",
        "order_fulfillment",
        "order_refund",
        "order_return",
        "order_dispute",
        "dispute_statement",
        "order_feedback",
        "pushed_order",
    ] {
        let work = Work::for_platform(database).await.unwrap();
        denied(work, format!("INSERT INTO {table} SELECT * FROM {table}")).await;
        let work = Work::for_platform(database).await.unwrap();
        denied(work, format!("DELETE FROM {table}")).await;
    }
    let work = Work::for_store(database, shop.merchant).await.unwrap();
    denied(work, String::from("DELETE FROM pushed_order")).await;
    let work = Work::for_platform(database).await.unwrap();
    denied(work, String::from("UPDATE order_fulfillment SET delivered_at = shipped_at")).await;
}

#[tokio::test]
async fn orders_are_changed_while_purchases_use_all_connections_of_their_store() {
    let shop = Shop::open().await;
    shop.place(&order(1)).await.unwrap();
    // A quarter of them, one, is for purchases of one store.
    let database = shop.test.database().with_connections(4);
    let purchase = Work::for_checkout(&database, shop.merchant).await.unwrap();
    let merchant = OrderContext { database: &database, ..shop.as_merchant() };
    orders::confirm(&merchant, order(1).id, None).await.unwrap();
    purchase.rollback().await.unwrap();
}
