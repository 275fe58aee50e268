//! Publishing events: what is queued, and when.

use database::Work;
use serde_json::Value;
use webhooks::{EndpointPatch, EndpointStatus, EventKind};

use crate::shop::{Shop, actor, checkout_abandoned, order_created};

#[tokio::test]
async fn an_event_is_queued_for_enabled_endpoints_that_select_its_kind() {
    let shop = Shop::open().await;
    let all = shop.endpoint().await.id;
    let orders = shop.endpoint_for(&[EventKind::OrderCreated]).await.id;
    let refunds = shop.endpoint_for(&[EventKind::OrderRefunded]).await.id;
    let disabled = shop.endpoint().await.id;
    let patch =
        EndpointPatch { status: Some(EndpointStatus::Disabled), ..EndpointPatch::default() };
    shop.webhooks.update(shop.merchant, actor(), disabled, patch, None).await.unwrap();
    shop.take_wakes().await;
    let order = shop.publish(&order_created(1)).await;
    let abandoned = shop.publish(&checkout_abandoned(2)).await;
    let queued = shop.queued_for(all).await;
    assert!(queued.len() == 2 && queued.contains(&order) && queued.contains(&abandoned));
    assert_eq!(shop.queued_for(orders).await, [order]);
    assert!(shop.queued_for(refunds).await.is_empty());
    assert!(shop.queued_for(disabled).await.is_empty());
    for row in shop.queue().await {
        assert_eq!((row.due_at, row.attempts, row.is_dead), (shop.now(), 0, false), "{row:?}");
    }
    assert_eq!(shop.take_wakes().await, 2, "one for each event");
}

#[tokio::test]
async fn an_event_of_a_transaction_that_is_rolled_back_leaves_nothing() {
    let shop = Shop::open().await;
    shop.endpoint().await;
    shop.take_wakes().await;
    let mut work = Work::for_checkout(shop.test.database(), shop.merchant).await.unwrap();
    webhooks::publish(&mut work, shop.merchant, &order_created(1)).await.unwrap();
    work.rollback().await.unwrap();
    for left in [
        "SELECT count(*) FROM webhook_event",
        "SELECT count(*) FROM webhook_body",
        "SELECT count(*) FROM webhook_delivery",
        "SELECT count(*) FROM webhook_wake",
        "SELECT count(*) FROM outbox WHERE topic = 'order.created'",
    ] {
        assert_eq!(shop.count(left).await, 0, "{left}");
    }
}

#[tokio::test]
async fn an_event_that_nobody_receives_is_stored_and_wakes_nobody() {
    let shop = Shop::open().await;
    shop.publish(&order_created(1)).await;
    assert_eq!(shop.count("SELECT count(*) FROM webhook_event WHERE body IS NULL").await, 1);
    assert_eq!(shop.count("SELECT count(*) FROM webhook_body").await, 1);
    assert_eq!(shop.take_wakes().await, 0);
}

#[tokio::test]
async fn the_body_is_stored_once_for_all_endpoints() {
    let shop = Shop::open().await;
    shop.endpoint().await;
    shop.endpoint().await;
    let id = shop.publish(&order_created(1)).await;
    let select = sqlx::query_scalar("SELECT body FROM webhook_body WHERE event_id = $1");
    let bodies: Vec<Vec<u8>> = select.bind(id).fetch_all(&mut shop.test.raw().await).await.unwrap();
    assert_eq!(bodies.len(), 1);
    let body: Value = serde_json::from_slice(&bodies[0]).unwrap();
    assert_eq!((&body["id"], &body["event"]), (&id.to_string().into(), &"order.created".into()));
    assert_eq!(shop.queue().await.len(), 2);
}

#[tokio::test]
async fn the_role_of_a_store_publishes_too() {
    let shop = Shop::open().await;
    shop.endpoint().await;
    let mut work = Work::for_store(shop.test.database(), shop.merchant).await.unwrap();
    webhooks::publish(&mut work, shop.merchant, &order_created(1)).await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(shop.queue().await.len(), 1);
}

#[tokio::test]
async fn a_store_appends_events_and_changes_none() {
    let shop = Shop::open().await;
    let rights = "SELECT count(*) FROM unnest('{souk_store,souk_checkout}'::text[]) AS role,
                                       unnest('{UPDATE,DELETE,TRUNCATE}'::text[]) AS change
                  WHERE has_table_privilege(role, 'webhook_event', change)";
    assert_eq!(shop.count(rights).await, 0);
}
