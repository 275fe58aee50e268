//! What is kept, and what is deleted after thirty days.

use database::Reading;
use jobs::Scheduled;
use primitives::EventId;
use webhooks::{EndpointPatch, EndpointStatus, PurgeWebhooks, RETENTION};

use crate::shop::{DAY, Shop, actor, order_created};

const BODIES: &str = "SELECT count(*) FROM webhook_body";
const ATTEMPTS: &str = "SELECT count(*) FROM webhook_attempt";
const EVENTS: &str = "SELECT count(*) FROM webhook_event";

impl Shop {
    async fn purge(&self) {
        self.run(&PurgeWebhooks::for_epoch(1)).await;
    }

    async fn counts(&self) -> [i64; 3] {
        [self.count(BODIES).await, self.count(ATTEMPTS).await, self.count(EVENTS).await]
    }
}

#[tokio::test]
async fn a_partition_is_emptied_when_its_newest_row_is_older_than_the_retention() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let event = shop.publish(&order_created(1)).await;
    shop.attempt(id, event, "delivered").await;
    shop.advance(RETENTION);
    shop.purge().await;
    assert_eq!(shop.counts().await, [1, 1, 1], "exactly thirty days are kept");
    // The day of the event ends sixteen hours after it.
    shop.advance(DAY);
    let recent = shop.publish(&order_created(2)).await;
    shop.attempt(id, recent, "delivered").await;
    shop.purge().await;
    assert_eq!(shop.counts().await, [1, 1, 1], "the recent ones");
    let left: EventId = sqlx::query_scalar("SELECT event_id FROM webhook_body")
        .fetch_one(&mut shop.test.raw().await)
        .await
        .unwrap();
    assert_eq!(left, recent);
}

#[tokio::test]
async fn a_partition_that_holds_a_younger_row_is_not_emptied() {
    let shop = Shop::open().await;
    shop.publish(&order_created(1)).await;
    shop.advance(35 * DAY);
    // A row that was written to the partition of another day.
    shop.execute(
        "INSERT INTO webhook_body (bucket, merchant_id, event_id, body, created_at)
         SELECT bucket, merchant_id, md5('younger')::uuid, body, created_at + interval '20 days' FROM webhook_body",
    )
    .await;
    shop.purge().await;
    assert_eq!(shop.count(BODIES).await, 2);
}

#[tokio::test]
async fn the_ring_is_used_again_and_again() {
    let shop = Shop::open().await;
    let mut events = Vec::new();
    for number in 1..=100 {
        events.push(shop.publish(&order_created(number)).await);
        shop.advance(DAY);
        shop.purge().await;
        let kept = shop.count(BODIES).await;
        assert!((number.min(30)..=31).contains(&u128::try_from(kept).unwrap()), "{number}: {kept}");
    }
    let kept: Vec<EventId> =
        sqlx::query_scalar("SELECT event_id FROM webhook_body ORDER BY created_at")
            .fetch_all(&mut shop.test.raw().await)
            .await
            .unwrap();
    assert_eq!(kept, events[events.len() - kept.len()..]);
    assert_eq!(shop.count("SELECT count(DISTINCT tableoid) FROM webhook_body").await, 30);
}

#[tokio::test]
async fn a_delivery_ends_thirty_days_after_its_event_whatever_its_status() {
    let shop = Shop::open().await;
    let [failing, paused] = [shop.endpoint().await.id, shop.endpoint().await.id];
    let event = shop.publish(&order_created(1)).await;
    let status = Some(EndpointStatus::Disabled);
    let patch = EndpointPatch { status, ..EndpointPatch::default() };
    shop.webhooks.update(shop.merchant, actor(), paused, patch, None).await.unwrap();
    shop.advance(29 * DAY);
    // Its last attempt is recent.
    shop.attempt(failing, event, "dead").await;
    let recent = shop.publish(&order_created(2)).await;
    shop.purge().await;
    assert_eq!(shop.queue().await.len(), 3);
    let counts = async |endpoint| {
        let found = shop.webhooks.find_with_health(shop.merchant, endpoint).await.unwrap();
        (found.1.pending, found.1.dead)
    };
    assert_eq!((counts(failing).await, counts(paused).await), ((1, 1), (1, 0)));

    shop.advance(2 * DAY);
    assert_eq!((counts(failing).await, counts(paused).await), ((1, 0), (0, 0)));
    let platform = Reading::for_platform(shop.test.database());
    let counted = webhooks::webhook_stats(&platform).await.unwrap();
    assert_eq!((counted.pending, counted.dead), (1, 0), "what no list has is not counted");
    shop.purge().await;
    let queue = shop.queue().await;
    assert_eq!(queue.iter().map(|row| row.event).collect::<Vec<_>>(), [recent]);
}

#[tokio::test]
async fn old_deliveries_of_endpoints_that_do_not_exist_any_more_are_deleted() {
    let shop = Shop::open().await;
    shop.endpoint().await;
    shop.publish(&order_created(1)).await;
    // As if the job that deletes its deliveries had been discarded.
    shop.execute("DELETE FROM webhook_endpoint").await;
    // Of other endpoints, more than a statement deletes.
    shop.execute(
        "INSERT INTO webhook_delivery (merchant_id, endpoint_id, event_at, event_id, due_at, attempts, starts)
         SELECT merchant_id, md5((made % 7)::text)::uuid, event_at, md5(made::text)::uuid, due_at, 0, 0
         FROM webhook_delivery, generate_series(1, 2500) AS made",
    )
    .await;
    shop.advance(29 * DAY);
    shop.purge().await;
    assert_eq!(shop.queue().await.len(), 2501);
    shop.advance(2 * DAY);
    shop.purge().await;
    assert_eq!(shop.queue().await.len(), 0);
}

#[tokio::test]
async fn events_are_deleted_in_batches_until_none_is_left() {
    let shop = Shop::open().await;
    shop.execute(
        "INSERT INTO webhook_event (merchant_id, event_id, kind, subject, created_at)
         SELECT store.merchant_id, md5(made::text)::uuid, 'order.created', md5(made::text)::uuid,
                timestamptz '2026-11-15 08:00:00Z'
         FROM store, generate_series(1, 2500) AS made",
    )
    .await;
    shop.advance(31 * DAY);
    shop.purge().await;
    assert_eq!(shop.count(EVENTS).await, 0);
}

#[tokio::test]
async fn the_partition_of_a_time_is_its_day_modulo_forty() {
    let shop = Shop::open().await;
    let bucket = "SELECT webhook_bucket(timestamptz '2026-11-15 00:00:00Z')::bigint";
    // 20,772 days after 1970-01-01.
    assert_eq!(shop.count(bucket).await, 20_772 % 40);
    let last = "SELECT webhook_bucket(timestamptz '2026-11-15 23:59:59.999999Z')::bigint";
    assert_eq!(shop.count(last).await, 20_772 % 40);
    let in_another_zone = "SELECT webhook_bucket(timestamptz '2026-11-16 00:30:00+01:00')::bigint";
    assert_eq!(shop.count(in_another_zone).await, 20_772 % 40);
}

#[tokio::test]
async fn a_former_secret_is_deleted_when_it_signs_nothing_any_more() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    shop.webhooks.rotate_secret(shop.merchant, actor(), id, None).await.unwrap();
    let former = "SELECT count(*) FROM webhook_endpoint WHERE former_secret IS NOT NULL";
    shop.advance(DAY);
    shop.purge().await;
    assert_eq!(shop.count(former).await, 1, "a day of overlap");
    shop.advance(std::time::Duration::from_secs(1));
    shop.purge().await;
    assert_eq!(shop.count(former).await, 0);
}
