//! `souk keys`: the keys of stores, for the operator, and the one that `souk dev` makes.

use std::time::Duration;

use database::{Database, DatabaseError, Work};
use identity::{Actor, IdentityError, IssuedKey, Secret, StoreKey};
use merchants::{StoreCache, StoreError};
use primitives::{KeyId, MerchantId, StoreSlug, Timestamp};

use crate::cli::KeysCommand;

/// What `souk dev` calls its keys.
const DEVELOPMENT: &str = "dev";

/// Why keys could not be handled.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// There is no such store.
    #[error("the store: {0}")]
    Store(#[from] StoreError),
    /// There is no such key, or it cannot be made so.
    #[error("the key: {0}")]
    Key(#[from] IdentityError),
    /// The database was in the way.
    #[error("the database: {0}")]
    Database(#[from] DatabaseError),
}

/// Carries out a command and answers what to say.
pub(crate) async fn run(
    database: &Database,
    secret: &Secret,
    command: KeysCommand,
) -> Result<String, KeysError> {
    database.refresh_directory().await?;
    match command {
        KeysCommand::Create { store, name, days } => {
            let merchant = merchant(database, &store).await?;
            let issued = create(database, secret, merchant, &name, days).await?;
            Ok(format!(
                "{}\n{}\nThis is the only time the key is shown: keep it where {store} keeps its secrets.",
                issued.key_id, issued.key
            ))
        }
        KeysCommand::List { store } => {
            let merchant = merchant(database, &store).await?;
            let keys = identity::store_keys(database, merchant).await?;
            let now = database.local_now();
            let lines: Vec<String> = keys.iter().map(|key| line(key, now)).collect();
            Ok(if lines.is_empty() { format!("{store} has no keys.") } else { lines.join("\n") })
        }
        KeysCommand::Revoke { store, key_id } => {
            let merchant = merchant(database, &store).await?;
            revoke(database, merchant, key_id).await?;
            Ok(format!("{key_id} is revoked; it stops working within five seconds."))
        }
    }
}

async fn merchant(database: &Database, slug: &StoreSlug) -> Result<MerchantId, StoreError> {
    let stores = StoreCache::new(database.clone(), Duration::ZERO);
    Ok(stores.find(slug).await?.merchant)
}

async fn create(
    database: &Database,
    secret: &Secret,
    merchant: MerchantId,
    name: &str,
    days: Option<u32>,
) -> Result<IssuedKey, KeysError> {
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    let end = days.map(|days| now.plus(Duration::from_hours(24 * u64::from(days))));
    let (issued, _) =
        identity::issue_store_key(&mut work, secret, Actor::Operator, merchant, name, end).await?;
    work.commit().await?;
    Ok(issued)
}

async fn revoke(database: &Database, merchant: MerchantId, key: KeyId) -> Result<(), KeysError> {
    let mut work = Work::for_platform(database).await?;
    identity::revoke_store_key(&mut work, Actor::Operator, merchant, key).await?;
    work.commit().await?;
    Ok(())
}

/// A key in a list.
fn line(key: &StoreKey, now: Timestamp) -> String {
    let StoreKey { key_id, prefix, name, created_at, .. } = key;
    let state = match (key.revoked_at, key.expires_at) {
        (Some(revoked), _) => format!("revoked {revoked}"),
        (None, Some(end)) if end <= now => format!("expired {end}"),
        (None, Some(end)) => format!("works until {end}"),
        (None, None) => String::from("works"),
    };
    format!("{key_id}  {prefix}…  created {created_at}  {state}  {name}")
}

/// A key to try things out with.
#[derive(Debug)]
pub(crate) struct DevelopmentKey {
    pub(crate) store: &'static str,
    pub(crate) key: String,
}

/// Makes a key for the first open store of the demo world that may be changed, in the place of the
/// one that was made last time. The demo store itself stays read-only.
pub(crate) async fn for_development(
    database: &Database,
    secret: &Secret,
) -> Result<Option<DevelopmentKey>, KeysError> {
    let world = demo::world();
    let open = world.stores.iter().find(|store| store.slug != demo::DEMO_STORE && store.active);
    let Some(store) = open else {
        return Ok(None);
    };
    database.refresh_directory().await?;
    let slug: Option<StoreSlug> = store.slug.parse().ok();
    let merchant = merchant(database, &slug.ok_or(StoreError::NotFound)?).await?;
    let keys = identity::store_keys(database, merchant).await?;
    let former = keys.iter().filter(|key| key.name == DEVELOPMENT && key.revoked_at.is_none());
    for key in former {
        revoke(database, merchant, key.key_id).await?;
    }
    let issued = create(database, secret, merchant, DEVELOPMENT, None).await?;
    Ok(Some(DevelopmentKey { store: store.slug, key: issued.key }))
}

#[cfg(test)]
mod tests {
    use primitives::Id;
    use testkit::TestDatabase;

    use super::*;

    fn secret() -> Secret {
        Secret::new("a secret for tests, of 32 bytes and more").unwrap()
    }

    async fn seeded() -> TestDatabase {
        let test = TestDatabase::new().await;
        let mut world = demo::world();
        world.stores.iter_mut().for_each(|store| store.products.truncate(1));
        demo::seed(test.database(), &world, |_| {}).await.unwrap();
        test
    }

    #[tokio::test]
    async fn a_key_is_made_listed_and_revoked() {
        let test = seeded().await;
        let store = || demo::DEMO_STORE.parse::<StoreSlug>().unwrap();
        let run = async |command| run(test.database(), &secret(), command).await;
        let list = || KeysCommand::List { store: store() };
        assert_eq!(run(list()).await.unwrap(), "demo-store has no keys.");
        let name = String::from("tills");
        let create = KeysCommand::Create { store: store(), name, days: Some(2) };
        let said = run(create).await.unwrap();
        let [id, key, once] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
        assert!(key.starts_with("mrch_") && once.contains("only time"), "{said}");
        let listed = run(list()).await.unwrap();
        assert!(listed.contains(id) && listed.contains("works until 2026-11-17"), "{listed}");
        assert!(!listed.contains(key) && listed.ends_with("tills"), "{listed}");
        let key_id = id.parse().unwrap();
        run(KeysCommand::Revoke { store: store(), key_id }).await.unwrap();
        assert!(run(list()).await.unwrap().contains("revoked 2026-11-15"));
    }

    #[tokio::test]
    async fn what_is_not_there_is_said_to_be_so() {
        let test = seeded().await;
        let run = async |command| run(test.database(), &secret(), command).await;
        let nowhere = KeysCommand::List { store: "nowhere".parse().unwrap() };
        assert!(matches!(run(nowhere).await, Err(KeysError::Store(StoreError::NotFound))));
        let store = demo::DEMO_STORE.parse().unwrap();
        let unknown = KeysCommand::Revoke { store, key_id: KeyId::from_random(1) };
        let refused = run(unknown).await;
        assert!(matches!(refused, Err(KeysError::Key(IdentityError::KeyNotFound))));
    }

    #[tokio::test]
    async fn a_development_key_takes_the_place_of_the_last_one() {
        let test = seeded().await;
        let first = for_development(test.database(), &secret()).await.unwrap().unwrap();
        let second = for_development(test.database(), &secret()).await.unwrap().unwrap();
        assert_ne!(first.store, demo::DEMO_STORE);
        let database = test.database().clone();
        let home = primitives::ClientAddress(std::net::IpAddr::from([127, 0, 0, 1]));
        let keys = identity::StoreKeys::new(database, secret(), Duration::ZERO);
        assert!(keys.merchant_of(&first.key, home).await.is_err());
        assert!(keys.merchant_of(&second.key, home).await.is_ok());
    }
}
