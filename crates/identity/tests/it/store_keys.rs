//! Store keys.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use database::Work;
use identity::{
    Actor, IdentityError, IssuedKey, NewStoreKey, Secret, StoreKeys, StoreProgram, StoreScope,
};
use primitives::{ErrorCode, Failure, Id, KeyId, MerchantId, Problem, Timestamp};
use testkit::TestDatabase;

use crate::{HOME, secret};

fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

fn keys(test: &TestDatabase) -> StoreKeys {
    StoreKeys::new(test.database().clone(), secret(), Duration::ZERO)
}

async fn issue(test: &TestDatabase, name: &str, expires_at: Option<Timestamp>) -> IssuedKey {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let (secret, actor) = (secret(), Actor::Operator);
    let new = NewStoreKey { expires_at, ..NewStoreKey::new(name) };
    let issued = identity::issue_store_key(&mut work, &secret, actor, merchant(), &new).await;
    let (issued, _) = issued.unwrap();
    work.commit().await.unwrap();
    issued
}

async fn revoke(
    test: &TestDatabase,
    merchant: MerchantId,
    key: KeyId,
) -> Result<(), IdentityError> {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    identity::revoke_store_key(&mut work, Actor::Operator, merchant, key).await?;
    work.commit().await.unwrap();
    Ok(())
}

fn assert_rejected(result: Result<Arc<StoreProgram>, IdentityError>) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unauthorized);
    let message = "the key is not valid: it is unknown, expired or revoked";
    assert_eq!(Failure::from(error).message(), message);
}

#[tokio::test]
async fn a_key_authenticates_its_merchant() {
    let test = TestDatabase::new().await;
    let issued = issue(&test, "shop system", None).await;
    assert!(issued.key.starts_with(&issued.prefix) && issued.key.len() == 69);
    assert!(!format!("{issued:?}").contains(&issued.key));
    let program = keys(&test).program_of(&issued.key, HOME).await.unwrap();
    assert_eq!((program.key, program.merchant), (issued.key_id, merchant()));
}

#[tokio::test]
async fn unknown_and_malformed_keys_yield_the_same_error() {
    let test = TestDatabase::new().await;
    let keys = keys(&test);
    assert_rejected(keys.program_of(&format!("mrch_{}", "0".repeat(64)), HOME).await);
    // Malformed keys are rejected without the database.
    test.database().close().await;
    for malformed in ["", "mrch_", "mrch_'; DROP TABLE store", &"a".repeat(100_000)] {
        assert_rejected(keys.program_of(malformed, HOME).await);
    }
    let unavailable = keys.program_of(&format!("mrch_{}", "1".repeat(64)), HOME).await.unwrap_err();
    assert_eq!(unavailable.code(), ErrorCode::ServiceUnavailable);
}

#[tokio::test]
async fn revoking_a_key_does_not_affect_the_others() {
    let test = TestDatabase::new().await;
    let (old, new) = (issue(&test, "old", None).await, issue(&test, "new", None).await);
    let keys = keys(&test);
    revoke(&test, merchant(), old.key_id).await.unwrap();
    assert_rejected(keys.program_of(&old.key, HOME).await);
    assert!(keys.program_of(&new.key, HOME).await.is_ok());
    let first = identity::store_keys(test.database(), merchant()).await.unwrap();
    test.clock().advance(Duration::from_hours(1));
    revoke(&test, merchant(), old.key_id).await.unwrap();
    assert_eq!(identity::store_keys(test.database(), merchant()).await.unwrap(), first);
}

#[tokio::test]
async fn a_revocation_takes_effect_when_the_cache_entry_expires() {
    let test = TestDatabase::new().await;
    let issued = issue(&test, "cached", None).await;
    // An age above the maximum is clamped, so that revocation always takes effect within five seconds.
    let keys = StoreKeys::new(test.database().clone(), secret(), Duration::from_hours(1));
    assert!(keys.program_of(&issued.key, HOME).await.is_ok());
    revoke(&test, merchant(), issued.key_id).await.unwrap();
    assert!(keys.program_of(&issued.key, HOME).await.is_ok(), "the result is cached");
    tokio::time::sleep(identity::CACHE_AGE_MAX + Duration::from_millis(200)).await;
    assert_rejected(keys.program_of(&issued.key, HOME).await);
}

#[tokio::test]
async fn one_store_cannot_revoke_the_key_of_another() {
    let test = TestDatabase::new().await;
    let issued = issue(&test, "mine", None).await;
    let other = revoke(&test, MerchantId::from_random(2), issued.key_id).await;
    assert!(matches!(other, Err(IdentityError::KeyNotFound)));
    assert!(keys(&test).program_of(&issued.key, HOME).await.is_ok());
}

