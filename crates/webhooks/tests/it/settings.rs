//! The endpoint of `webhook_url` in the settings.

use database::Work;
use webhooks::{
    EndpointError, EndpointPatch, EndpointStatus, EventKind, NewEndpoint, SigningSecret,
};

use crate::shop::{Shop, URL, actor};

const MOVED: &str = "https://8.8.8.8/hooks";

impl Shop {
    /// Sets `webhook_url`, as a change of the settings does.
    async fn set_url(&self, url: Option<&str>) -> Result<Option<SigningSecret>, EndpointError> {
        let Some(plan) = self.webhooks.plan_settings_url(self.merchant, url).await? else {
            return Ok(None);
        };
        let change = self.webhooks.check_settings_url(plan).await?;
        let mut work = Work::for_store(self.test.database(), self.merchant).await?;
        let set = self.webhooks.apply_settings_url(&mut work, self.merchant, actor(), &change);
        let secret = set.await?;
        work.commit().await?;
        Ok(secret)
    }

    async fn url(&self) -> Option<String> {
        self.webhooks.settings_url(self.merchant).await.unwrap()
    }
}

#[tokio::test]
async fn a_url_in_the_settings_is_an_endpoint() {
    let shop = Shop::open().await;
    assert_eq!(shop.url().await, None);
    let secret = shop.set_url(Some(URL)).await.unwrap();
    assert!(secret.is_some());
    assert_eq!(shop.url().await.as_deref(), Some(URL));
    let [endpoint] = &shop.webhooks.list(shop.merchant).await.unwrap()[..] else { panic!() };
    assert!(endpoint.from_settings && endpoint.kinds.len() == EventKind::DEFAULT.len());
    assert_eq!(shop.set_url(Some(URL)).await.unwrap(), None, "the same URL changes nothing");
    assert_eq!(shop.find(endpoint.id).await.unwrap(), *endpoint);
}

#[tokio::test]
async fn a_url_is_the_same_in_every_spelling() {
    let shop = Shop::open().await;
    let spellings = [
        URL.to_owned(),
        format!(" {URL}\n"),
        URL.replace("https:", "HTTPS:"),
        URL.replace(".1/", ".1:443/"),
    ];
    let is_url =
        async |url| shop.webhooks.plan_settings_url(shop.merchant, url).await.unwrap().is_none();
    assert!(is_url(None).await && !is_url(Some(URL)).await && !is_url(Some("")).await);
    shop.set_url(Some(URL)).await.unwrap();
    assert!(!is_url(None).await && !is_url(Some("")).await && !is_url(Some(MOVED)).await);
    for spelling in &spellings {
        assert!(is_url(Some(spelling)).await, "{spelling}");
    }
}

#[tokio::test]
async fn whether_the_url_is_the_same_is_known_once_the_settings_are_locked() {
    let shop = Shop::open().await;
    shop.set_url(Some(URL)).await.unwrap();
    let mut work = Work::for_store(shop.test.database(), shop.merchant).await.unwrap();
    merchants::lock_settings(&mut work, shop.merchant).await.unwrap();
    for (url, expected) in [(Some(URL), true), (Some(MOVED), false), (None, false)] {
        let is_url = shop.webhooks.is_settings_url(&mut work, shop.merchant, url).await.unwrap();
        assert_eq!(is_url, expected, "{url:?}");
    }
    work.rollback().await.unwrap();
}

#[tokio::test]
async fn another_url_moves_the_endpoint_and_enables_it() {
    let shop = Shop::open().await;
    shop.set_url(Some(URL)).await.unwrap();
    let id = shop.webhooks.list(shop.merchant).await.unwrap()[0].id;
    let status = Some(EndpointStatus::Disabled);
    let patch = EndpointPatch { status, ..EndpointPatch::default() };
    shop.webhooks.update(shop.merchant, actor(), id, patch, None).await.unwrap();
    assert_eq!(shop.set_url(Some(MOVED)).await.unwrap(), None, "it keeps its secret");
    let moved = shop.find(id).await.unwrap();
    assert!(moved.is_enabled() && moved.url == MOVED);
    assert_eq!(shop.url().await.as_deref(), Some(MOVED));
}

#[tokio::test]
async fn without_a_url_the_endpoint_of_the_settings_is_deleted_and_no_other() {
    let shop = Shop::open().await;
    let other = shop.endpoint().await;
    shop.set_url(Some(URL)).await.unwrap();
    assert_eq!(shop.set_url(None).await.unwrap(), None);
    assert_eq!(shop.webhooks.list(shop.merchant).await.unwrap(), [other]);
    assert_eq!(shop.set_url(None).await.unwrap(), None);
    assert!(shop.set_url(Some(URL)).await.unwrap().is_some(), "a new endpoint has a new secret");
}

#[tokio::test]
async fn the_limit_applies_to_the_endpoint_of_the_settings_too() {
    let shop = Shop::open().await;
    for _ in 0..20 {
        shop.create(NewEndpoint::new(URL)).await.unwrap();
    }
    let full = shop.set_url(Some(URL)).await;
    assert!(matches!(full, Err(EndpointError::TooMany)), "{full:?}");
}

#[tokio::test]
async fn an_error_names_the_field_of_the_settings() {
    let shop = Shop::open().await;
    let refused = shop.set_url(Some("https://192.168.0.1/")).await;
    assert!(
        matches!(refused, Err(EndpointError::InvalidUrl { field: "webhook_url", .. })),
        "{refused:?}"
    );
}
