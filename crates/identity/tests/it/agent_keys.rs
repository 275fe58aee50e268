//! Agent keys.

use std::collections::BTreeSet;
use std::time::Duration;

use database::Work;
use identity::{
    Actor, AgentKey, AgentKeys, IdentityError, IssuedKey, NewAgentKey, NewStoreKey, Reason,
    RevokedKey,
};
use primitives::{Id, KeyId, MerchantId, Plan, Scope, UserId};
use testkit::TestDatabase;

use crate::{HOME, person, secret};

fn keys(test: &TestDatabase) -> AgentKeys {
    AgentKeys::new(test.database().clone(), secret(), Duration::ZERO)
}

fn read_only() -> NewAgentKey {
    NewAgentKey { scopes: BTreeSet::from([Scope::AgentRead]), ..NewAgentKey::default() }
}

async fn issue(
    test: &TestDatabase,
    owner: UserId,
    new: &NewAgentKey,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let issued = identity::issue_agent_key(&mut work, &secret(), owner, new).await?;
    work.commit().await.unwrap();
    Ok(issued)
}

async fn revoke(test: &TestDatabase, owner: UserId, key: KeyId) -> Result<(), IdentityError> {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    identity::revoke_agent_key(&mut work, owner, key).await?;
    work.commit().await.unwrap();
    Ok(())
}

#[tokio::test]
async fn a_key_authenticates_its_agent_with_plan_scopes_and_stores() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let store = MerchantId::from_random(1);
    let new = NewAgentKey { stores: Some(vec![store]), ..read_only() };
    let (issued, listed) = issue(&test, owner, &new).await.unwrap();
    assert!(issued.key.starts_with("agnt_") && issued.key.len() == 69);
    let agent = keys(&test).agent_of(&issued.key, HOME).await.unwrap();
    assert_eq!((agent.key, agent.owner, agent.plan), (listed.key_id, Some(owner), Plan::Growth));
    assert!(agent.require(Scope::AgentRead).is_ok() && agent.require(Scope::AgentCart).is_err());
    let other = MerchantId::from_random(2);
    assert!(agent.require_store(store).is_ok() && agent.require_store(other).is_err());
    assert_eq!(identity::agent_keys(test.database(), owner).await.unwrap(), [listed]);
}

#[tokio::test]
async fn revoked_expired_unknown_and_store_keys_yield_the_same_error() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let (revoked, _) = issue(&test, owner, &read_only()).await.unwrap();
    revoke(&test, owner, revoked.key_id).await.unwrap();
    revoke(&test, owner, revoked.key_id).await.unwrap();
    let short = NewAgentKey { expires_in_days: Some(1), ..read_only() };
    let (expired, _) = issue(&test, owner, &short).await.unwrap();
    test.clock().advance(Duration::from_hours(24));
    let unknown = format!("agnt_{}", "0".repeat(64));
    let store_key = format!("mrch_{}", "0".repeat(64));
    for key in [&revoked.key, &expired.key, &unknown, &store_key, ""] {
        let refused = keys(&test).agent_of(key, HOME).await.unwrap_err();
        assert!(matches!(refused, IdentityError::InvalidCredential), "{key}");
    }
}

async fn rotate(
    test: &TestDatabase,
    owner: UserId,
    key: KeyId,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let rotated = identity::rotate_agent_key(&mut work, &secret(), owner, key).await?;
    work.commit().await.unwrap();
    Ok(rotated)
}

#[tokio::test]
async fn a_rotated_key_keeps_its_id_and_its_former_text_is_valid_for_an_hour() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let new = NewAgentKey { expires_in_days: Some(30), ..read_only() };
    let (old, before) = issue(&test, owner, &new).await.unwrap();
    test.clock().advance(Duration::from_hours(24));
    let (fresh, listed) = rotate(&test, owner, old.key_id).await.unwrap();
    assert_eq!((fresh.key_id, listed.key_id), (old.key_id, old.key_id));
    assert_ne!((&fresh.key, &listed.prefix), (&old.key, &before.prefix));
    let lifetime = listed.expires_at.unwrap().since(listed.rotated_at.unwrap());
    assert_eq!(lifetime, Duration::from_hours(30 * 24));
    assert_eq!((listed.created_at, &listed.scopes), (before.created_at, &new.scopes));
    assert_eq!(identity::agent_keys(test.database(), owner).await.unwrap(), [listed]);
    let keys = keys(&test);
    for text in [&old.key, &fresh.key] {
        let agent = keys.agent_of(text, HOME).await.unwrap();
        assert_eq!(agent.key, old.key_id);
    }
    test.clock().advance(Duration::from_hours(1));
    assert!(
        keys.agent_of(&old.key, HOME).await.is_err()
            && keys.agent_of(&fresh.key, HOME).await.is_ok()
    );
    // The lifetime is that of the key, however often it is rotated.
    let (_, again) = rotate(&test, owner, old.key_id).await.unwrap();
    let lifetime = again.expires_at.unwrap().since(again.rotated_at.unwrap());
    assert_eq!(lifetime, Duration::from_hours(30 * 24));
    revoke(&test, owner, old.key_id).await.unwrap();
    for text in [&old.key, &fresh.key] {
        assert!(keys.agent_of(text, HOME).await.is_err());
    }
    let revoked = rotate(&test, owner, old.key_id).await;
    assert!(matches!(revoked, Err(IdentityError::KeyNotFound)));
}

