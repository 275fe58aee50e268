//! Sending events again, and testing an endpoint.

use std::time::Duration;

use database::Work;
use jobs::{IdempotencyError, IdempotencyKey};
use primitives::{EndpointId, EventId, Id, Timestamp};
use webhooks::{
    EndpointError, EndpointPatch, EndpointStatus, EventKind, RecoverLateEvents, Recovery,
};

use crate::shop::{DAY, Queued, Shop, actor, checkout_abandoned, order_created};

impl Shop {
    async fn redeliver(&self, endpoint: EndpointId, event: EventId) -> Result<(), EndpointError> {
        self.webhooks.redeliver(self.merchant, endpoint, event, None).await
    }

    async fn recover(
        &self,
        endpoint: EndpointId,
        since: Timestamp,
    ) -> Result<Recovery, EndpointError> {
        let until = self.now().plus(DAY);
        self.webhooks.recover(self.merchant, endpoint, since, Some(until)).await
    }

    async fn disable(&self, endpoint: EndpointId) {
        let status = Some(EndpointStatus::Disabled);
        let patch = EndpointPatch { status, ..EndpointPatch::default() };
        self.webhooks.update(self.merchant, actor(), endpoint, patch, None).await.unwrap();
    }
}

#[tokio::test]
async fn a_delivered_event_and_a_dead_letter_are_sent_again_from_the_first_attempt_on() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    for (number, outcome) in [(1, "delivered"), (2, "dead")] {
        let event = shop.publish(&order_created(number)).await;
        shop.attempt(id, event, outcome).await;
        shop.advance(Duration::from_hours(1));
        shop.take_wakes().await;
        shop.redeliver(id, event).await.unwrap();
        let queue = shop.queue().await;
        let row = queue.iter().find(|row| row.event == event).unwrap();
        assert_eq!((row.attempts, row.is_dead), (0, false), "{outcome}");
        assert!(row.due_at <= shop.now(), "{outcome}");
        assert_eq!(shop.take_wakes().await, 1);
    }
}

#[tokio::test]
async fn a_pending_delivery_is_attempted_now_and_keeps_its_count() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let event = shop.publish(&order_created(1)).await;
    shop.attempt(id, event, "retry").await;
    shop.redeliver(id, event).await.unwrap();
    let queue = shop.queue().await;
    assert_eq!((queue[0].due_at, queue[0].attempts), (shop.now(), 1));
}

#[tokio::test]
async fn only_known_events_are_sent_again_and_only_to_enabled_endpoints() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let event = shop.publish(&order_created(1)).await;
    shop.attempt(id, event, "delivered").await;
    let unknown = shop.redeliver(id, EventId::from_random(77)).await;
    assert!(matches!(unknown, Err(EndpointError::EventNotFound)), "{unknown:?}");
    shop.disable(id).await;
    for refused in [
        shop.redeliver(id, event).await,
        shop.recover(id, shop.now().minus(DAY)).await.map(drop),
        shop.webhooks.send_test(shop.merchant, id, None).await.map(drop),
    ] {
        assert!(matches!(refused, Err(EndpointError::Disabled { .. })), "{refused:?}");
    }
    let other = shop.endpoint().await.id;
    shop.redeliver(other, event).await.unwrap();
    assert_eq!(shop.queued_for(other).await, [event], "it was never sent there");
    shop.advance(31 * DAY);
    let old = shop.redeliver(other, event).await;
    assert!(matches!(old, Err(EndpointError::EventNotFound)), "{old:?}");
}

#[tokio::test]
async fn a_recovery_queues_what_an_endpoint_has_not_received() {
    let shop = Shop::open().await;
    let start = shop.now();
    let before = shop.publish(&order_created(1)).await;
    shop.advance(Duration::from_secs(1));
    let id = shop.endpoint_for(&[EventKind::OrderCreated]).await.id;
    let [delivered, dead, pending] = [
        shop.publish(&order_created(2)).await,
        shop.publish(&order_created(3)).await,
        shop.publish(&order_created(4)).await,
    ];
    shop.publish(&checkout_abandoned(5)).await;
    shop.attempt(id, delivered, "delivered").await;
    shop.attempt(id, dead, "dead").await;
    shop.attempt(id, pending, "retry").await;
    shop.advance(Duration::from_secs(1));
    shop.take_wakes().await;
    let recovery = shop.recover(id, start).await.unwrap();
    assert_eq!(recovery, Recovery { queued: 2, next_since: None });
    assert_eq!(shop.take_wakes().await, 1);
    let queue = shop.queue().await;
    let row = |event| queue.iter().find(|row| row.event == event);
    for recovered in [before, dead] {
        let row = row(recovered).unwrap();
        assert_eq!((row.due_at, row.attempts, row.is_dead), (shop.now(), 0, false));
    }
    assert_eq!(row(pending).map(|row| row.attempts), Some(1), "it is attempted anyway");
    assert_eq!((row(delivered), queue.len()), (None, 3));
    let again = shop.recover(id, start).await.unwrap();
    assert_eq!(again.queued, 0, "nothing is queued twice");
    assert_eq!(shop.take_wakes().await, 0);
}

