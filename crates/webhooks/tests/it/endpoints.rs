//! Creating, changing and deleting endpoints.

use std::collections::BTreeSet;
use std::time::Duration;

use identity::AuditAction;
use jobs::IdempotencyKey;
use outbound::{DestinationError, RequestError};
use primitives::{EndpointId, Failure, Id};
use webhooks::{
    DeleteDeliveries, DisabledReason, Endpoint, EndpointError, EndpointPatch, EndpointStatus,
    EventKind, NewEndpoint, SealingKey, Webhooks,
};

use crate::shop::{Shop, URL, actor, order_created};

fn status(status: EndpointStatus) -> EndpointPatch {
    EndpointPatch { status: Some(status), ..EndpointPatch::default() }
}

impl Shop {
    async fn update(
        &self,
        id: EndpointId,
        patch: EndpointPatch,
        version: Option<i32>,
    ) -> Result<Endpoint, EndpointError> {
        self.webhooks.update(self.merchant, actor(), id, patch, version).await
    }
}

#[tokio::test]
async fn a_new_endpoint_is_enabled_and_receives_the_events_of_the_specification() {
    let shop = Shop::open().await;
    let created = shop.create(NewEndpoint::new("https://1.1.1.1")).await.unwrap();
    let endpoint = created.endpoint;
    assert_eq!(endpoint.url, "https://1.1.1.1/");
    assert_eq!(endpoint.kinds, EventKind::DEFAULT.iter().copied().collect::<BTreeSet<_>>());
    assert!(endpoint.is_enabled() && endpoint.version == 1 && !endpoint.from_settings);
    assert_eq!(shop.find(endpoint.id).await.unwrap(), endpoint);
    assert_eq!(shop.webhooks.list(shop.merchant).await.unwrap(), [endpoint]);
    assert!(created.secret.unwrap().text().starts_with("whsec_"));
    assert_eq!(shop.count("SELECT count(*) FROM webhook_queue").await, 1);
}

#[tokio::test]
async fn the_twenty_first_endpoint_is_refused_also_if_all_are_created_at_once() {
    let shop = Shop::open().await;
    let requests = (0..25).map(|_| shop.create(NewEndpoint::new(URL)));
    let results = futures::future::join_all(requests).await;
    let created: Vec<_> = results.iter().flatten().map(|it| it.endpoint.id).collect();
    assert_eq!(created.len(), 20);
    for refused in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(matches!(refused, EndpointError::TooMany), "{refused:?}");
    }
    assert_eq!(shop.webhooks.list(shop.merchant).await.unwrap().len(), 20);
    shop.webhooks.delete(shop.merchant, actor(), created[7]).await.unwrap();
    shop.create(NewEndpoint::new(URL)).await.unwrap();
    let full = shop.create(NewEndpoint::new(URL)).await;
    assert!(matches!(full, Err(EndpointError::TooMany)), "{full:?}");
}

#[tokio::test]
async fn a_url_that_is_not_on_the_public_internet_is_refused() {
    let shop = Shop::open().await;
    for (url, expected) in [
        ("http://1.1.1.1/", DestinationError::Scheme),
        ("https://127.0.0.1/", DestinationError::Address),
        ("https://[::ffff:10.0.0.1]/", DestinationError::Address),
        ("https://user@1.1.1.1/", DestinationError::UserInfo),
        ("hooks", DestinationError::Invalid),
    ] {
        let refused = shop.create(NewEndpoint::new(url)).await.unwrap_err();
        let EndpointError::InvalidUrl { field: "url", error } = refused else {
            panic!("{url}: {refused:?}")
        };
        assert_eq!(error, expected, "{url}");
    }
    let refused = shop.create(NewEndpoint::new("https://localhost/")).await.unwrap_err();
    let expected = [RequestError::AddressRefused, RequestError::DnsFailed];
    assert!(
        matches!(&refused, EndpointError::RefusedUrl { error, .. } if expected.contains(error)),
        "{refused:?}"
    );
    let envelope = Failure::from(refused).envelope("req_1");
    assert_eq!(
        (&envelope["error"], &envelope["details"]["field"]),
        (&"invalid_request".into(), &"url".into())
    );
}

#[tokio::test]
async fn an_update_changes_what_it_names_and_raises_the_version() {
    let shop = Shop::open().await;
    let created = shop.endpoint().await;
    let patch = EndpointPatch {
        description: Some(String::from(" ERP ")),
        kinds: Some(BTreeSet::from([EventKind::OrderRefunded])),
        ..EndpointPatch::default()
    };
    let updated = shop.update(created.id, patch.clone(), Some(1)).await.unwrap();
    assert_eq!((updated.version, updated.description.as_str()), (2, "ERP"));
    assert_eq!((&updated.url, updated.status), (&created.url, created.status));
    let again = shop.update(created.id, patch.clone(), None).await.unwrap();
    assert_eq!(again, updated, "nothing differs, nothing is written");
    let late = shop.update(created.id, patch, Some(1)).await;
    assert!(matches!(late, Err(EndpointError::VersionConflict { current: 2 })), "{late:?}");
    assert_eq!(shop.find(created.id).await.unwrap(), updated);
}

