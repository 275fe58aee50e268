//! Store keys: issuing, listing and revoking.

use std::collections::BTreeSet;
use std::fmt;

use database::{Database, Reading, Work};
use primitives::{KeyId, MerchantId, Timestamp};

use serde_json::json;

use crate::audit::{self, Actor, AuditAction};
use crate::key_text::{self, Kind};
use crate::{IdentityError, Secret, StoreScope, table};

/// Maximum length of a name.
const NAME_CHARACTERS_MAX: usize = 100;

/// A newly issued key. Its text is not available later.
pub struct IssuedKey {
    pub key_id: KeyId,
    /// The secret text of the key.
    pub key: String,
    /// The first characters of the text, which lists show.
    pub prefix: String,
}

impl fmt::Debug for IssuedKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "IssuedKey({}, {}…)", self.key_id, self.prefix)
    }
}

/// The properties of a store key to issue.
#[derive(Debug, Clone)]
pub struct NewStoreKey {
    pub name: String,
    /// At least one.
    pub scopes: BTreeSet<StoreScope>,
    /// `None` for a key that does not expire.
    pub expires_at: Option<Timestamp>,
}

impl NewStoreKey {
    /// Creates the properties of a key with the default scopes that does not expire.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let scopes = StoreScope::DEFAULT.iter().copied().collect();
        Self { name: name.into(), scopes, expires_at: None }
    }

    /// Requests all scopes.
    #[must_use]
    pub fn with_all_scopes(self) -> Self {
        Self { scopes: StoreScope::ALL.iter().copied().collect(), ..self }
    }
}

/// A merchant's program, authenticated by a store key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreProgram {
    pub key: KeyId,
    pub merchant: MerchantId,
    pub scopes: BTreeSet<StoreScope>,
}

impl StoreProgram {
    /// Returns `StoreScopeMissing` if the key lacks a scope.
    pub fn require(&self, scope: StoreScope) -> Result<(), IdentityError> {
        if self.scopes.contains(&scope) {
            Ok(())
        } else {
            Err(IdentityError::StoreScopeMissing(scope))
        }
    }
}

/// A store key, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreKey {
    pub key_id: KeyId,
    /// The first characters of the text.
    pub prefix: String,
    pub name: String,
    pub scopes: BTreeSet<StoreScope>,
    pub created_at: Timestamp,
    /// `None` for a key that does not expire.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl StoreKey {
    /// Returns whether the key is neither expired nor revoked at this time.
    #[must_use]
    pub fn is_active_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| end > now)
    }
}

/// Issues a store key, in a platform transaction. A store may have several keys, so that one can replace another without
/// downtime.
pub async fn issue_store_key(
    work: &mut Work,
    secret: &Secret,
    actor: Actor,
    merchant: MerchantId,
    new: &NewStoreKey,
) -> Result<(IssuedKey, StoreKey), IdentityError> {
    let name = parse_key_name(&new.name)?;
    if new.scopes.is_empty() {
        return Err(IdentityError::InvalidStoreScopes);
    }
    if new.expires_at.is_some_and(|end| end <= work.now()) {
        return Err(IdentityError::ExpiryInPast);
    }
    let key = key_text::generate(Kind::Store, work.random());
    let listed = StoreKey {
        key_id: work.new_id(),
        prefix: key_text::visible_prefix(&key).to_owned(),
        name,
        scopes: new.scopes.clone(),
        created_at: work.now(),
        expires_at: new.expires_at,
        revoked_at: None,
    };
    table::store_key::insert(work, merchant, &secret.mac(&key), &listed).await?;
    let scopes: Vec<&str> = listed.scopes.iter().map(|scope| scope.as_str()).collect();
    let details = json!({ "merchant": merchant, "scopes": scopes });
    audit::record(work, actor, AuditAction::StoreKeyIssued, &listed.key_id, details).await?;
    let issued = IssuedKey { key_id: listed.key_id, key, prefix: listed.prefix.clone() };
    Ok((issued, listed))
}

/// Trims and validates the name of a key.
pub(crate) fn parse_key_name(name: &str) -> Result<String, IdentityError> {
    let name = name.trim();
    let length = name.chars().count();
    if !(1..=NAME_CHARACTERS_MAX).contains(&length) || name.contains(char::is_control) {
        return Err(IdentityError::InvalidName);
    }
    Ok(name.to_owned())
}

/// Revokes a key, in a platform transaction. Revoking it again changes nothing.
pub async fn revoke_store_key(
    work: &mut Work,
    actor: Actor,
    merchant: MerchantId,
    key_id: KeyId,
) -> Result<(), IdentityError> {
    match table::store_key::revoke(work, merchant, key_id).await? {
        None => Err(IdentityError::KeyNotFound),
        Some(false) => Ok(()),
        Some(true) => {
            let details = json!({ "merchant": merchant });
            audit::record(work, actor, AuditAction::StoreKeyRevoked, &key_id, details).await
        }
    }
}

/// Returns all keys of a store, newest first, expired and revoked ones included.
pub async fn store_keys(
    database: &Database,
    merchant: MerchantId,
) -> Result<Vec<StoreKey>, IdentityError> {
    let reading = Reading::for_platform(database);
    reading.run(async |sql| Ok(table::store_key::of_store(sql, merchant).await?)).await
}