#[tokio::test]
async fn a_key_expires_at_its_time() {
    let test = TestDatabase::new().await;
    let end = Timestamp::from_unix_micros(testkit::START).plus(Duration::from_hours(24));
    let issued = issue(&test, "for a day", Some(end)).await;
    let keys = keys(&test);
    test.clock().advance(Duration::from_hours(24) - Duration::from_micros(1));
    assert!(keys.program_of(&issued.key, HOME).await.is_ok());
    test.clock().advance(Duration::from_micros(1));
    assert_rejected(keys.program_of(&issued.key, HOME).await);
    let listed = identity::store_keys(test.database(), merchant()).await.unwrap();
    assert!(!listed[0].is_active_at(end));
}

#[tokio::test]
async fn under_another_secret_every_key_is_unknown() {
    let test = TestDatabase::new().await;
    let issued = issue(&test, "old secret", None).await;
    let other = Secret::new("another secret of 32 bytes and more").unwrap();
    let keys = StoreKeys::new(test.database().clone(), other, Duration::ZERO);
    assert_rejected(keys.program_of(&issued.key, HOME).await);
}

#[tokio::test]
async fn the_text_of_a_key_is_stored_in_no_column() {
    let test = TestDatabase::new().await;
    let issued = issue(&test, "hidden", None).await;
    let rows: Vec<String> = sqlx::query_scalar("SELECT k::text FROM platform.store_key AS k")
        .fetch_all(&mut test.raw().await)
        .await
        .unwrap();
    assert_eq!(rows.len(), 1);
    let secret_digits = &issued.key[issued.prefix.len()..];
    assert!(!rows[0].contains(secret_digits) && rows[0].contains(&issued.prefix));
    // Nor is any part of it.
    for start in 0..secret_digits.len() - 16 {
        assert!(!rows[0].contains(&secret_digits[start..start + 16]));
    }
}

#[tokio::test]
async fn a_store_cannot_read_keys() {
    let test = TestDatabase::new().await;
    issue(&test, "out of reach", None).await;
    let mut work = Work::for_store(test.database(), merchant()).await.unwrap();
    let read = sqlx::query("SELECT FROM platform.store_key").fetch_all(work.sql()).await;
    assert!(read.unwrap_err().to_string().contains("permission denied"));
}

#[tokio::test]
async fn names_and_expiries_are_validated() {
    let test = TestDatabase::new().await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let now = work.now();
    let mut issue = async |new: NewStoreKey| {
        let (secret, actor) = (secret(), Actor::Operator);
        identity::issue_store_key(&mut work, &secret, actor, merchant(), &new).await
    };
    for name in ["", "  ", "a\u{1b}b", &"x".repeat(101)] {
        let issued = issue(NewStoreKey::new(name)).await;
        assert!(matches!(issued, Err(IdentityError::InvalidName)), "{name}");
    }
    let ended = issue(NewStoreKey { expires_at: Some(now), ..NewStoreKey::new("a") }).await;
    assert!(matches!(ended, Err(IdentityError::ExpiryInPast)));
    let useless = issue(NewStoreKey { scopes: BTreeSet::new(), ..NewStoreKey::new("a") }).await;
    assert!(matches!(useless, Err(IdentityError::InvalidStoreScopes)));
}

#[tokio::test]
async fn a_key_has_the_scopes_it_was_given() {
    let test = TestDatabase::new().await;
    let issued = issue(&test, "default", None).await;
    let program = keys(&test).program_of(&issued.key, HOME).await.unwrap();
    assert_eq!(program.scopes, BTreeSet::from([StoreScope::Catalog, StoreScope::Orders]));
    assert!(program.require(StoreScope::Orders).is_ok());
    let missing = program.require(StoreScope::Settings);
    assert!(matches!(missing, Err(IdentityError::StoreScopeMissing(StoreScope::Settings))));
    let listed = identity::store_keys(test.database(), merchant()).await.unwrap();
    assert_eq!(listed[0].scopes, program.scopes);
}

#[tokio::test]
async fn keys_of_earlier_versions_keep_what_they_could_do() {
    let test = TestDatabase::new().await;
    issue(&test, "before", None).await;
    let mut sql = test.raw().await;
    // What the migration does to rows that exist.
    let migration =
        include_str!("../../../database/migrations/20261116000205_store_key_scopes.sql");
    let update = migration.lines().find(|line| line.starts_with("UPDATE")).unwrap();
    sqlx::raw_sql(update).execute(&mut sql).await.unwrap();
    let keys = identity::store_keys(test.database(), merchant()).await.unwrap();
    assert_eq!(keys[0].scopes, StoreScope::ALL.iter().copied().collect());
}