#[tokio::test]
async fn a_recovery_queues_dead_letters_of_every_kind() {
    let shop = Shop::open().await;
    let start = shop.now();
    let id = shop.endpoint_for(&[EventKind::OrderCreated]).await.id;
    let [received, of_another_kind] =
        [shop.publish(&order_created(1)).await, shop.publish(&checkout_abandoned(2)).await];
    shop.attempt(id, received, "delivered").await;
    shop.advance(Duration::from_secs(1));
    for event in [received, of_another_kind] {
        shop.redeliver(id, event).await.unwrap();
        shop.attempt(id, event, "dead").await;
    }
    shop.advance(Duration::from_secs(1));
    let recovery = shop.recover(id, start).await.unwrap();
    assert_eq!(recovery, Recovery { queued: 2, next_since: None });
    assert!(shop.queue().await.iter().all(|row| !row.is_dead));
}

#[tokio::test]
async fn an_event_of_a_release_that_did_not_deliver_is_recovered_with_its_body() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    shop.execute(
        "INSERT INTO webhook_event (merchant_id, event_id, kind, subject, body, created_at)
         SELECT merchant_id, md5(made::text)::uuid, 'order.created', md5(made::text)::uuid, '{}',
                timestamptz '2026-11-15 08:00:00Z'
         FROM store, generate_series(1, 2) AS made",
    )
    .await;
    shop.advance(DAY);
    let bodies = "SELECT count(*) FROM webhook_body WHERE body = '{}' AND bucket = webhook_bucket(created_at)";
    let select = sqlx::query_scalar("SELECT event_id FROM webhook_event LIMIT 1");
    let event: EventId = select.fetch_one(&mut shop.test.raw().await).await.unwrap();
    shop.redeliver(id, event).await.unwrap();
    assert_eq!((shop.queue().await.len(), shop.count(bodies).await), (1, 1));
    let recovery = shop.recover(id, shop.now().minus(2 * DAY)).await.unwrap();
    assert_eq!(recovery.queued, 1);
    assert_eq!((shop.queue().await.len(), shop.count(bodies).await), (2, 2));
}

#[tokio::test]
async fn a_recovery_has_a_range() {
    let shop = Shop::open().await;
    let mut events = Vec::new();
    for number in 1..=4 {
        events.push((shop.now(), shop.publish(&order_created(number)).await));
        shop.advance(DAY);
    }
    let id = shop.endpoint().await.id;
    let (since, until) = (events[1].0, events[3].0);
    let recover = async |since, until| shop.webhooks.recover(shop.merchant, id, since, until).await;
    let recovery = recover(since, Some(until)).await.unwrap();
    assert_eq!(recovery.queued, 2);
    assert_eq!(shop.queued_for(id).await, [events[1].1, events[2].1], "until is excluded");
    let empty = recover(since, Some(since)).await;
    assert!(matches!(empty, Err(EndpointError::InvalidRange { field: "until" })), "{empty:?}");
    let future = recover(shop.now(), None).await;
    assert!(matches!(future, Err(EndpointError::InvalidRange { field: "since" })), "{future:?}");
    shop.advance(28 * DAY);
    let recovery = recover(events[0].0, None).await.unwrap();
    assert_eq!(
        recovery.queued, 1,
        "the first two are older than the retention, the third is pending"
    );
}

