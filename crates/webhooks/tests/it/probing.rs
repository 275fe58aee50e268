//! Attempting deliveries to endpoints that fail at once, on request.

use std::time::Duration;

use database::Reading;
use identity::{Actor, AuditAction};
use merchants::Administration;
use primitives::EndpointId;

use crate::dispatching::{Dispatching, Running};
use crate::receiver::Behavior;
use crate::shop::{Shop, order_created};

impl Shop {
    /// Probes the failing endpoints of all stores, and returns their number.
    async fn probe_all(&self) -> u64 {
        let reason = "name servers were down".parse().unwrap();
        let by = Administration { actor: Actor::Operator, reason: &reason };
        webhooks::probe_failing_endpoints(self.test.database(), by, None).await.unwrap()
    }
}

#[tokio::test]
async fn an_operator_probes_failing_endpoints_of_a_store_or_of_all() {
    let shop = Shop::open().await;
    let [open, closed] = [shop.endpoint().await.id, shop.endpoint().await.id];
    shop.publish(&order_created(1)).await;
    let health = "INSERT INTO webhook_health (merchant_id, endpoint_id, consecutive_failures, probe_at)
                  SELECT merchant_id, endpoint_id, 5, now() + interval '100 years' FROM webhook_endpoint";
    shop.execute(health).await;
    let sql = &mut shop.test.raw().await;
    let close = "UPDATE webhook_health SET consecutive_failures = 0, probe_at = NULL WHERE endpoint_id = $1";
    sqlx::query(close).bind(closed).execute(&mut *sql).await.unwrap();
    shop.take_wakes().await;
    let reason = "name servers were down".parse().unwrap();
    let by = Administration { actor: Actor::Operator, reason: &reason };
    let database = shop.test.database();
    let other = shop.another_merchant().await;
    let probe = async |store| webhooks::probe_failing_endpoints(database, by, store).await.unwrap();
    assert_eq!((probe(Some(other)).await, shop.take_wakes().await), (0, 0));
    assert_eq!((probe(None).await, shop.take_wakes().await), (1, 1));
    let (_, health) = shop.webhooks.find_with_health(shop.merchant, open).await.unwrap();
    assert_eq!(health.probe_at, Some(shop.now()));
    assert_eq!((probe(Some(shop.merchant)).await, shop.take_wakes().await), (1, 1), "again");
    shop.attempt(open, shop.queued_for(open).await[0], "delivered").await;
    assert_eq!((probe(None).await, shop.take_wakes().await), (0, 0), "nothing is pending");
    let audit = identity::audit_entries(database, "all stores", 10).await.unwrap();
    assert!(audit.iter().all(|entry| entry.action == AuditAction::WebhookEndpointsProbed));
    let endpoints = audit.iter().map(|entry| entry.details["endpoints"].as_u64());
    assert_eq!(endpoints.collect::<Vec<_>>(), [Some(0), Some(1)]);
}

#[tokio::test]
async fn a_disabled_endpoint_has_no_open_circuit() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    shop.execute(
        "INSERT INTO webhook_health (merchant_id, endpoint_id, consecutive_failures, probe_at)
         SELECT merchant_id, endpoint_id, 5, now() + interval '100 years' FROM webhook_endpoint",
    )
    .await;
    let database = shop.test.database();
    let platform = Reading::for_platform(database);
    let circuits = async || webhooks::webhook_stats(&platform).await.unwrap().open_circuits;
    let probe_at =
        async || shop.webhooks.find_with_health(shop.merchant, id).await.unwrap().1.probe_at;
    assert!(circuits().await == 1 && probe_at().await.is_some());
    let disable = "UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'failing', disabled_at = now()";
    shop.execute(disable).await;
    shop.take_wakes().await;
    assert!(circuits().await == 0 && probe_at().await.is_none());
    let reason = "name servers were down".parse().unwrap();
    let by = Administration { actor: Actor::Operator, reason: &reason };
    assert_eq!(webhooks::probe_failing_endpoints(database, by, None).await.unwrap(), 0);
    assert_eq!(shop.take_wakes().await, 0);
}