#[tokio::test]
async fn a_key_rotated_again_within_the_hour_keeps_its_first_text() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let (old, _) = issue(&test, owner, &read_only()).await.unwrap();
    let (lost, _) = rotate(&test, owner, old.key_id).await.unwrap();
    test.clock().advance(Duration::from_mins(30));
    let (fresh, _) = rotate(&test, owner, old.key_id).await.unwrap();
    let valid = async |key: &IssuedKey| keys(&test).agent_of(&key.key, HOME).await.is_ok();
    assert!(valid(&old).await && !valid(&lost).await && valid(&fresh).await);
    test.clock().advance(Duration::from_mins(30));
    assert!(!valid(&old).await && valid(&fresh).await);
}

#[tokio::test]
async fn the_former_text_of_a_key_does_not_outlive_its_expiry() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let new = NewAgentKey { expires_in_days: Some(1), ..read_only() };
    let (old, _) = issue(&test, owner, &new).await.unwrap();
    test.clock().advance(Duration::from_mins(24 * 60 - 10));
    let (fresh, _) = rotate(&test, owner, old.key_id).await.unwrap();
    test.clock().advance(Duration::from_mins(10));
    assert!(keys(&test).agent_of(&old.key, HOME).await.is_err());
    assert!(keys(&test).agent_of(&fresh.key, HOME).await.is_ok());
}

#[tokio::test]
async fn a_person_cannot_change_the_keys_of_another() {
    let test = TestDatabase::new().await;
    let (ada, eve) =
        (person(&test, "ada@example.com").await, person(&test, "eve@example.com").await);
    let (key, _) = issue(&test, ada, &read_only()).await.unwrap();
    assert!(matches!(revoke(&test, eve, key.key_id).await, Err(IdentityError::KeyNotFound)));
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let rotated = identity::rotate_agent_key(&mut work, &secret(), eve, key.key_id).await;
    assert!(matches!(rotated, Err(IdentityError::KeyNotFound)));
    drop(work);
    assert!(identity::agent_keys(test.database(), eve).await.unwrap().is_empty());
    assert!(keys(&test).agent_of(&key.key, HOME).await.is_ok());
}

#[tokio::test]
async fn invalid_properties_are_rejected() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let refused = async |new: NewAgentKey| issue(&test, owner, &new).await.unwrap_err();
    assert!(matches!(refused(NewAgentKey::default()).await, IdentityError::NoScopes));
    let empty = NewAgentKey { stores: Some(Vec::new()), ..read_only() };
    assert!(matches!(refused(empty).await, IdentityError::InvalidStores));
    for days in [0, 3_651] {
        let wrong = NewAgentKey { expires_in_days: Some(days), ..read_only() };
        assert!(matches!(refused(wrong).await, IdentityError::InvalidLifetime));
    }
    let named = NewAgentKey { name: Some(String::from("a\u{7}b")), ..read_only() };
    assert!(matches!(refused(named).await, IdentityError::InvalidName));
}

#[tokio::test]
async fn an_account_has_at_most_a_hundred_keys_also_with_concurrent_requests() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    for _ in 0..98 {
        issue(&test, owner, &read_only()).await.unwrap();
    }
    let new = read_only();
    let tries = (0..4).map(|_| issue(&test, owner, &new));
    let made = futures::future::join_all(tries).await;
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 2);
    let first = identity::agent_keys(test.database(), owner).await.unwrap()[0].key_id;
    revoke(&test, owner, first).await.unwrap();
    assert!(issue(&test, owner, &read_only()).await.is_ok());
}

