//! `souk keys`: manages API keys. Also creates the key of `souk dev`.

use std::time::Duration;

use database::{Database, DatabaseError, Work};
use identity::{Actor, IdentityError, IssuedKey, NewStoreKey, RevokedKey, Secret, StoreKey};
use merchants::{StoreError, merchant_of};
use primitives::{KeyId, MerchantId, StoreSlug, Timestamp};

use crate::cli::KeysCommand;

/// Name of the keys that `souk dev` creates.
const DEVELOPMENT_KEY_NAME: &str = "dev";

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error("store lookup failed: {0}")]
    Store(#[from] StoreError),
    #[error("key command failed: {0}")]
    Key(#[from] IdentityError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
}

/// Runs a command and returns its output.
pub(crate) async fn run(
    database: &Database,
    secret: &Secret,
    command: KeysCommand,
) -> Result<String, KeysError> {
    database.refresh_directory().await?;
    match command {
        KeysCommand::Create { store, name, days, scopes } => {
            let merchant = merchant_of(database, &store).await?;
            let mut new = NewStoreKey::new(name);
            if !scopes.is_empty() {
                new.scopes = scopes.into_iter().collect();
            }
            let issued = create(database, secret, merchant, new, days).await?;
            Ok(format!(
                "{}\n{}\nThis is the only time the key is shown: store it as a secret of {store}.",
                issued.key_id, issued.key
            ))
        }
        KeysCommand::List { store } => {
            let merchant = merchant_of(database, &store).await?;
            let keys = identity::store_keys(database, merchant).await?;
            let now = database.local_now();
            let lines: Vec<String> = keys.iter().map(|key| line(key, now)).collect();
            Ok(if lines.is_empty() { format!("{store} has no keys.") } else { lines.join("\n") })
        }
        KeysCommand::Revoke { key_id, reason } => {
            let mut work = Work::for_platform(database).await?;
            let revoked = identity::revoke_key(&mut work, Actor::Operator, key_id, &reason).await?;
            work.commit().await?;
            let whose = match revoked {
                RevokedKey::Agent(Some(user)) => format!("an agent key of {user}"),
                RevokedKey::Agent(None) => String::from("a sandbox key"),
                RevokedKey::Store(merchant) => format!("a store key of {merchant}"),
            };
            Ok(format!("{key_id}, {whose}, is revoked; this takes effect within five seconds."))
        }
    }
}

async fn create(
    database: &Database,
    secret: &Secret,
    merchant: MerchantId,
    new: NewStoreKey,
    days: Option<u32>,
) -> Result<IssuedKey, KeysError> {
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    let expires_at = days.map(|days| now.plus(Duration::from_hours(24 * u64::from(days))));
    let new = NewStoreKey { expires_at, ..new };
    let (issued, _) =
        identity::issue_store_key(&mut work, secret, Actor::Operator, merchant, &new).await?;
    work.commit().await?;
    Ok(issued)
}

async fn revoke(database: &Database, merchant: MerchantId, key: KeyId) -> Result<(), KeysError> {
    let mut work = Work::for_platform(database).await?;
    identity::revoke_store_key(&mut work, Actor::Operator, merchant, key).await?;
    work.commit().await?;
    Ok(())
}

/// Formats a key for the list.
fn line(key: &StoreKey, now: Timestamp) -> String {
    let StoreKey { key_id, prefix, name, scopes, created_at, .. } = key;
    let scopes: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    let scopes = scopes.join(",");
    let state = match (key.revoked_at, key.expires_at) {
        (Some(revoked), _) => format!("revoked {revoked}"),
        (None, Some(end)) if end <= now => format!("expired {end}"),
        (None, Some(end)) => format!("expires {end}"),
        (None, None) => String::from("active"),
    };
    format!("{key_id}  {prefix}…  created {created_at}  {state}  {scopes}  {name}")
}

/// The key that `souk dev` prints.
#[derive(Debug)]
pub(crate) struct DevelopmentKey {
    pub(crate) store: String,
    pub(crate) key: String,
}

/// Creates a key for the first active demo store other than the demo store itself, which is read-only,
/// and revokes the key of the previous start.
pub(crate) async fn for_development(
    database: &Database,
    secret: &Secret,
) -> Result<Option<DevelopmentKey>, KeysError> {
    let world = demo::world();
    let writable = world.stores.iter().find(|store| store.slug != demo::DEMO_STORE && store.active);
    let Some(store) = writable else {
        return Ok(None);
    };
    database.refresh_directory().await?;
    let slug: Option<StoreSlug> = store.slug.parse().ok();
    let merchant = merchant_of(database, &slug.ok_or(StoreError::NotFound)?).await?;
    let keys = identity::store_keys(database, merchant).await?;
    let previous =
        keys.iter().filter(|key| key.name == DEVELOPMENT_KEY_NAME && key.revoked_at.is_none());
    for key in previous {
        revoke(database, merchant, key.key_id).await?;
    }
    let new = NewStoreKey::new(DEVELOPMENT_KEY_NAME).with_all_scopes();
    let issued = create(database, secret, merchant, new, None).await?;
    Ok(Some(DevelopmentKey { store: store.slug.clone(), key: issued.key }))
}

#[cfg(test)]
mod tests {
    use identity::StoreScope;
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
    async fn a_key_is_created_listed_and_revoked() {
        let test = seeded().await;
        let store = || demo::DEMO_STORE.parse::<StoreSlug>().unwrap();
        let run = async |command| run(test.database(), &secret(), command).await;
        let list = || KeysCommand::List { store: store() };
        assert_eq!(run(list()).await.unwrap(), "demo-store has no keys.");
        let name = String::from("erp");
        let scopes = vec![StoreScope::Orders, StoreScope::Webhooks];
        let create = KeysCommand::Create { store: store(), name, days: Some(2), scopes };
        let output = run(create).await.unwrap();
        let [id, key, note] = output.lines().collect::<Vec<_>>()[..] else { panic!("{output}") };
        assert!(key.starts_with("mrch_") && note.contains("only time"), "{output}");
        let listed = run(list()).await.unwrap();
        assert!(listed.contains(id) && listed.contains("expires 2026-11-17"), "{listed}");
        assert!(!listed.contains(key) && listed.ends_with("orders,webhooks  erp"), "{listed}");
        let key_id = id.parse().unwrap();
        let reason = "left".parse().unwrap();
        run(KeysCommand::Revoke { key_id, reason }).await.unwrap();
        assert!(run(list()).await.unwrap().contains("revoked 2026-11-15"));
    }

    #[tokio::test]
    async fn unknown_stores_and_keys_are_errors() {
        let test = seeded().await;
        let run = async |command| run(test.database(), &secret(), command).await;
        let nowhere = KeysCommand::List { store: "nowhere".parse().unwrap() };
        assert!(matches!(run(nowhere).await, Err(KeysError::Store(StoreError::NotFound))));
        let reason = "left".parse().unwrap();
        let unknown = KeysCommand::Revoke { key_id: KeyId::from_random(1), reason };
        let refused = run(unknown).await;
        assert!(matches!(refused, Err(KeysError::Key(IdentityError::KeyNotFound))));
    }

    #[tokio::test]
    async fn a_development_key_replaces_the_previous_one() {
        let test = seeded().await;
        let first = for_development(test.database(), &secret()).await.unwrap().unwrap();
        let second = for_development(test.database(), &secret()).await.unwrap().unwrap();
        assert_ne!(first.store, demo::DEMO_STORE);
        let database = test.database().clone();
        let loopback = primitives::ClientAddress(std::net::IpAddr::from([127, 0, 0, 1]));
        let keys = identity::StoreKeys::new(database, secret(), Duration::ZERO);
        assert!(keys.program_of(&first.key, loopback).await.is_err());
        assert!(keys.program_of(&second.key, loopback).await.is_ok());
    }
}