#[tokio::test]
async fn an_event_that_becomes_visible_after_a_recovery_is_queued_too() {
    let shop = Shop::open().await;
    let start = shop.now();
    let id = shop.endpoint().await.id;
    shop.disable(id).await;
    // A purchase that publishes while the endpoint is disabled, and commits after the recovery.
    let mut purchase = Work::for_checkout(shop.test.database(), shop.merchant).await.unwrap();
    let event = webhooks::publish(&mut purchase, shop.merchant, &order_created(1)).await.unwrap();
    shop.advance(Duration::from_secs(1));
    let patch = EndpointPatch { status: Some(EndpointStatus::Enabled), ..EndpointPatch::default() };
    shop.webhooks.update(shop.merchant, actor(), id, patch, None).await.unwrap();
    shop.advance(Duration::from_secs(1));
    let recovery = shop.webhooks.recover(shop.merchant, id, start, None).await.unwrap();
    assert_eq!(recovery, Recovery { queued: 0, next_since: None });
    purchase.commit().await.unwrap();
    shop.advance(Duration::from_secs(25));
    shop.take_wakes().await;
    shop.run_due::<RecoverLateEvents>().await;
    assert_eq!((shop.queued_for(id).await, shop.take_wakes().await), (vec![event], 1));
}

#[tokio::test]
async fn a_recovery_of_a_range_that_has_long_ended_leaves_no_job() {
    let shop = Shop::open().await;
    let start = shop.now();
    let id = shop.endpoint().await.id;
    shop.publish(&order_created(1)).await;
    shop.advance(Duration::from_mins(1));
    let until = Some(shop.now().minus(Duration::from_secs(20)));
    shop.webhooks.recover(shop.merchant, id, start, until).await.unwrap();
    assert_eq!(shop.count("SELECT count(*) FROM job").await, 0);
    shop.webhooks.recover(shop.merchant, id, start, None).await.unwrap();
    assert_eq!(shop.count("SELECT count(*) FROM job").await, 1);
}

#[tokio::test]
async fn recoveries_that_follow_each_other_leave_one_job() {
    let shop = Shop::open().await;
    let start = shop.now();
    let id = shop.endpoint().await.id;
    for _ in 0..10 {
        shop.advance(Duration::from_millis(100));
        shop.webhooks.recover(shop.merchant, id, start, None).await.unwrap();
    }
    assert_eq!(shop.count("SELECT count(*) FROM job").await, 1);
    // Of a later time, and of another range.
    shop.advance(Duration::from_secs(5));
    shop.webhooks.recover(shop.merchant, id, start, None).await.unwrap();
    shop.webhooks.recover(shop.merchant, id, shop.now().minus(DAY), None).await.unwrap();
    assert_eq!(shop.count("SELECT count(*) FROM job").await, 3);
}

#[tokio::test]
async fn a_recovery_attempts_the_first_pending_delivery_of_an_endpoint_that_fails() {
    for (failures, due, woken) in [(5, 1, 1), (1, 1, 1), (0, 0, 0)] {
        let shop = Shop::open().await;
        let start = shop.now();
        shop.endpoint().await;
        shop.publish(&order_created(1)).await;
        shop.publish(&order_created(2)).await;
        shop.advance(Duration::from_secs(1));
        shop.wait_for_hours(failures).await;
        let id = shop.queue().await[0].endpoint;
        let recovery = shop.recover(id, start).await.unwrap();
        assert_eq!(recovery.queued, 0, "all are pending");
        let is_due = |row: &&Queued| row.due_at == shop.now();
        let queue = shop.queue().await;
        assert_eq!(queue.iter().filter(is_due).count(), due, "{failures} failures");
        assert_eq!(shop.take_wakes().await, woken, "{failures} failures");
    }
}

#[tokio::test]
async fn a_recovery_probes_an_endpoint_that_fails_once_however_long_the_range_is() {
    let shop = Shop::open().await;
    let start = shop.now();
    let id = shop.endpoint().await.id;
    // More events than one transaction looks at, all of them pending.
    shop.publish(&order_created(1)).await;
    shop.execute(
        "INSERT INTO webhook_event (merchant_id, event_id, kind, subject, created_at)
         SELECT merchant_id, md5(made::text)::uuid, kind, md5(made::text)::uuid, created_at + made * interval '1 millisecond'
         FROM webhook_event, generate_series(1, 2500) AS made",
    )
    .await;
    shop.execute(
        "INSERT INTO webhook_delivery (merchant_id, endpoint_id, event_at, event_id, due_at, attempts, starts)
         SELECT merchant_id, endpoint_id, event.created_at, event_id, event.created_at, 1, 1
         FROM webhook_event AS event JOIN webhook_endpoint USING (merchant_id) ON CONFLICT DO NOTHING",
    )
    .await;
    shop.advance(Duration::from_mins(1));
    shop.wait_for_hours(5).await;
    let recovery = shop.recover(id, start).await.unwrap();
    assert_eq!(recovery, Recovery { queued: 0, next_since: None });
    let due = shop.queue().await.iter().filter(|row| row.due_at == shop.now()).count();
    assert_eq!((due, shop.take_wakes().await), (1, 1));
}

