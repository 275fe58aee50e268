//! The keys of a store: making, listing and ending them.

use std::fmt;

use database::{Database, Reading, Work};
use primitives::{KeyId, MerchantId, Timestamp};

use serde_json::json;

use crate::audit::{self, Act, Actor};
use crate::key_text::{self, Kind};
use crate::{IdentityError, Secret, table};

/// The longest name.
const NAME_CHARACTERS_MAX: usize = 100;

/// A key that was just made. This is the only time its text can be seen.
pub struct IssuedKey {
    /// Its name in lists.
    pub key_id: KeyId,
    /// Its text: whoever has it acts for the store.
    pub key: String,
    /// The beginning of its text, which lists show.
    pub prefix: String,
}

impl fmt::Debug for IssuedKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "IssuedKey({}, {}…)", self.key_id, self.prefix)
    }
}

/// A key as its merchant sees it afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreKey {
    /// Its id.
    pub key_id: KeyId,
    /// The beginning of its text.
    pub prefix: String,
    /// What its merchant calls it.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

impl StoreKey {
    /// Whether it works at this moment.
    #[must_use]
    pub fn works_at(&self, moment: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| end > moment)
    }
}

/// Makes a key for a store, in a work for the platform. A store may have several at once, so that
/// one can replace another without a gap.
pub async fn issue_store_key(
    work: &mut Work,
    secret: &Secret,
    actor: Actor,
    merchant: MerchantId,
    name: &str,
    expires_at: Option<Timestamp>,
) -> Result<(IssuedKey, StoreKey), IdentityError> {
    let name = checked_name(name)?;
    if expires_at.is_some_and(|end| end <= work.now()) {
        return Err(IdentityError::ExpiresTooSoon);
    }
    let key = key_text::draw(Kind::Store, work.random());
    let listed = StoreKey {
        key_id: work.new_id(),
        prefix: key_text::shown(&key).to_owned(),
        name,
        created_at: work.now(),
        expires_at,
        revoked_at: None,
    };
    table::store_key::insert(work, merchant, &secret.mac(&key), &listed).await?;
    let details = json!({ "merchant": merchant });
    audit::record(work, actor, Act::StoreKeyIssued, &listed.key_id, details).await?;
    let issued = IssuedKey { key_id: listed.key_id, key, prefix: listed.prefix.clone() };
    Ok((issued, listed))
}

/// The name of a key, without the spaces around it.
pub(crate) fn checked_name(name: &str) -> Result<String, IdentityError> {
    let name = name.trim();
    let length = name.chars().count();
    if !(1..=NAME_CHARACTERS_MAX).contains(&length) || name.contains(char::is_control) {
        return Err(IdentityError::InvalidName);
    }
    Ok(name.to_owned())
}

/// Ends a key, in a work for the platform. Ending it again changes nothing.
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
            audit::record(work, actor, Act::StoreKeyRevoked, &key_id, details).await
        }
    }
}

/// All keys of a store, the newest first, with those that ended.
pub async fn store_keys(
    database: &Database,
    merchant: MerchantId,
) -> Result<Vec<StoreKey>, IdentityError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let keys = table::store_key::of_store(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    Ok(keys)
}
