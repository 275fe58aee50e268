//! Listing the events of a store as they happen.

use std::collections::BTreeSet;
use std::time::Duration;

use database::Work;
use primitives::EventId;
use webhooks::EventStart;

use crate::shop::{DAY, Shop, order_created};

/// Reads all events from a position on, in pages of two, and returns the next position.
async fn read(shop: &Shop, mut start: EventStart) -> (Vec<EventId>, EventStart) {
    let mut found = Vec::new();
    loop {
        let page = shop.webhooks.events(shop.merchant, start, 2).await.unwrap();
        found.extend(page.events.iter().map(|event| event.id));
        start = EventStart::Cursor(page.next.to_string().parse().unwrap());
        if !page.has_more {
            return (found, start);
        }
    }
}

#[tokio::test]
async fn events_are_listed_from_a_time_on_with_the_bytes_of_their_body() {
    let shop = Shop::open().await;
    shop.publish(&order_created(1)).await;
    shop.advance(Duration::from_secs(30));
    let start = EventStart::Since(shop.now());
    let expected = [shop.publish(&order_created(2)).await, shop.publish(&order_created(3)).await];
    let id = shop.endpoint().await.id;
    shop.webhooks.send_test(shop.merchant, id, None).await.unwrap();
    let page = shop.webhooks.events(shop.merchant, start, 100).await.unwrap();
    let found: BTreeSet<EventId> = page.events.iter().map(|event| event.id).collect();
    assert_eq!(found, BTreeSet::from(expected), "without the test");
    for event in page.events {
        let select = sqlx::query_scalar("SELECT body FROM webhook_body WHERE event_id = $1");
        let stored: Vec<u8> =
            select.bind(event.id).fetch_one(&mut shop.test.raw().await).await.unwrap();
        assert_eq!(event.body, stored);
    }
    let other = shop.another_merchant().await;
    let page = shop.webhooks.events(other, start, 100).await.unwrap();
    assert!(page.events.is_empty() && !page.has_more);
}

#[tokio::test]
async fn an_event_that_is_committed_after_later_ones_is_not_missed() {
    let shop = Shop::open().await;
    let cursor = EventStart::Since(shop.now());
    let mut slow = Work::for_checkout(shop.test.database(), shop.merchant).await.unwrap();
    let late = webhooks::publish(&mut slow, shop.merchant, &order_created(1)).await.unwrap();
    let mut later = Vec::new();
    for number in 2..=6 {
        shop.advance(Duration::from_secs(1));
        later.push(shop.publish(&order_created(number)).await);
    }
    let (found, cursor) = read(&shop, cursor).await;
    assert_eq!(found, later);
    slow.commit().await.unwrap();
    let (found, _) = read(&shop, cursor).await;
    assert!(found.contains(&late), "{found:?}");
}

#[tokio::test]
async fn a_reader_that_follows_sees_every_event_and_finally_no_old_one_again() {
    let shop = Shop::open().await;
    let (mut seen, mut expected) = (BTreeSet::new(), BTreeSet::new());
    let mut cursor = EventStart::Since(shop.now());
    for number in 1..=30 {
        expected.insert(shop.publish(&order_created(number)).await);
        shop.advance(Duration::from_secs(3));
        let (found, next) = read(&shop, cursor).await;
        assert!(found.len() <= 9, "the overlap is some seconds: {}", found.len());
        seen.extend(found);
        cursor = next;
    }
    assert_eq!(seen, expected);
    shop.advance(Duration::from_mins(1));
    let (_, cursor) = read(&shop, cursor).await;
    let (found, _) = read(&shop, cursor).await;
    assert!(found.is_empty(), "{found:?}");
}

#[tokio::test]
async fn a_reader_that_starts_now_sees_what_comes() {
    let shop = Shop::open().await;
    shop.publish(&order_created(1)).await;
    shop.advance(Duration::from_secs(1));
    let (found, cursor) = read(&shop, EventStart::Now).await;
    assert!(found.is_empty(), "{found:?}");
    let next = shop.publish(&order_created(2)).await;
    assert_eq!(read(&shop, cursor).await.0, [next]);
}

#[tokio::test]
async fn a_reader_starts_with_what_begins_then() {
    let shop = Shop::open().await;
    let mut before = Work::for_checkout(shop.test.database(), shop.merchant).await.unwrap();
    webhooks::publish(&mut before, shop.merchant, &order_created(1)).await.unwrap();
    shop.advance(Duration::from_secs(1));
    let (_, cursor) = read(&shop, EventStart::Now).await;
    let next = shop.publish(&order_created(2)).await;
    before.commit().await.unwrap();
    assert_eq!(read(&shop, cursor).await.0, [next]);
}

#[tokio::test]
async fn events_older_than_the_retention_are_not_listed() {
    let shop = Shop::open().await;
    let cursor = EventStart::Since(shop.now());
    shop.publish(&order_created(1)).await;
    shop.advance(31 * DAY);
    let recent = shop.publish(&order_created(2)).await;
    assert_eq!(read(&shop, cursor).await.0, [recent]);
}