#[tokio::test]
async fn a_long_range_is_recovered_in_several_calls() {
    let shop = Shop::open().await;
    let start = shop.now();
    // As many events as one call queues, and some more, each a millisecond later.
    shop.execute(
        "INSERT INTO webhook_event (merchant_id, event_id, kind, subject, created_at)
         SELECT store.merchant_id, md5(made::text)::uuid, 'order.created', md5(made::text)::uuid,
                timestamptz '2026-11-15 08:00:00Z' + made * interval '1 millisecond'
         FROM store, generate_series(1, 10500) AS made",
    )
    .await;
    shop.advance(Duration::from_mins(1));
    let id = shop.endpoint().await.id;
    let first = shop.recover(id, start).await.unwrap();
    assert_eq!(first.queued, Recovery::QUEUED_MAX);
    let second = shop.recover(id, first.next_since.unwrap()).await.unwrap();
    assert_eq!(second, Recovery { queued: 500, next_since: None });
    assert_eq!(shop.queue().await.len(), 10_500);
}

#[tokio::test]
async fn a_test_is_sent_to_one_endpoint_whatever_it_selects() {
    let shop = Shop::open().await;
    let id = shop.endpoint_for(&[EventKind::OrderRefunded]).await.id;
    let other = shop.endpoint().await.id;
    shop.take_wakes().await;
    let event = shop.webhooks.send_test(shop.merchant, id, None).await.unwrap();
    assert_eq!(shop.queued_for(id).await, [event]);
    assert!(shop.queued_for(other).await.is_empty());
    assert_eq!(shop.take_wakes().await, 1);
    let delivery = shop.webhooks.delivery(shop.merchant, id, event).await.unwrap();
    assert_eq!(delivery.kind, EventKind::WebhookTest);
    let elsewhere = shop.redeliver(other, event).await;
    assert!(matches!(elsewhere, Err(EndpointError::EventNotFound)), "{elsewhere:?}");
    assert_eq!(shop.count("SELECT count(*) FROM outbox WHERE topic = 'webhook.test'").await, 0);
}

#[tokio::test]
async fn a_repeated_request_sends_one_test() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let key =
        |request: &str| IdempotencyKey::new(shop.merchant, &"key_1", "a", (request, &())).unwrap();
    let repeated = key("test");
    shop.take_wakes().await;
    let send = || shop.webhooks.send_test(shop.merchant, id, Some(&repeated));
    let first = send().await.unwrap();
    assert_eq!(send().await.unwrap(), first);
    assert_eq!((shop.queued_for(id).await, shop.take_wakes().await), (vec![first], 1));
    let other = shop.webhooks.send_test(shop.merchant, id, Some(&key("another"))).await;
    let is_conflict = matches!(other, Err(EndpointError::Idempotency(IdempotencyError::Conflict)));
    assert!(is_conflict, "{other:?}");
    shop.disable(id).await;
    assert_eq!(send().await.unwrap(), first, "the answer does not depend on what came later");
}

#[tokio::test]
async fn a_repeated_request_sends_an_event_again_once() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let event = shop.publish(&order_created(1)).await;
    shop.attempt(id, event, "delivered").await;
    shop.take_wakes().await;
    let key = IdempotencyKey::new(shop.merchant, &"key_1", "a", ("again", &event)).unwrap();
    let redeliver = || shop.webhooks.redeliver(shop.merchant, id, event, Some(&key));
    redeliver().await.unwrap();
    assert_eq!((shop.queued_for(id).await, shop.take_wakes().await), (vec![event], 1));
    shop.advance(Duration::from_secs(1));
    shop.attempt(id, event, "delivered").await;
    redeliver().await.unwrap();
    assert!(shop.queue().await.is_empty(), "it is not sent a third time");
    assert_eq!(shop.take_wakes().await, 0);
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_key() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    shop.disable(id).await;
    let key = IdempotencyKey::new(shop.merchant, &"key_1", "a", ("test", &id)).unwrap();
    let send = || shop.webhooks.send_test(shop.merchant, id, Some(&key));
    assert!(matches!(send().await, Err(EndpointError::Disabled { .. })));
    let status = Some(EndpointStatus::Enabled);
    let patch = EndpointPatch { status, ..EndpointPatch::default() };
    shop.webhooks.update(shop.merchant, actor(), id, patch, None).await.unwrap();
    let event = send().await.unwrap();
    assert_eq!(shop.queued_for(id).await, [event]);
}
