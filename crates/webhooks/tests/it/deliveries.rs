//! Reading deliveries, attempts and the health of an endpoint.

use std::time::Duration;

use primitives::{EndpointId, EventId, Id};
use webhooks::{
    AttemptOutcome, DeliveriesFilter, Delivery, DeliveryPage, DeliveryStatus, EndpointError,
    HealthState,
};

use crate::shop::{DAY, Shop, order_created};

impl Shop {
    async fn list(&self, endpoint: EndpointId, filter: DeliveriesFilter) -> DeliveryPage {
        self.webhooks.deliveries(self.merchant, endpoint, &filter).await.unwrap()
    }

    async fn with_status(&self, endpoint: EndpointId, status: DeliveryStatus) -> Vec<EventId> {
        let filter =
            DeliveriesFilter { status: Some(status), limit: 100, ..DeliveriesFilter::default() };
        events(&self.list(endpoint, filter).await.deliveries)
    }

    /// Publishes so many events, a second after each other.
    async fn publish_several(&self, count: u128) -> Vec<EventId> {
        let mut events = Vec::new();
        for number in 1..=count {
            events.push(self.publish(&order_created(number)).await);
            self.advance(Duration::from_secs(1));
        }
        events
    }
}

fn events(deliveries: &[Delivery]) -> Vec<EventId> {
    deliveries.iter().map(|delivery| delivery.event).collect()
}

#[tokio::test]
async fn deliveries_are_listed_by_status() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let [untried, delivered, failed, dead] = shop.publish_several(4).await[..] else { panic!() };
    shop.attempt(id, delivered, "retry").await;
    shop.advance(Duration::from_secs(5));
    shop.attempt(id, delivered, "delivered").await;
    shop.attempt(id, failed, "retry").await;
    shop.attempt(id, dead, "dead").await;
    assert_eq!(shop.with_status(id, DeliveryStatus::Pending).await, [failed, untried]);
    assert_eq!(shop.with_status(id, DeliveryStatus::Delivered).await, [delivered]);
    assert_eq!(shop.with_status(id, DeliveryStatus::Dead).await, [dead]);
    let filter = DeliveriesFilter { limit: 100, ..DeliveriesFilter::default() };
    let page = shop.list(id, filter).await;
    assert_eq!(events(&page.deliveries), [dead, failed, delivered, untried]);
    assert_eq!(page.next, None);
    let [dead, failed, delivered, untried] = &page.deliveries[..] else { panic!() };
    assert_eq!((untried.attempts, untried.attempt_log.len()), (0, 0));
    assert_eq!(untried.next_attempt_at, Some(untried.event_at));
    assert_eq!(failed.next_attempt_at, Some(shop.now().plus(Duration::from_hours(1))));
    assert_eq!((dead.attempts, dead.next_attempt_at), (1, None));
    assert_eq!((delivered.attempts, delivered.next_attempt_at), (2, None));
    assert_eq!(delivered.attempt_log[0].outcome, AttemptOutcome::Delivered, "the newest one");
    assert_eq!(delivered.attempt_log[0].status, Some(204));
    assert_eq!(failed.attempt_log[0].response.as_deref(), Some(&b"oops"[..]));
}

#[tokio::test]
async fn the_next_attempt_waits_for_the_circuit_and_for_the_endpoint() {
    let shop = Shop::open().await;
    let created_at = shop.now();
    let id = shop.endpoint().await.id;
    shop.publish_several(1).await;
    let next = async || {
        let filter = DeliveriesFilter { limit: 1, ..DeliveriesFilter::default() };
        shop.list(id, filter).await.deliveries[0].next_attempt_at
    };
    shop.execute(
        "INSERT INTO webhook_health (merchant_id, endpoint_id, last_attempt_at, failing_since, consecutive_failures, probe_at)
         SELECT merchant_id, endpoint_id, created_at, created_at, 5, created_at + interval '1 minute' FROM webhook_endpoint",
    )
    .await;
    assert_eq!(next().await, Some(created_at.plus(Duration::from_mins(1))));
    shop.execute("UPDATE webhook_delivery SET due_at = event_at + interval '1 hour'").await;
    assert_eq!(
        next().await,
        Some(created_at.plus(Duration::from_hours(1))),
        "later than the probe"
    );
    shop.execute("UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'merchant', disabled_at = created_at")
        .await;
    assert_eq!(next().await, None);
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps_or_repetitions() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let mut expected = shop.publish_several(7).await;
    for event in [expected[1], expected[4], expected[5]] {
        shop.attempt(id, event, "delivered").await;
    }
    expected.reverse();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = shop.list(id, DeliveriesFilter { after, limit: 3, ..Default::default() }).await;
        found.extend(events(&page.deliveries));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, expected);
}

#[tokio::test]
async fn a_delivery_is_read_with_all_its_attempts() {
    let shop = Shop::open().await;
    let [id, other] = [shop.endpoint().await.id, shop.endpoint().await.id];
    let event = shop.publish(&order_created(1)).await;
    shop.attempt(id, event, "retry").await;
    shop.advance(DAY);
    shop.attempt(id, event, "retry").await;
    shop.attempt(other, event, "delivered").await;
    let delivery = shop.webhooks.delivery(shop.merchant, id, event).await.unwrap();
    let attempts: Vec<_> = delivery.attempt_log.iter().map(|it| (it.number, it.at)).collect();
    let now = shop.now();
    assert_eq!(attempts, [(2, now), (1, now.minus(DAY))], "the newest first");
    assert_eq!((delivery.status, delivery.attempts), (DeliveryStatus::Pending, 2));
    let unknown = EventId::from_random(77);
    let missing = shop.webhooks.delivery(shop.merchant, id, unknown).await;
    assert!(matches!(missing, Err(EndpointError::DeliveryNotFound)), "{missing:?}");
}

#[tokio::test]
async fn an_event_that_was_delivered_and_queued_again_is_listed_once() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let event = shop.publish(&order_created(1)).await;
    shop.attempt(id, event, "delivered").await;
    shop.advance(Duration::from_secs(1));
    shop.webhooks.redeliver(shop.merchant, id, event, None).await.unwrap();
    assert!(shop.with_status(id, DeliveryStatus::Delivered).await.is_empty());
    assert_eq!(shop.with_status(id, DeliveryStatus::Pending).await, [event]);
    shop.attempt(id, event, "delivered").await;
    assert_eq!(shop.with_status(id, DeliveryStatus::Delivered).await, [event]);
    let delivery = shop.webhooks.delivery(shop.merchant, id, event).await.unwrap();
    assert_eq!(delivery.attempt_log.len(), 2);
}

#[tokio::test]
async fn health_counts_what_waits_and_what_has_failed() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let health = async || shop.webhooks.find_with_health(shop.merchant, id).await.unwrap().1;
    assert_eq!(health().await.state(), HealthState::Untried);
    let [_, _, dead] = shop.publish_several(3).await[..] else { panic!() };
    shop.attempt(id, dead, "dead").await;
    shop.execute(
        "INSERT INTO webhook_health (merchant_id, endpoint_id, last_attempt_at, failing_since, consecutive_failures)
         SELECT merchant_id, endpoint_id, created_at, created_at, 3 FROM webhook_endpoint",
    )
    .await;
    let health = health().await;
    assert_eq!((health.state(), health.consecutive_failures), (HealthState::Failing, 3));
    assert_eq!((health.pending, health.dead), (2, 1));
}