#[tokio::test]
async fn an_endpoint_that_is_enabled_or_moved_starts_without_failures() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let fail = "INSERT INTO webhook_health (merchant_id, endpoint_id, consecutive_failures)
                SELECT merchant_id, endpoint_id, 7 FROM webhook_endpoint";
    let health = "SELECT count(*) FROM webhook_health";
    shop.execute(fail).await;
    let disabled = shop.update(id, status(EndpointStatus::Disabled), None).await.unwrap();
    assert_eq!(disabled.disabled_reason, Some(DisabledReason::Merchant));
    assert_eq!(disabled.disabled_at, Some(shop.now()));
    assert_eq!(shop.count(health).await, 1);
    shop.take_wakes().await;
    let enabled = shop.update(id, status(EndpointStatus::Enabled), None).await.unwrap();
    assert_eq!((enabled.disabled_reason, enabled.disabled_at), (None, None));
    assert_eq!(shop.count(health).await, 0);
    assert_eq!(shop.take_wakes().await, 1, "what was pending is due");
    shop.execute(fail).await;
    let url = Some(String::from("https://8.8.8.8/"));
    shop.update(id, EndpointPatch { url, ..EndpointPatch::default() }, None).await.unwrap();
    assert_eq!(shop.count(health).await, 0);
}

/// A transaction that has moved all endpoints to another URL, and another request that begins before it commits.
async fn while_it_is_moved<T>(shop: &Shop, request: impl Future<Output = T>) -> T {
    let mut other = shop.test.raw().await;
    sqlx::raw_sql("BEGIN").execute(&mut other).await.unwrap();
    sqlx::raw_sql("UPDATE webhook_endpoint SET url = 'https://8.8.8.8/', version = version + 1")
        .execute(&mut other)
        .await
        .unwrap();
    let commit = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while shop.count(waiting).await == 0 {
            tokio::task::yield_now().await;
        }
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    };
    let in_time = async { tokio::join!(request, commit).0 };
    tokio::time::timeout(Duration::from_secs(30), in_time).await.unwrap()
}

#[tokio::test]
async fn a_url_is_set_also_if_it_was_the_current_one_before_a_concurrent_request() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let patch = EndpointPatch { url: Some(URL.to_owned()), ..EndpointPatch::default() };
    let request = Box::pin(shop.update(id, patch.clone(), None));
    let updated = while_it_is_moved(&shop, request).await.unwrap();
    assert_eq!((updated.url.as_str(), updated.version), (URL, 3));
    assert_eq!(shop.find(id).await.unwrap(), updated);
    let request = Box::pin(shop.update(id, patch, Some(3)));
    let late = while_it_is_moved(&shop, request).await;
    assert!(matches!(late, Err(EndpointError::VersionConflict { current: 4 })), "{late:?}");
}

#[tokio::test]
async fn the_same_url_in_another_spelling_is_neither_resolved_nor_a_change() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    shop.execute("UPDATE webhook_endpoint SET url = 'https://hooks.invalid/'").await;
    let url = Some("HTTPS://hooks.INVALID:443".to_owned());
    let patch = EndpointPatch { url, ..EndpointPatch::default() };
    let same = shop.update(id, patch, None).await.unwrap();
    assert_eq!((same.url.as_str(), same.version), ("https://hooks.invalid/", 1));
}

#[tokio::test]
async fn a_merchant_does_not_overwrite_why_an_endpoint_is_disabled() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    shop.execute(
        "UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'gone', disabled_at = created_at",
    )
    .await;
    let same = shop.update(id, status(EndpointStatus::Disabled), None).await.unwrap();
    assert_eq!((same.disabled_reason, same.version), (Some(DisabledReason::Gone), 1));
}

#[tokio::test]
async fn a_deleted_endpoint_is_gone_and_its_deliveries_are_deleted_later() {
    let shop = Shop::open().await;
    let [first, second] = [shop.endpoint().await.id, shop.endpoint().await.id];
    shop.publish(&order_created(1)).await;
    shop.webhooks.delete(shop.merchant, actor(), first).await.unwrap();
    let again = shop.webhooks.delete(shop.merchant, actor(), first).await;
    assert!(matches!(again, Err(EndpointError::NotFound)), "{again:?}");
    assert!(matches!(shop.find(first).await, Err(EndpointError::NotFound)));
    shop.run_due::<DeleteDeliveries>().await;
    assert_eq!(shop.queue().await.len(), 2, "a transaction may not see the deletion yet");
    shop.advance(std::time::Duration::from_mins(1));
    shop.run_due::<DeleteDeliveries>().await;
    let left: Vec<_> = shop.queue().await.into_iter().map(|row| row.endpoint).collect();
    assert_eq!(left, [second]);
}

