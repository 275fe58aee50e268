//! Reading all stores, and the events of a change.

use std::time::Duration;

use database::{Reading, Work};
use merchants::{
    DirectoryQuery, Identity, IdentityStatus, NewStore, Policies, Standing, Store, StoreError,
};
use primitives::{Id, MerchantId, PageRequest};
use testkit::TestDatabase;

use crate::{register, store};

fn one() -> MerchantId {
    MerchantId::from_random(1)
}

/// Returns the number of store events so far.
async fn events(test: &TestDatabase) -> i64 {
    sqlx::query_scalar(
        "SELECT count(*) FROM outbox WHERE topic = 'store.changed' AND subject = merchant_id",
    )
    .fetch_one(&mut test.raw().await)
    .await
    .unwrap()
}

async fn work(test: &TestDatabase) -> Work {
    Work::for_platform(test.database()).await.unwrap()
}

#[tokio::test]
async fn an_event_is_published_when_a_store_differs() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    assert_eq!(events(&test).await, 1);
    let mut synced = store(1, "a");
    synced.last_sync_at = Some(synced.member_since);
    register(test.database(), &synced).await.unwrap();
    assert_eq!(events(&test).await, 1, "a synchronization publishes nothing");
    let reading = Reading::for_store(test.database(), one()).unwrap();
    let kept = merchants::store(&reading, one()).await.unwrap();
    assert_eq!(kept.last_sync_at, synced.last_sync_at);
    register(test.database(), &store(2, "b")).await.unwrap();
    let second = Reading::for_store(test.database(), MerchantId::from_random(2)).unwrap();
    let second = merchants::store(&second, MerchantId::from_random(2)).await.unwrap();
    assert_eq!(second.number, kept.number + 1, "registering again uses up no number");
    register(test.database(), &NewStore { active: false, ..synced }).await.unwrap();
    assert_eq!(events(&test).await, 3);

    let mut work = work(&test).await;
    merchants::record_sync(&mut work, one()).await.unwrap();
    merchants::set_catalog_summary(&mut work, one(), &[String::from("Home")], 7).await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(events(&test).await, 3, "nor does a product count");
}

#[tokio::test]
async fn an_event_is_published_when_a_score_differs_and_its_time_is_always_stored() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let before = events(&test).await;
    for (score, provisional, expected) in
        [(None, true, 1), (Some(0.9), true, 2), (Some(0.9), true, 2), (Some(0.9), false, 3)]
    {
        test.clock().advance(Duration::from_hours(1));
        let mut work = work(&test).await;
        let standing = Standing { score, provisional, computed_at: work.now() };
        merchants::set_standing(&mut work, one(), &standing).await.unwrap();
        work.commit().await.unwrap();
        assert_eq!(events(&test).await - before, expected, "{standing:?}");
        let reading = Reading::for_store(test.database(), one()).unwrap();
        assert_eq!(merchants::store(&reading, one()).await.unwrap().standing, standing);
    }
}

#[tokio::test]
async fn an_event_is_published_when_policies_or_identity_differ() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let before = events(&test).await;
    let policies = Policies { return_window_days: Some(30), ..Policies::default() };
    let mut identity = Identity {
        status: IdentityStatus::Pending,
        level: None,
        method: Some(String::from("registry")),
        verified_at: None,
    };
    for (expected, status) in
        [(2, IdentityStatus::Pending), (2, IdentityStatus::Pending), (3, IdentityStatus::Verified)]
    {
        identity.status = status;
        let mut work = work(&test).await;
        merchants::set_policies(&mut work, one(), &policies).await.unwrap();
        merchants::set_identity(&mut work, one(), &identity).await.unwrap();
        work.commit().await.unwrap();
        assert_eq!(events(&test).await - before, expected);
    }
}

#[tokio::test]
async fn all_stores_are_read_in_any_state() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    register(test.database(), &NewStore { active: false, ..store(2, "shut") }).await.unwrap();
    insert_many(&test, 2050).await;
    let reading = Reading::for_platform(test.database());
    let stores = merchants::all_stores(&reading).await.unwrap().stores;
    assert_eq!(stores.len(), 2052);
    assert!(stores.is_sorted_by(|one, next| one.number < next.number));
    assert!(stores.iter().any(|store| store.slug.as_str() == "shut"));

    let two = MerchantId::from_random(2);
    let some = merchants::stores_of(&reading, &[two, MerchantId::from_random(9), one()]).await;
    assert_eq!(slugs(&some.unwrap().stores), ["a", "shut"]);
}

#[tokio::test]
async fn a_store_that_cannot_be_read_is_left_out_of_the_directory() {
    let test = TestDatabase::new().await;
    for (number, slug) in [(1, "a"), (2, "b"), (3, "c")] {
        register(test.database(), &store(number, slug)).await.unwrap();
    }
    let two = MerchantId::from_random(2);
    make_unreadable(&test, two).await;

    let query = DirectoryQuery {
        words: None,
        category: None,
        min_trust: None,
        platform: None,
        page: PageRequest::new(None, None),
    };
    let page = merchants::directory(test.database(), &query).await.unwrap();
    assert_eq!(slugs(&page.stores), ["a", "c"]);
    // What keeps stores in memory reads the others, and tries this one again later.
    let reading = Reading::for_platform(test.database());
    let all = merchants::all_stores(&reading).await.unwrap();
    assert_eq!((slugs(&all.stores), all.unreadable), (vec!["a".into(), "c".into()], vec![two]));
    let some = merchants::stores_of(&reading, &[one(), two]).await.unwrap();
    assert_eq!((slugs(&some.stores), some.unreadable), (vec!["a".into()], vec![two]));
    let single = merchants::store(&reading, two).await;
    assert!(matches!(single, Err(StoreError::Database(_))));
}

/// Adds active stores: more than one page of `all_stores`.
async fn insert_many(test: &TestDatabase, count: i32) {
    sqlx::query(
        "INSERT INTO store (merchant_id, slug, name, legal_name, description, website_url, platform,
             active, country, currency, languages, ships_to, support_email, member_since, updated_at)
         SELECT md5(number::text)::uuid, 'many-' || number, 'Many', '', '', '', 'api', true, 'PT', 'EUR',
                '{}', '{}', '', 'epoch', 'epoch' FROM generate_series(1, $1) AS number",
    )
    .bind(count)
    .execute(&mut test.raw().await)
    .await
    .unwrap();
}

/// Stores a currency that this version does not know.
async fn make_unreadable(test: &TestDatabase, merchant: MerchantId) {
    sqlx::query("UPDATE store SET currency = 'QQQ' WHERE merchant_id = $1")
        .bind(merchant.uuid())
        .execute(&mut test.raw().await)
        .await
        .unwrap();
}

fn slugs(stores: &[Store]) -> Vec<String> {
    stores.iter().map(|store| store.slug.to_string()).collect()
}