#[tokio::test]
async fn more_keys_require_a_higher_plan() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let set = async |plan: Plan| {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        identity::set_plan(&mut work, identity::Actor::Operator, owner, plan).await.unwrap();
        work.commit().await.unwrap();
    };
    set(Plan::Free).await;
    for _ in 0..10 {
        issue(&test, owner, &read_only()).await.unwrap();
    }
    let refused = issue(&test, owner, &read_only()).await;
    let needs = |needed| matches!(refused, Err(IdentityError::TierRequired { needed: it, .. }) if it == needed);
    assert!(needs(Plan::Starter));
    set(Plan::Starter).await;
    assert!(issue(&test, owner, &read_only()).await.is_ok());
}

#[tokio::test]
async fn an_account_with_all_its_keys_can_rotate_them() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let (first, _) = issue(&test, owner, &read_only()).await.unwrap();
    for _ in 1..100 {
        issue(&test, owner, &read_only()).await.unwrap();
    }
    let (_, rotated) = rotate(&test, owner, first.key_id).await.unwrap();
    assert_eq!(rotated.key_id, first.key_id);
    let more = issue(&test, owner, &read_only()).await;
    assert!(matches!(more, Err(IdentityError::TooManyKeys)));
}

#[tokio::test]
async fn an_operator_revokes_any_key_with_a_reason() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let (key, _) = issue(&test, owner, &read_only()).await.unwrap();
    let merchant = MerchantId::from_random(1);
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let (secret, new) = (secret(), NewStoreKey::new("erp"));
    let issued = identity::issue_store_key(&mut work, &secret, Actor::Operator, merchant, &new);
    let (store_key, _) = issued.await.unwrap();
    let reason: Reason = "leaked".parse().unwrap();
    for _ in 0..2 {
        let revoked = identity::revoke_key(&mut work, Actor::Operator, key.key_id, &reason).await;
        assert_eq!(revoked.unwrap(), RevokedKey::Agent(Some(owner)));
        let revoked = identity::revoke_key(&mut work, Actor::Operator, store_key.key_id, &reason);
        assert_eq!(revoked.await.unwrap(), RevokedKey::Store(merchant));
    }
    let unknown = KeyId::from_random(7);
    let unknown = identity::revoke_key(&mut work, Actor::Operator, unknown, &reason).await;
    assert!(matches!(unknown, Err(IdentityError::KeyNotFound)));
    work.commit().await.unwrap();
    assert!(keys(&test).agent_of(&key.key, HOME).await.is_err());
    for id in [key.key_id, store_key.key_id] {
        let entries = identity::audit_entries(test.database(), &id.to_string(), 10).await.unwrap();
        let revoked: Vec<_> =
            entries.iter().filter(|entry| entry.action.as_str().ends_with("key.revoked")).collect();
        assert_eq!((revoked.len(), &revoked[0].details["reason"]), (1, &"leaked".into()));
    }
}

/// Inserts revoked keys of a person, newer than all others.
async fn insert_revoked(test: &TestDatabase, owner: UserId, name: &str, count: i32) {
    let insert = "INSERT INTO platform.agent_key (key_id, mac, user_id, prefix, name, scopes, created_at, revoked_at)
                  SELECT gen_random_uuid(), sha256(($2 || number)::bytea), $1, 'agnt_', $2, '{agent:orders}', newest.at, newest.at
                  FROM generate_series(1, $3) AS number,
                       (SELECT max(created_at) + interval '1 second' AS at FROM platform.agent_key WHERE user_id = $1) AS newest";
    let insert = sqlx::query(insert).bind(owner.uuid()).bind(name).bind(count);
    insert.execute(&mut test.raw().await).await.unwrap();
}

#[tokio::test]
async fn an_agent_sees_the_orders_of_the_keys_of_its_account_up_to_a_maximum() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let stranger = person(&test, "bob@example.com").await;
    let named = |name: &str| NewAgentKey {
        scopes: BTreeSet::from([Scope::AgentOrders]),
        name: Some(name.to_owned()),
        ..NewAgentKey::default()
    };
    let (issued, own) = issue(&test, owner, &named("own")).await.unwrap();
    let (_, other) = issue(&test, owner, &named("other")).await.unwrap();
    issue(&test, stranger, &named("other")).await.unwrap();
    revoke(&test, owner, other.key_id).await.unwrap();
    let agent = keys(&test).agent_of(&issued.key, HOME).await.unwrap();
    let visible = async || agent.keys_of_orders(test.database()).await.unwrap();
    assert_eq!(BTreeSet::from_iter(visible().await), BTreeSet::from([own.key_id, other.key_id]));
    insert_revoked(&test, owner, "revoked", 600).await;
    let found = visible().await;
    assert_eq!(found.len(), 501);
    assert!(found.contains(&own.key_id) && !found.contains(&other.key_id));
}