#[tokio::test]
async fn another_store_sees_and_changes_nothing() {
    let shop = Shop::open().await;
    let id = shop.endpoint().await.id;
    let event = shop.publish(&order_created(1)).await;
    let other = shop.another_merchant().await;
    let webhooks = &shop.webhooks;
    assert!(webhooks.list(other).await.unwrap().is_empty());
    let not_found = |result: Result<(), EndpointError>| {
        assert!(matches!(result, Err(EndpointError::NotFound)), "{result:?}");
    };
    not_found(webhooks.find(other, id).await.map(drop));
    not_found(webhooks.find_with_health(other, id).await.map(drop));
    not_found(webhooks.delete(other, actor(), id).await);
    not_found(webhooks.rotate_secret(other, actor(), id, None).await.map(drop));
    not_found(webhooks.send_test(other, id, None).await.map(drop));
    not_found(webhooks.redeliver(other, id, event, None).await);
    not_found(webhooks.delivery(other, id, event).await.map(drop));
    let patch =
        EndpointPatch { description: Some(String::from("ours")), ..EndpointPatch::default() };
    not_found(webhooks.update(other, actor(), id, patch, None).await.map(drop));
    assert_eq!(shop.queue().await.len(), 1);
    assert_eq!(shop.find(id).await.unwrap().description, "");
}

#[tokio::test]
async fn the_audit_log_names_the_host_and_neither_path_nor_secret() {
    let shop = Shop::open().await;
    let created = shop.create(NewEndpoint::new(URL)).await.unwrap();
    let id = created.endpoint.id;
    shop.update(id, status(EndpointStatus::Disabled), None).await.unwrap();
    let rotated = shop.webhooks.rotate_secret(shop.merchant, actor(), id, None).await.unwrap();
    shop.webhooks.delete(shop.merchant, actor(), id).await.unwrap();
    let entries = shop.audit(id).await;
    let mut actions: Vec<AuditAction> = entries.iter().map(|entry| entry.action).collect();
    actions.sort();
    assert_eq!(
        actions,
        [
            AuditAction::WebhookEndpointCreated,
            AuditAction::WebhookEndpointUpdated,
            AuditAction::WebhookEndpointDeleted,
            AuditAction::WebhookSecretRotated,
        ]
    );
    for entry in entries {
        let text = entry.details.to_string();
        assert!(text.contains("1.1.1.1") && !text.contains("secret-path"), "{text}");
        for secret in [&created.secret, &rotated.secret] {
            assert!(!text.contains(&secret.as_ref().unwrap().text()), "{text}");
        }
    }
}

#[tokio::test]
async fn a_repeated_request_creates_one_endpoint_and_shows_its_secret_once() {
    let shop = Shop::open().await;
    let key = IdempotencyKey::new(shop.merchant, &"key_1", "a", ("create", &URL)).unwrap();
    let create = || shop.webhooks.create(shop.merchant, actor(), NewEndpoint::new(URL), Some(&key));
    let first = create().await.unwrap();
    let second = create().await.unwrap();
    assert_eq!(first.endpoint, second.endpoint);
    assert!(first.secret.is_some() && second.secret.is_none());
    assert_eq!(shop.webhooks.list(shop.merchant).await.unwrap().len(), 1);
    // Its address is refused now.
    let settings = outbound::Settings {
        denied_networks: vec!["1.1.1.1/32".parse().unwrap()],
        ..outbound::Settings::default()
    };
    let client = outbound::Client::new(settings).unwrap();
    let refusing = Webhooks::new(shop.test.database().clone(), SealingKey::new([7; 32]), client);
    let new = || NewEndpoint::new(URL);
    assert!(refusing.create(shop.merchant, actor(), new(), None).await.is_err());
    let third = refusing.create(shop.merchant, actor(), new(), Some(&key)).await.unwrap();
    assert_eq!(third.endpoint, first.endpoint);
}

#[tokio::test]
async fn an_unknown_endpoint_is_not_found() {
    let shop = Shop::open().await;
    let unknown = EndpointId::from_random(77);
    let failure = Failure::from(shop.find(unknown).await.unwrap_err()).envelope("req_1");
    assert_eq!(failure["error"], "not_found");
    assert_eq!(failure["details"]["field"], "endpoint_id");
}
