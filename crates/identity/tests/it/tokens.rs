//! Tokens: defects are detected, and key rotation does not reject valid tokens.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use database::Work;
use identity::{Actor, IdentityError, People, Secret, Tokens};
use testkit::TestDatabase;

use crate::{HOME, PASSWORD, PeopleAuth, auth, auth_at, person, secret};

async fn token(test: &TestDatabase, auth: &PeopleAuth) -> String {
    person(test, "ada@example.com").await;
    log_in(auth).await
}

async fn log_in(auth: &PeopleAuth) -> String {
    auth.logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await.unwrap()
}

fn parts(token: &str) -> [String; 3] {
    let parts: Vec<String> = token.split('.').map(str::to_owned).collect();
    parts.try_into().unwrap()
}

fn changed(part: &str, change: impl FnOnce(&mut serde_json::Value)) -> String {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
    let mut value = serde_json::from_slice(&bytes).unwrap();
    change(&mut value);
    BASE64_URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test]
async fn a_modified_token_is_rejected() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let good = token(&test, &auth).await;
    let [head, claims, signature] = parts(&good);
    let no_algorithm = changed(&head, |head| head["alg"] = "none".into());
    let other_algorithm = changed(&head, |head| head["alg"] = "HS256".into());
    let other_name = changed(&head, |head| head["kid"] = "0".repeat(32).into());
    let longer = changed(&claims, |claims| claims["exp"] = 9_999_999_999_i64.into());
    let modified = [
        format!("{no_algorithm}.{claims}."),
        format!("{no_algorithm}.{claims}.{signature}"),
        format!("{other_algorithm}.{claims}.{signature}"),
        format!("{other_name}.{claims}.{signature}"),
        format!("{head}.{longer}.{signature}"),
        format!("{head}.{claims}."),
        format!("{head}.{claims}"),
        String::from("a.b.c"),
        String::new(),
    ];
    for token in modified {
        let rejected = auth.people.person_of(&token).await;
        assert!(matches!(rejected, Err(IdentityError::InvalidCredential)), "{token}");
    }
    assert!(auth.people.person_of(&good).await.is_ok());
}

#[tokio::test]
async fn a_process_that_has_not_read_the_signing_key_needs_one_connection_at_a_time() {
    let test = TestDatabase::new().await;
    token(&test, &auth(&test).await).await;
    let database = test.database().with_connections(1);
    let issuer: Arc<str> = Arc::from("https://souk.test");
    let tokens = Tokens::new(database.clone(), secret(), issuer);
    let logins = identity::Logins::new(database, secret(), tokens, 1);
    let token = logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await;
    assert!(token.is_ok(), "{token:?}");
}

#[tokio::test]
async fn a_token_of_another_service_or_secret_is_rejected() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let good = token(&test, &auth).await;
    let elsewhere = auth_at(&test, "https://other.test").await;
    assert!(matches!(
        elsewhere.people.person_of(&good).await,
        Err(IdentityError::InvalidCredential)
    ));
    let other = Secret::new("another secret of 32 bytes and more").unwrap();
    let issuer = Arc::from("https://souk.test");
    let tokens = Tokens::new(test.database().clone(), other, issuer);
    let people = People::new(test.database().clone(), tokens, Duration::ZERO);
    assert!(matches!(people.person_of(&good).await, Err(IdentityError::InvalidCredential)));
}

#[tokio::test]
async fn a_token_expires_after_an_hour() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let good = token(&test, &auth).await;
    test.clock().advance(Duration::from_secs(3_659));
    assert!(auth.people.person_of(&good).await.is_ok(), "a minute of clock skew is tolerated");
    test.clock().advance(Duration::from_secs(1));
    assert!(matches!(auth.people.person_of(&good).await, Err(IdentityError::TokenExpired)));
}

#[tokio::test]
async fn rotating_the_signing_key_rejects_no_valid_token() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let old = token(&test, &auth).await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    identity::rotate_signing_key(&mut work, &secret(), Actor::Operator, false).await.unwrap();
    work.commit().await.unwrap();
    let reader = auth_at(&test, "https://souk.test").await;
    assert_eq!(
        parts(&log_in(&reader).await)[0],
        parts(&old)[0],
        "the new key is published but does not sign yet"
    );
    assert_eq!(reader.tokens.jwks().await.unwrap()["keys"].as_array().unwrap().len(), 2);
    test.clock().advance(Duration::from_mins(1));
    let new = log_in(&reader).await;
    assert_ne!(parts(&new)[0], parts(&old)[0]);
    // A process with an older cache reloads when it finds an unknown key.
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    for token in [&old, &new] {
        assert!(auth.people.person_of(token).await.is_ok());
    }
    test.clock().advance(Duration::from_mins(62));
    let later = auth_at(&test, "https://souk.test").await;
    assert_eq!(later.tokens.jwks().await.unwrap()["keys"].as_array().unwrap().len(), 1);
    assert!(later.people.person_of(&log_in(&later).await).await.is_ok());
}

#[tokio::test]
async fn a_compromised_key_is_revoked_at_once() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let stolen = token(&test, &auth).await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    identity::rotate_signing_key(&mut work, &secret(), Actor::Operator, true).await.unwrap();
    work.commit().await.unwrap();
    let reader = auth_at(&test, "https://souk.test").await;
    assert!(matches!(
        reader.people.person_of(&stolen).await,
        Err(IdentityError::InvalidCredential)
    ));
    assert!(reader.people.person_of(&log_in(&reader).await).await.is_ok());
}

#[tokio::test]
async fn no_private_key_is_stored() {
    let test = TestDatabase::new().await;
    auth(&test).await;
    let columns: Vec<String> = sqlx::query_scalar(
        "SELECT column_name::text FROM information_schema.columns WHERE table_name = 'signing_key'",
    )
    .fetch_all(&mut test.raw().await)
    .await
    .unwrap();
    assert!(columns.contains(&String::from("public_key")));
    assert!(!columns.iter().any(|name| name.contains("private") || name.contains("seed")));
}
