//! Sandbox keys.

use std::net::IpAddr;
use std::time::Duration;

use database::Work;
use identity::{AgentKey, AgentKeys, IdentityError, IssuedKey, SANDBOX_KEYS_MAX};
use primitives::{ClientAddress, Id, MerchantId, Plan, Scope};
use testkit::TestDatabase;

use crate::{HOME, secret};

async fn issue(
    test: &TestDatabase,
    from: ClientAddress,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let store = MerchantId::from_random(1);
    let issued = identity::issue_sandbox_key(&mut work, &secret(), store, from).await?;
    work.commit().await.unwrap();
    Ok(issued)
}

async fn purge(test: &TestDatabase) -> u64 {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    identity::purge_login_attempts(&mut work, 9).await.unwrap();
    let deleted = identity::purge_sandbox_keys(&mut work, 9).await.unwrap();
    work.commit().await.unwrap();
    deleted
}

#[tokio::test]
async fn a_sandbox_key_is_anonymous_and_valid_for_a_day() {
    let test = TestDatabase::new().await;
    let (issued, key) = issue(&test, HOME).await.unwrap();
    let keys = AgentKeys::new(test.database().clone(), secret(), Duration::ZERO);
    let agent = keys.agent_of(&issued.key, HOME).await.unwrap();
    assert!(agent.is_sandbox());
    assert_eq!(
        (agent.plan, agent.scopes.clone()),
        (Plan::Free, Scope::ALL.iter().copied().collect())
    );
    assert!(agent.require_store(MerchantId::from_random(1)).is_ok());
    assert!(agent.require_store(MerchantId::from_random(2)).is_err());
    let entries =
        identity::audit_entries(test.database(), &key.key_id.to_string(), 9).await.unwrap();
    assert_eq!(entries.len(), 0, "anybody could fill the audit log, which is kept");
    assert_eq!(purge(&test).await, 0);
    test.clock().advance(Duration::from_hours(24));
    let expired = keys.agent_of(&issued.key, HOME).await;
    assert!(matches!(expired, Err(IdentityError::InvalidCredential)));
    assert_eq!(purge(&test).await, 1);
}

async fn works(keys: &AgentKeys, issued: &IssuedKey) -> bool {
    keys.agent_of(&issued.key, HOME).await.is_ok()
}

#[tokio::test]
async fn beyond_fifty_keys_the_oldest_of_the_network_ends() {
    let test = TestDatabase::new().await;
    let elsewhere = ClientAddress(IpAddr::from([192, 0, 2, 9]));
    let (other, _) = issue(&test, elsewhere).await.unwrap();
    let mut issued = Vec::new();
    for _ in 0..SANDBOX_KEYS_MAX {
        test.clock().advance(Duration::from_secs(1));
        issued.push(issue(&test, HOME).await.unwrap());
    }
    let keys = AgentKeys::new(test.database().clone(), secret(), Duration::ZERO);
    assert!(works(&keys, &issued[0].0).await);
    let (newest, _) = issue(&test, HOME).await.unwrap();
    assert!(!works(&keys, &issued[0].0).await, "the oldest key still works");
    assert!(works(&keys, &issued[1].0).await && works(&keys, &newest).await);
    assert!(works(&keys, &other).await, "a key of another network ended");
    let oldest = issued[0].1.key_id.to_string();
    let entries = identity::audit_entries(test.database(), &oldest, 9).await.unwrap();
    assert_eq!(entries.len(), 0, "the end of a sandbox key is not in the audit log either");
    let sql = "SELECT count(*) FROM platform.agent_key WHERE sandbox_network IS NOT NULL AND revoked_at IS NOT NULL";
    let indexed: i64 = sqlx::query_scalar(sql).fetch_one(&mut test.raw().await).await.unwrap();
    assert_eq!(indexed, 0, "a revoked key remains in the index of the network's keys");
}

#[tokio::test]
async fn concurrent_requests_of_a_network_do_not_exceed_the_limit() {
    let test = TestDatabase::new().await;
    for _ in 0..SANDBOX_KEYS_MAX - 1 {
        issue(&test, HOME).await.unwrap();
    }
    let (one, two, three) =
        tokio::join!(issue(&test, HOME), issue(&test, HOME), issue(&test, HOME));
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    let mut raw = test.raw().await;
    let sql =
        "SELECT count(*) FROM platform.agent_key WHERE user_id IS NULL AND revoked_at IS NULL";
    let live: i64 = sqlx::query_scalar(sql).fetch_one(&mut raw).await.unwrap();
    assert_eq!(live, SANDBOX_KEYS_MAX);
}
