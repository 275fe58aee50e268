//! The credential store: authenticates callers, and issues and revokes credentials.

use std::sync::Arc;
use std::time::Duration;

use database::{Database, Work};
use jobs::{Claim, IdempotencyKey};
use primitives::{ClientAddress, KeyId, MerchantId, UserId};
use serde_json::json;

use crate::attempts::Attempts;
use crate::{
    Actor, AgentKey, AgentKeys, IdentityError, IssuedKey, Logins, NewAgentKey, NewStoreKey,
    OrderLinks, People, Secret, StoreKey, StoreKeys, Tokens,
};

/// Authenticates callers, and issues and revokes credentials. It does not expose the secret.
#[derive(Clone)]
pub struct CredentialStore {
    /// Authenticates store keys.
    pub store_keys: StoreKeys,
    /// Authenticates agent keys.
    pub agent_keys: AgentKeys,
    /// Authenticates access tokens.
    pub people: People,
    /// Issues access tokens for passwords.
    pub logins: Logins,
    /// Signs and verifies access tokens.
    pub tokens: Tokens,
    /// Links to the pages of orders.
    pub order_links: OrderLinks,
    database: Database,
    secret: Secret,
}

impl CredentialStore {
    /// Creates the store for the service at `site_url`. Verified credentials are cached for up to `age_max`; tests use
    /// zero.
    #[must_use]
    pub fn new(
        database: &Database,
        secret: &Secret,
        site_url: Arc<str>,
        age_max: Duration,
        cores: usize,
    ) -> Self {
        let attempts = Attempts::new();
        let own = || (database.clone(), secret.clone());
        let order_links = OrderLinks::new(secret, Arc::clone(&site_url));
        let tokens = Tokens::new(database.clone(), secret.clone(), site_url);
        let ((store_db, store_secret), (agent_db, agent_secret)) = (own(), own());
        let (database, secret) = own();
        Self {
            store_keys: StoreKeys::new(store_db, store_secret, age_max).counting(&attempts),
            agent_keys: AgentKeys::new(agent_db, agent_secret, age_max).counting(&attempts),
            people: People::new(database.clone(), tokens.clone(), age_max),
            logins: Logins::new(database.clone(), secret.clone(), tokens.clone(), cores),
            tokens,
            order_links,
            database,
            secret,
        }
    }

    /// Issues an agent key to a person. If the request was executed before, returns the key of then without its text,
    /// which is not stored.
    pub async fn issue_agent_key(
        &self,
        owner: UserId,
        new: &NewAgentKey,
        idempotency_key: Option<&IdempotencyKey>,
    ) -> Result<(Option<IssuedKey>, AgentKey), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        if let Some(id) = issued_earlier(&mut work, idempotency_key).await? {
            work.rollback().await?;
            let mut keys = self.agent_keys_of(owner).await?.into_iter();
            let key = keys.find(|key| key.key_id == id).ok_or(IdentityError::KeyNotFound)?;
            return Ok((None, key));
        }
        let (issued, key) = crate::issue_agent_key(&mut work, &self.secret, owner, new).await?;
        record_issued(&mut work, idempotency_key, key.key_id).await?;
        work.commit().await?;
        Ok((Some(issued), key))
    }

    /// Issues an anonymous sandbox key for one store, valid for a day.
    pub async fn issue_sandbox_key(
        &self,
        store: MerchantId,
        from: ClientAddress,
    ) -> Result<(IssuedKey, AgentKey), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        let issued = crate::issue_sandbox_key(&mut work, &self.secret, store, from).await?;
        work.commit().await?;
        Ok(issued)
    }

    /// Rotates an agent key. If the request was executed before, returns the key without its text, which is not stored.
    pub async fn rotate_agent_key(
        &self,
        owner: UserId,
        key: KeyId,
        idempotency_key: Option<&IdempotencyKey>,
    ) -> Result<(Option<IssuedKey>, AgentKey), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        if let Some(id) = issued_earlier(&mut work, idempotency_key).await? {
            work.rollback().await?;
            let mut keys = self.agent_keys_of(owner).await?.into_iter();
            let key = keys.find(|key| key.key_id == id).ok_or(IdentityError::KeyNotFound)?;
            return Ok((None, key));
        }
        let (issued, key) = crate::rotate_agent_key(&mut work, &self.secret, owner, key).await?;
        record_issued(&mut work, idempotency_key, key.key_id).await?;
        work.commit().await?;
        Ok((Some(issued), key))
    }

    /// Revokes an agent key.
    pub async fn revoke_agent_key(&self, owner: UserId, key: KeyId) -> Result<(), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        crate::revoke_agent_key(&mut work, owner, key).await?;
        Ok(work.commit().await?)
    }

    /// Returns the agent keys of a person, newest first.
    pub async fn agent_keys_of(&self, owner: UserId) -> Result<Vec<AgentKey>, IdentityError> {
        crate::agent_keys(&self.database, owner).await
    }

    /// Issues a store key that expires after this many days; `None`: it does not expire. If the request was executed
    /// before, returns the key of then without its text, which is not stored.
    pub async fn issue_store_key(
        &self,
        actor: Actor,
        merchant: MerchantId,
        new: NewStoreKey,
        days: Option<u32>,
        idempotency_key: Option<&IdempotencyKey>,
    ) -> Result<(Option<IssuedKey>, StoreKey), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        if let Some(id) = issued_earlier(&mut work, idempotency_key).await? {
            work.rollback().await?;
            let mut keys = self.store_keys_of(merchant).await?.into_iter();
            let key = keys.find(|key| key.key_id == id).ok_or(IdentityError::KeyNotFound)?;
            return Ok((None, key));
        }
        let end = days.map(|days| work.now().plus(Duration::from_hours(24 * u64::from(days))));
        let new = NewStoreKey { expires_at: end, ..new };
        let (issued, key) =
            crate::issue_store_key(&mut work, &self.secret, actor, merchant, &new).await?;
        record_issued(&mut work, idempotency_key, key.key_id).await?;
        work.commit().await?;
        Ok((Some(issued), key))
    }

    /// Revokes a store key.
    pub async fn revoke_store_key(
        &self,
        actor: Actor,
        merchant: MerchantId,
        key: KeyId,
    ) -> Result<(), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        crate::revoke_store_key(&mut work, actor, merchant, key).await?;
        Ok(work.commit().await?)
    }

    /// Returns the keys of a store, newest first.
    pub async fn store_keys_of(
        &self,
        merchant: MerchantId,
    ) -> Result<Vec<StoreKey>, IdentityError> {
        crate::store_keys(&self.database, merchant).await
    }
}

/// Claims the idempotency key for this work. Returns the id of the credential that was issued under it earlier.
async fn issued_earlier(
    work: &mut Work,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<Option<KeyId>, IdentityError> {
    let Some(idempotency_key) = idempotency_key else { return Ok(None) };
    match jobs::claim_key(work, idempotency_key).await? {
        Claim::Fresh => Ok(None),
        Claim::Replay(response) => {
            let id = response["key_id"].as_str().and_then(|id| id.parse().ok());
            Ok(Some(id.ok_or(IdentityError::KeyNotFound)?))
        }
    }
}

/// Stores the id of an issued credential as the response of the idempotency key, and never its text.
async fn record_issued(
    work: &mut Work,
    idempotency_key: Option<&IdempotencyKey>,
    issued: KeyId,
) -> Result<(), IdentityError> {
    if let Some(idempotency_key) = idempotency_key {
        jobs::record_response(work, idempotency_key, &json!({ "key_id": issued })).await?;
    }
    Ok(())
}
