//! People: accounts, logins, memberships and the audit log.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use database::Work;
use identity::{Actor, IdentityError, NewPerson, Role};
use primitives::{ClientAddress, Id, MerchantId, Plan};
use testkit::TestDatabase;

use crate::{HOME, PASSWORD, auth, person, secret};

fn address(number: u8) -> ClientAddress {
    ClientAddress(IpAddr::V4(Ipv4Addr::new(127, 0, 0, number)))
}

#[tokio::test]
async fn a_login_returns_a_token_of_the_person() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let user = person(&test, "ada@example.com").await;
    let token = auth.logins.login(" ADA@example.com", PASSWORD.to_owned(), HOME).await.unwrap();
    let known = auth.people.person_of(&token).await.unwrap();
    assert_eq!((known.user, known.plan, known.is_admin), (user, Plan::Growth, false));
    let entries = identity::audit_entries(test.database(), &user.to_string(), 10).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["person.logged_in", "person.created"]);
}

#[tokio::test]
async fn a_wrong_password_an_unknown_email_and_a_disabled_account_yield_the_same_error() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    person(&test, "ada@example.com").await;
    for email in ["ada@example.com", "nobody@example.com"] {
        let refused = auth.logins.login(email, String::from("wrong password"), HOME).await;
        assert!(matches!(refused, Err(IdentityError::InvalidLogin)), "{email}");
    }
    let closed = "UPDATE platform.person SET disabled_at = created_at";
    sqlx::query(closed).execute(&mut test.raw().await).await.unwrap();
    let refused = auth.logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await;
    assert!(matches!(refused, Err(IdentityError::InvalidLogin)));
}

#[tokio::test]
async fn an_address_may_fail_five_times_a_minute_and_successful_logins_do_not_count() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    person(&test, "ada@example.com").await;
    let wrong = || auth.logins.login("eve@example.com", String::from("guess"), HOME);
    for _ in 0..4 {
        assert!(matches!(wrong().await, Err(IdentityError::InvalidLogin)));
    }
    for _ in 0..3 {
        auth.logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await.unwrap();
    }
    assert!(matches!(wrong().await, Err(IdentityError::InvalidLogin)));
    let refused = wrong().await.unwrap_err();
    let IdentityError::TooManyLogins { reset_at, .. } = refused else { panic!("{refused:?}") };
    let elsewhere = auth.logins.login("ada@example.com", PASSWORD.to_owned(), address(2)).await;
    assert!(elsewhere.is_ok());
    test.clock().advance(reset_at.since(test.database().local_now()));
    assert!(matches!(wrong().await, Err(IdentityError::InvalidLogin)));
}

#[tokio::test]
async fn concurrent_logins_cannot_exceed_the_limit() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let tries = (0..20).map(|_| auth.logins.login("eve@example.com", String::from("guess"), HOME));
    let mut evaluated = 0;
    for answer in futures::future::join_all(tries).await {
        evaluated += u32::from(matches!(answer, Err(IdentityError::InvalidLogin)));
    }
    assert_eq!(evaluated, 5);
}

#[tokio::test]
async fn an_email_may_fail_twenty_times_from_all_addresses() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let mut refused = 0;
    for number in 0..24 {
        let tried = auth.logins.login("ada@example.com", String::from("guess"), address(number));
        refused += u32::from(matches!(tried.await, Err(IdentityError::TooManyLogins { .. })));
    }
    assert_eq!(refused, 4);
}

#[tokio::test]
async fn a_new_password_ends_every_session() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let user = person(&test, "ada@example.com").await;
    let token = auth.logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await.unwrap();
    test.clock().advance(Duration::from_micros(1));
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let actor = Actor::Person(user);
    identity::set_password(&mut work, actor, user, "another good one").await.unwrap();
    work.commit().await.unwrap();
    assert!(matches!(auth.people.person_of(&token).await, Err(IdentityError::InvalidCredential)));
    let old = auth.logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await;
    assert!(matches!(old, Err(IdentityError::InvalidLogin)));
    let new = String::from("another good one");
    let token = auth.logins.login("ada@example.com", new, HOME).await.unwrap();
    assert!(auth.people.person_of(&token).await.is_ok());
}

#[tokio::test]
async fn memberships_are_added_and_removed() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let user = person(&test, "ada@example.com").await;
    let (one, other) = (MerchantId::from_random(1), MerchantId::from_random(2));
    let mut work = Work::for_platform(test.database()).await.unwrap();
    for (merchant, role) in [(one, Role::Staff), (other, Role::Staff), (one, Role::Owner)] {
        identity::add_member(&mut work, Actor::Operator, user, merchant, role).await.unwrap();
    }
    identity::remove_member(&mut work, Actor::Operator, user, other).await.unwrap();
    let again = identity::remove_member(&mut work, Actor::Operator, user, other).await;
    assert!(matches!(again, Err(IdentityError::PersonNotFound)));
    work.commit().await.unwrap();
    let token = auth.logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await.unwrap();
    let known = auth.people.person_of(&token).await.unwrap();
    assert_eq!((known.role_in(one), known.role_in(other)), (Some(Role::Owner), None));
}

