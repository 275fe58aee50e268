//! Secrets at rest, and their rotation.

use std::time::Duration;

use jobs::IdempotencyKey;
use primitives::{EndpointId, Timestamp};
use webhooks::{EndpointError, NewEndpoint};

use crate::shop::{DAY, Shop, URL, actor};

/// The stored secrets of an endpoint.
type Stored = (Vec<u8>, Option<Vec<u8>>, Option<Timestamp>);

impl Shop {
    async fn stored(&self, id: EndpointId) -> Stored {
        let select = sqlx::query_as(
            "SELECT secret, former_secret, former_secret_until FROM webhook_endpoint WHERE endpoint_id = $1",
        );
        select.bind(id).fetch_one(&mut self.test.raw().await).await.unwrap()
    }
}

fn contains(stored: &[u8], part: &[u8]) -> bool {
    stored.windows(part.len()).any(|window| window == part)
}

#[tokio::test]
async fn a_secret_is_stored_encrypted() {
    let shop = Shop::open().await;
    let created = shop.create(NewEndpoint::new(URL)).await.unwrap();
    let secret = created.secret.unwrap();
    let (stored, former, until) = shop.stored(created.endpoint.id).await;
    assert_eq!(stored.len(), 61, "format, nonce, 32 bytes, tag");
    assert!(!contains(&stored, &secret.key()[..8]));
    assert!(!contains(&stored, &secret.text().as_bytes()[6..14]));
    assert_eq!((former, until), (None, None));
}

#[tokio::test]
async fn a_rotated_secret_is_valid_for_another_day() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let (first, ..) = shop.stored(id).await;
    let rotate = || shop.webhooks.rotate_secret(shop.merchant, actor(), id, None);
    let rotated = rotate().await.unwrap();
    let (second, former, until) = shop.stored(id).await;
    assert_ne!(second, first);
    assert_eq!((former, until), (Some(first), Some(shop.now().plus(DAY))));
    assert_eq!(rotated.endpoint.former_secret_until, until);
    assert_eq!(rotated.endpoint.version, 2);
    shop.advance(DAY / 2);
    let again = rotate().await.unwrap();
    assert_ne!(again.secret, rotated.secret);
    let (third, former, until) = shop.stored(id).await;
    assert_ne!(third, second);
    assert_eq!((former, until), (Some(second), Some(shop.now().plus(DAY))));
}

#[tokio::test]
async fn requests_in_flight_during_many_rotations_count_for_the_health() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let health_version = async || {
        shop.webhooks.rotate_secret(shop.merchant, actor(), id, None).await.unwrap();
        shop.count("SELECT health_version::bigint FROM webhook_endpoint").await
    };
    assert_eq!(health_version().await, 2, "a process that could not read the secret tries again");
    for _ in 0..3 {
        shop.advance(Duration::from_mins(19));
        assert_eq!(health_version().await, 2);
    }
    shop.advance(Duration::from_hours(1));
    assert_eq!(health_version().await, 6);
}

#[tokio::test]
async fn a_repeated_rotation_changes_nothing() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let key = IdempotencyKey::new(shop.merchant, &"key_1", "a", ("rotate", &id)).unwrap();
    let rotate = || shop.webhooks.rotate_secret(shop.merchant, actor(), id, Some(&key));
    assert!(rotate().await.unwrap().secret.is_some());
    let stored = shop.stored(id).await;
    let again = rotate().await.unwrap();
    assert!(again.secret.is_none());
    assert_eq!(again.endpoint.version, 2);
    assert_eq!(shop.stored(id).await, stored);
}

#[tokio::test]
async fn a_rotation_of_an_unknown_endpoint_fails() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    shop.webhooks.delete(shop.merchant, actor(), id).await.unwrap();
    let rotated = shop.webhooks.rotate_secret(shop.merchant, actor(), id, None).await;
    assert!(matches!(rotated, Err(EndpointError::NotFound)), "{rotated:?}");
}
