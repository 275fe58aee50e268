//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod agent_keys;
mod people;
mod sandbox;
mod store_keys;
mod tokens;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use database::Work;
use identity::{Actor, Logins, NewPerson, People, Secret, Tokens};
use primitives::{ClientAddress, Plan, UserId};
use testkit::TestDatabase;

/// The client address of tests.
const HOME: ClientAddress = ClientAddress(IpAddr::V4(Ipv4Addr::LOCALHOST));
const PASSWORD: &str = "correct horse battery";

fn secret() -> Secret {
    Secret::new("a secret for tests, of 32 bytes and more").unwrap()
}

/// Authentication of people for a service.
struct PeopleAuth {
    tokens: Tokens,
    people: People,
    logins: Logins,
}

async fn auth_at(test: &TestDatabase, url: &str) -> PeopleAuth {
    let database = test.database().clone();
    let tokens = Tokens::new(database.clone(), secret(), Arc::from(url));
    let people = People::new(database.clone(), tokens.clone(), Duration::ZERO);
    let logins = Logins::new(database, secret(), tokens.clone(), 2);
    PeopleAuth { tokens, people, logins }
}

async fn auth(test: &TestDatabase) -> PeopleAuth {
    auth_at(test, "https://souk.test").await
}

async fn person(test: &TestDatabase, email: &str) -> UserId {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let new = NewPerson { email: email.parse().unwrap(), plan: Plan::Growth, is_admin: false };
    let user = identity::create_person(&mut work, Actor::Operator, &new, PASSWORD).await.unwrap();
    work.commit().await.unwrap();
    user
}