#[tokio::test]
async fn an_email_has_one_account() {
    let test = TestDatabase::new().await;
    person(&test, "ada@example.com").await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let email = "Ada@Example.com".parse().unwrap();
    let new = NewPerson { email, plan: Plan::Free, is_admin: true };
    let taken = identity::create_person(&mut work, Actor::Operator, &new, PASSWORD).await;
    assert!(matches!(taken, Err(IdentityError::EmailTaken)));
    let short = identity::create_person(&mut work, Actor::Operator, &new, "too short").await;
    assert!(matches!(short, Err(IdentityError::InvalidPassword)));
}

#[tokio::test]
async fn the_audit_log_is_append_only() {
    let test = TestDatabase::new().await;
    person(&test, "ada@example.com").await;
    for statement in
        ["UPDATE platform.audit_entry SET act = 'a.b'", "DELETE FROM platform.audit_entry"]
    {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        let refused = sqlx::query(statement).execute(work.sql()).await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{statement}");
    }
}

#[tokio::test]
async fn old_attempts_are_purged() {
    let test = TestDatabase::new().await;
    let auth = auth(&test).await;
    let _ = auth.logins.login("eve@example.com", String::from("guess"), HOME).await;
    test.clock().advance(Duration::from_hours(26));
    let mut work = Work::for_platform(test.database()).await.unwrap();
    assert_eq!(identity::purge_login_attempts(&mut work, 9).await.unwrap(), 2);
}

#[tokio::test]
async fn a_concurrent_login_with_the_old_password_gets_no_valid_session() {
    let test = TestDatabase::new().await;
    let auth = std::sync::Arc::new(auth(&test).await);
    person(&test, "ada@example.com").await;
    // The login cannot write its audit entry until the password has changed.
    let mut other = test.raw().await;
    let run = "BEGIN; LOCK TABLE platform.audit_entry IN EXCLUSIVE MODE";
    sqlx::raw_sql(run).execute(&mut other).await.unwrap();
    let login = tokio::spawn({
        let auth = std::sync::Arc::clone(&auth);
        async move { auth.logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await }
    });
    let tried = "SELECT count(*) FROM platform.login_attempt";
    let mut watcher = test.raw().await;
    while sqlx::query_scalar::<_, i64>(tried).fetch_one(&mut watcher).await.unwrap() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let change =
        "UPDATE platform.person SET sessions_from = sessions_from + interval '1 ms'; COMMIT";
    sqlx::raw_sql(change).execute(&mut other).await.unwrap();
    let token = login.await.unwrap().unwrap();
    assert!(matches!(auth.people.person_of(&token).await, Err(IdentityError::InvalidCredential)));
}

#[tokio::test]
async fn a_disabled_account_has_no_sessions_and_no_keys() {
    let test = TestDatabase::new().await;
    let site = std::sync::Arc::from("https://souk.test");
    let auth = identity::CredentialStore::new(test.database(), &secret(), site, Duration::ZERO, 2);
    let user = person(&test, "ada@example.com").await;
    let token = auth.logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await.unwrap();
    let scopes = [primitives::Scope::AgentRead].into();
    let new = identity::NewAgentKey { scopes, ..identity::NewAgentKey::default() };
    let key = auth.issue_agent_key(user, &new, None).await.unwrap().0.unwrap();
    let reason: identity::Reason = "stolen laptop".parse().unwrap();
    let change = async |enable: bool| {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        let changed = if enable {
            identity::enable_person(&mut work, Actor::Operator, user, &reason).await
        } else {
            identity::disable_person(&mut work, Actor::Operator, user, &reason).await
        };
        work.commit().await.unwrap();
        changed.unwrap()
    };
    test.clock().advance(Duration::from_secs(1));
    assert!(change(false).await && !change(false).await);
    assert!(auth.people.person_of(&token).await.is_err());
    assert!(auth.agent_keys.agent_of(&key.key, HOME).await.is_err());
    let login = auth.logins.login("ada@example.com", PASSWORD.to_owned(), HOME).await;
    assert!(matches!(login, Err(IdentityError::InvalidLogin)));
    assert!(change(true).await && !change(true).await);
    assert!(auth.people.person_of(&token).await.is_err(), "the session has ended for good");
    let entries = identity::audit_entries(test.database(), &user.to_string(), 10).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(&actions[..2], ["person.enabled", "person.disabled"]);
    assert_eq!(entries[1].details["reason"], "stolen laptop");
    let nobody = primitives::UserId::from_random(9);
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let unknown = identity::disable_person(&mut work, Actor::Operator, nobody, &reason).await;
    assert!(matches!(unknown, Err(IdentityError::PersonNotFound)));
}
