//! The keys of a store: making, listing and ending them.

use std::fmt;

use database::{Database, Reading, Work};
use primitives::{KeyId, MerchantId, Timestamp};

use crate::{IdentityError, Secret, key_text, table};

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
    merchant: MerchantId,
    name: &str,
    expires_at: Option<Timestamp>,
) -> Result<IssuedKey, IdentityError> {
    let name = name.trim();
    let length = name.chars().count();
    if !(1..=NAME_CHARACTERS_MAX).contains(&length) || name.contains(char::is_control) {
        return Err(IdentityError::InvalidName);
    }
    if expires_at.is_some_and(|end| end <= work.now()) {
        return Err(IdentityError::ExpiresTooSoon);
    }
    let key = key_text::draw(work.random());
    let listed = StoreKey {
        key_id: work.new_id(),
        prefix: key_text::shown(&key).to_owned(),
        name: name.to_owned(),
        created_at: work.now(),
        expires_at,
        revoked_at: None,
    };
    table::insert_store_key(work, merchant, &secret.mac(&key), &listed).await?;
    Ok(IssuedKey { key_id: listed.key_id, key, prefix: listed.prefix })
}

/// Ends a key, in a work for the platform. Ending it again changes nothing.
pub async fn revoke_store_key(
    work: &mut Work,
    merchant: MerchantId,
    key_id: KeyId,
) -> Result<(), IdentityError> {
    if table::revoke_store_key(work, merchant, key_id).await? {
        Ok(())
    } else {
        Err(IdentityError::KeyNotFound)
    }
}

/// All keys of a store, the newest first, with those that ended.
pub async fn store_keys(
    database: &Database,
    merchant: MerchantId,
) -> Result<Vec<StoreKey>, IdentityError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let keys = table::store_keys(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    Ok(keys)
}