#[tokio::test]
async fn a_probe_attempts_what_would_wait_for_hours() {
    let shop = Shop::open().await;
    let [failing, other] = [shop.endpoint().await.id, shop.endpoint().await.id];
    shop.publish(&order_created(1)).await;
    shop.publish(&order_created(2)).await;
    shop.execute("UPDATE webhook_delivery SET due_at = now() + interval '100 years', attempts = 4, starts = 4").await;
    let sql = &mut shop.test.raw().await;
    let health = "INSERT INTO webhook_health (merchant_id, endpoint_id, consecutive_failures)
                  SELECT merchant_id, endpoint_id, CASE WHEN endpoint_id = $1 THEN 4 ELSE 0 END FROM webhook_endpoint";
    sqlx::query(health).bind(failing).execute(&mut *sql).await.unwrap();
    let reason = "name servers were down".parse().unwrap();
    let by = Administration { actor: Actor::Operator, reason: &reason };
    let probed = webhooks::probe_failing_endpoints(shop.test.database(), by, None).await.unwrap();
    let due = "SELECT count(*) FROM webhook_delivery WHERE endpoint_id = $1 AND due_at <= $2";
    let due = async |endpoint: EndpointId| -> i64 {
        let (sql, now) = (&mut shop.test.raw().await, shop.now());
        sqlx::query_scalar(due).bind(endpoint).bind(now).fetch_one(sql).await.unwrap()
    };
    assert_eq!((probed, due(failing).await, due(other).await), (1, 1, 0));
}

#[tokio::test]
async fn a_probe_whose_time_has_passed_keeps_no_delivery_waiting() {
    let shop = Shop::open().await;
    shop.endpoint().await;
    shop.publish(&order_created(1)).await;
    shop.wait_for_hours(5).await;
    assert_eq!(shop.probe_all().await, 1);
    assert_eq!((shop.queue().await[0].due_at, shop.take_wakes().await), (shop.now(), 1));
}

#[tokio::test]
async fn many_endpoints_are_probed_in_several_transactions() {
    let shop = Shop::open().await;
    shop.endpoint().await;
    // More than a store may have, instead of many stores.
    shop.execute("ALTER TABLE webhook_endpoint DROP CONSTRAINT webhook_endpoint_slot_check").await;
    shop.execute(
        "INSERT INTO webhook_endpoint (merchant_id, endpoint_id, slot, url, description, kinds, status, from_settings, secret,
                                       version, created_at, updated_at)
         SELECT merchant_id, md5(number::text)::uuid, number, url, description, kinds, status, from_settings, secret,
                version, created_at, updated_at
         FROM webhook_endpoint, generate_series(2, 1200) AS number",
    )
    .await;
    shop.publish(&order_created(1)).await;
    shop.wait_for_hours(5).await;
    let due = async || {
        let queue = shop.queue().await;
        queue.iter().filter(|row| row.due_at == shop.now()).count()
    };
    let mut recording = shop.test.raw().await;
    sqlx::raw_sql("BEGIN; SELECT FROM webhook_health ORDER BY endpoint_id LIMIT 500 FOR UPDATE")
        .execute(&mut recording)
        .await
        .unwrap();
    assert_eq!(shop.probe_all().await, 700, "the others are being recorded");
    assert_eq!(due().await, 700);
    sqlx::raw_sql("ROLLBACK").execute(&mut recording).await.unwrap();
    shop.advance(Duration::from_secs(1));
    assert_eq!(shop.probe_all().await, 1200);
    let transactions = "SELECT count(DISTINCT xmin::text) FROM webhook_health";
    assert_eq!(shop.count(transactions).await, 3);
}

#[tokio::test]
async fn what_a_merchant_requests_during_a_probe_is_the_next_one() {
    let test = Dispatching::open().await;
    let id = test.endpoint("/a").await.endpoint.id;
    test.publish(1).await;
    test.shop.wait_for_hours(5).await;
    assert_eq!(test.shop.probe_all().await, 1);
    test.receiver.set("/a", Behavior::GatedFailure);
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/a") == 1).await;
    // The probe is in flight, and fails.
    test.shop.advance(Duration::from_secs(1));
    let requested = test.shop.webhooks.send_test(test.shop.merchant, id, None).await.unwrap();
    test.receiver.permit(1);
    test.receiver.until(|receiver| receiver.count("/a") == 2).await;
    let sent = test.receiver.received()[1].headers["webhook-id"].clone();
    assert_eq!(sent, requested.to_string());
    // Nothing was requested during this one.
    test.receiver.permit(1);
    test.until_count("SELECT count(*) FROM webhook_attempt", 2).await;
    dispatcher.stop().await;
    let (_, health) = test.shop.webhooks.find_with_health(test.shop.merchant, id).await.unwrap();
    assert!(health.probe_at.is_some_and(|at| at > test.shop.now()), "{health:?}");
}

#[tokio::test]
async fn a_delivery_that_is_probed_again_while_it_is_in_flight_is_attempted_again() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.publish(1).await;
    test.shop.wait_for_hours(5).await;
    assert_eq!(test.shop.probe_all().await, 1);
    test.receiver.set("/a", Behavior::GatedFailure);
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/a") == 1).await;
    test.shop.advance(Duration::from_secs(1));
    assert_eq!(test.shop.probe_all().await, 1);
    test.receiver.permit(1);
    test.receiver.until(|receiver| receiver.count("/a") == 2).await;
    test.receiver.permit(1);
    dispatcher.stop().await;
}
