//! Sandbox keys.

use std::net::IpAddr;
use std::time::Duration;

use database::Work;
use identity::{AgentKey, AgentKeys, IdentityError, IssuedKey};
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
    assert_eq!((entries.len(), entries[0].actor.as_str()), (1, "anybody"));
    assert_eq!(purge(&test).await, 0);
    test.clock().advance(Duration::from_hours(24));
    let expired = keys.agent_of(&issued.key, HOME).await;
    assert!(matches!(expired, Err(IdentityError::InvalidCredential)));
    assert_eq!(purge(&test).await, 1);
    let entries =
        identity::audit_entries(test.database(), &key.key_id.to_string(), 9).await.unwrap();
    assert_eq!(entries.len(), 1, "the audit log is kept");
}

#[tokio::test]
async fn an_address_gets_three_keys_a_day() {
    let test = TestDatabase::new().await;
    for _ in 0..3 {
        issue(&test, HOME).await.unwrap();
    }
    test.clock().advance(Duration::from_mins(90));
    purge(&test).await;
    let fourth = issue(&test, HOME).await;
    let Err(IdentityError::TooManySandboxKeys { limit: 3, wait, .. }) = fourth else {
        panic!("{fourth:?}")
    };
    assert!(wait <= Duration::from_hours(24));
    issue(&test, ClientAddress(IpAddr::from([192, 0, 2, 9]))).await.unwrap();
    test.clock().advance(wait);
    issue(&test, HOME).await.unwrap();
}
