//! Keys to play with.

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
    let made = identity::issue_sandbox_key(&mut work, &secret(), store, from).await?;
    work.commit().await.unwrap();
    Ok(made)
}

async fn sweep(test: &TestDatabase) -> u64 {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    identity::forget_attempts(&mut work).await.unwrap();
    let gone = identity::forget_sandbox_keys(&mut work).await.unwrap();
    work.commit().await.unwrap();
    gone
}

#[tokio::test]
async fn a_sandbox_key_is_nobodys_and_works_for_a_day() {
    let test = TestDatabase::new().await;
    let (issued, key) = issue(&test, HOME).await.unwrap();
    let keys = AgentKeys::new(test.database().clone(), secret(), Duration::ZERO);
    let agent = keys.agent_of(&issued.key, HOME).await.unwrap();
    assert!(agent.is_sandbox());
    assert_eq!((agent.plan, agent.scopes.clone()), (Plan::Free, Scope::ALL.into()));
    assert!(agent.require_store(MerchantId::from_random(1)).is_ok());
    assert!(agent.require_store(MerchantId::from_random(2)).is_err());
    let of_it = identity::audit_of(test.database(), &key.key_id.to_string(), 9).await.unwrap();
    assert_eq!((of_it.len(), of_it[0].actor.as_str()), (1, "anybody"));
    assert_eq!(sweep(&test).await, 0);
    test.clock().advance(Duration::from_hours(24));
    let ended = keys.agent_of(&issued.key, HOME).await;
    assert!(matches!(ended, Err(IdentityError::Refused)));
    assert_eq!(sweep(&test).await, 1);
    let of_it = identity::audit_of(test.database(), &key.key_id.to_string(), 9).await.unwrap();
    assert_eq!(of_it.len(), 1, "what was done stays on record");
}

#[tokio::test]
async fn an_address_gets_three_a_day() {
    let test = TestDatabase::new().await;
    for _ in 0..3 {
        issue(&test, HOME).await.unwrap();
    }
    test.clock().advance(Duration::from_mins(90));
    sweep(&test).await;
    let fourth = issue(&test, HOME).await;
    let Err(IdentityError::TooManySandboxKeys { limit: 3, wait, .. }) = fourth else {
        panic!("{fourth:?}")
    };
    assert!(wait <= Duration::from_hours(24));
    issue(&test, ClientAddress(IpAddr::from([192, 0, 2, 9]))).await.unwrap();
    test.clock().advance(wait);
    issue(&test, HOME).await.unwrap();
}
