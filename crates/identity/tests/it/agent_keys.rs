//! Agent keys.

use std::collections::BTreeSet;
use std::time::Duration;

use database::Work;
use identity::{AgentKey, AgentKeys, IdentityError, IssuedKey, NewAgentKey};
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

#[tokio::test]
async fn a_rotated_key_is_valid_for_an_hour_beside_the_new_one() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let new = NewAgentKey { expires_in_days: Some(30), ..read_only() };
    let (old, _) = issue(&test, owner, &new).await.unwrap();
    test.clock().advance(Duration::from_hours(24));
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let (fresh, listed) =
        identity::rotate_agent_key(&mut work, &secret(), owner, old.key_id).await.unwrap();
    work.commit().await.unwrap();
    let lifetime = listed.expires_at.unwrap().since(listed.created_at);
    assert_eq!((lifetime, listed.scopes), (Duration::from_hours(30 * 24), new.scopes));
    let keys = keys(&test);
    assert!(
        keys.agent_of(&old.key, HOME).await.is_ok()
            && keys.agent_of(&fresh.key, HOME).await.is_ok()
    );
    test.clock().advance(Duration::from_hours(1));
    assert!(
        keys.agent_of(&old.key, HOME).await.is_err()
            && keys.agent_of(&fresh.key, HOME).await.is_ok()
    );
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let again = identity::rotate_agent_key(&mut work, &secret(), owner, old.key_id).await;
    assert!(matches!(again, Err(IdentityError::AlreadyRotated { .. })));
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
async fn a_key_is_rotated_once_and_only_below_the_key_limit() {
    let test = TestDatabase::new().await;
    let owner = person(&test, "ada@example.com").await;
    let rotate = async |key: KeyId| {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        let (_, fresh) = identity::rotate_agent_key(&mut work, &secret(), owner, key).await?;
        work.commit().await.unwrap();
        Ok::<_, IdentityError>(fresh.key_id)
    };
    let (first, _) = issue(&test, owner, &read_only()).await.unwrap();
    let second = rotate(first.key_id).await.unwrap();
    let again = rotate(first.key_id).await;
    assert!(matches!(again, Err(IdentityError::AlreadyRotated { by }) if by == second));
    let mut newest = second;
    for _ in 2..100 {
        newest = rotate(newest).await.unwrap();
    }
    assert!(matches!(rotate(newest).await, Err(IdentityError::TooManyKeys)));
}
