//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod administration;
mod all_stores;
mod notices;
mod own_store;
mod payment_page;
mod roles;
mod settings;

use std::time::Duration;

use database::{Database, Work};
use merchants::{NewStore, Standing, StoreCache, StoreError, Unavailability};
use primitives::{Id, MerchantId, StoreSlug};
use testkit::{StoreBuilder, TestDatabase};

fn store(number: u128, slug: &str) -> NewStore {
    let text = |text: &str| text.to_owned();
    let store = StoreBuilder::new(slug).merchant(MerchantId::from_random(number));
    let store = store.with(|store| {
        store.name = text("A store");
        store.legal_name = text("A Store Ltd");
        store.description = text("Sells things");
        store.website_url = text("https://a.example");
        store.country = text("PT");
        store.languages = vec![text("pt")];
        store.ships_to = vec![text("PT")];
        store.support_email = text("help@a.example");
    });
    store.into_new_store()
}

async fn register(database: &Database, store: &NewStore) -> Result<(), StoreError> {
    let mut work = Work::for_platform(database).await.unwrap();
    merchants::register(&mut work, store).await?;
    work.commit().await.unwrap();
    Ok(())
}

/// The store that most tests use.
fn one() -> MerchantId {
    MerchantId::from_random(1)
}

fn slug(text: &str) -> StoreSlug {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_slug_belongs_to_one_merchant() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    register(test.database(), &store(1, "a")).await.unwrap();
    let taken = register(test.database(), &store(2, "a")).await;
    assert!(matches!(taken, Err(StoreError::SlugTaken)));
}

#[tokio::test]
async fn a_store_without_a_score_is_usable_but_takes_no_checkout() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    let found = StoreCache::new(test.database().clone(), Duration::ZERO).admit(&slug("a")).await;
    let found = found.unwrap();
    assert_eq!((found.standing.score, found.standing.allows_agent_checkout()), (None, false));
}

#[tokio::test]
async fn a_suspended_or_inactive_store_is_not_admitted() {
    let test = TestDatabase::new().await;
    let cache = StoreCache::new(test.database().clone(), Duration::ZERO);
    register(test.database(), &store(1, "low")).await.unwrap();
    register(test.database(), &NewStore { active: false, ..store(2, "shut") }).await.unwrap();
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let standing = Standing { score: Some(0.19), provisional: false, computed_at: work.now() };
    merchants::set_standing(&mut work, MerchantId::from_random(1), &standing).await.unwrap();
    work.commit().await.unwrap();
    assert!(matches!(
        cache.admit(&slug("low")).await,
        Err(StoreError::Suspended(Unavailability::LowTrustScore))
    ));
    assert!(matches!(cache.admit(&slug("shut")).await, Err(StoreError::NotFound)));
    assert!(matches!(cache.admit(&slug("none")).await, Err(StoreError::NotFound)));
    assert!(cache.find(&slug("low")).await.is_ok());
}

async fn set_standing(test: &TestDatabase, merchant: MerchantId, score: Option<f64>) {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let standing = Standing { score, provisional: score.is_none(), computed_at: work.now() };
    merchants::set_standing(&mut work, merchant, &standing).await.unwrap();
    work.commit().await.unwrap();
}

async fn standing(test: &TestDatabase, merchant: MerchantId) -> Standing {
    let reading = database::Reading::for_store(test.database(), merchant).unwrap();
    merchants::store(&reading, merchant).await.unwrap().standing
}

#[tokio::test]
async fn a_suspended_store_without_a_score_stays_suspended_until_a_score_ends_it() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "low")).await.unwrap();
    set_standing(&test, one(), Some(0.15)).await;
    test.clock().advance(Duration::from_hours(6));
    set_standing(&test, one(), None).await;
    let kept = standing(&test, one()).await;
    assert_eq!((kept.score, kept.provisional, kept.is_suspended()), (Some(0.15), false, true));
    assert_eq!(kept.computed_at, test.database().local_now());
    set_standing(&test, one(), Some(0.2)).await;
    set_standing(&test, one(), None).await;
    assert_eq!(standing(&test, one()).await.score, None, "it was not suspended any more");
}

#[tokio::test]
async fn standings_are_locked_also_if_they_do_not_exist() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "new")).await.unwrap();
    let mut first = Work::for_platform(test.database()).await.unwrap();
    merchants::lock_standings(&mut first, &[one()]).await.unwrap();
    let database = test.database().clone();
    let second = tokio::spawn(async move {
        let mut second = Work::for_platform(&database).await.unwrap();
        merchants::lock_standings(&mut second, &[one()]).await.unwrap();
        let standing = Standing { score: Some(0.9), provisional: false, computed_at: second.now() };
        merchants::set_standing(&mut second, one(), &standing).await.unwrap();
        second.commit().await.unwrap();
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!second.is_finished(), "it waits");
    let standing_of_first =
        Standing { score: Some(0.5), provisional: false, computed_at: first.now() };
    merchants::set_standing(&mut first, one(), &standing_of_first).await.unwrap();
    first.commit().await.unwrap();
    second.await.unwrap();
    assert_eq!(standing(&test, one()).await.score, Some(0.9));
}

#[tokio::test]
async fn a_merchant_finds_its_store_in_any_state() {
    let test = TestDatabase::new().await;
    let cache = StoreCache::new(test.database().clone(), Duration::ZERO);
    let merchant = MerchantId::from_random(1);
    assert!(matches!(cache.find_merchant(merchant).await, Err(StoreError::NotFound)));
    register(test.database(), &NewStore { active: false, ..store(1, "shut") }).await.unwrap();
    assert_eq!(cache.find_merchant(merchant).await.unwrap().slug, slug("shut"));
}

#[tokio::test]
async fn a_cached_store_expires() {
    let test = TestDatabase::new().await;
    let cache = StoreCache::new(test.database().clone(), Duration::from_millis(300));
    assert!(cache.find(&slug("late")).await.is_err());
    register(test.database(), &store(1, "late")).await.unwrap();
    assert!(cache.find(&slug("late")).await.is_err(), "missing stores are cached too");
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert!(cache.find(&slug("late")).await.is_ok());
}

#[tokio::test]
async fn a_store_reads_only_its_own_row() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    register(test.database(), &store(2, "b")).await.unwrap();
    let mut work = Work::for_store(test.database(), MerchantId::from_random(1)).await.unwrap();
    let seen: Vec<String> =
        sqlx::query_scalar("SELECT slug FROM store").fetch_all(work.sql()).await.unwrap();
    assert_eq!(seen, ["a"]);
}
