//! All that a door needs to know who calls, and to hand out and end credentials, in one value.

use std::sync::Arc;
use std::time::Duration;

use database::{Database, Work};
use primitives::{ClientAddress, KeyId, MerchantId, UserId};

use crate::attempts::Attempts;
use crate::{
    Actor, AgentKey, AgentKeys, IdentityError, IssuedKey, Logins, NewAgentKey, People, Secret,
    StoreKey, StoreKeys, Tokens,
};

/// The callers of a service. The secret stays in here.
#[derive(Clone)]
pub struct Callers {
    /// Programs of merchants, by the keys of their stores.
    pub store_keys: StoreKeys,
    /// Agents, by their keys.
    pub agent_keys: AgentKeys,
    /// People, by their tokens.
    pub people: People,
    /// People, by their passwords.
    pub logins: Logins,
    /// The keys that sign tokens.
    pub tokens: Tokens,
    database: Database,
    secret: Secret,
}

impl Callers {
    /// For a service at this address. What is known of a credential may be so old; a test gives zero.
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
        let tokens = Tokens::new(database.clone(), secret.clone(), site_url);
        let ((store_db, store_secret), (agent_db, agent_secret)) = (own(), own());
        let (database, secret) = own();
        Self {
            store_keys: StoreKeys::new(store_db, store_secret, age_max).counting(&attempts),
            agent_keys: AgentKeys::new(agent_db, agent_secret, age_max).counting(&attempts),
            people: People::new(database.clone(), tokens.clone(), age_max),
            logins: Logins::new(database.clone(), secret.clone(), tokens.clone(), cores),
            tokens,
            database,
            secret,
        }
    }

    /// Makes a key for a person's agents.
    pub async fn issue_agent_key(
        &self,
        owner: UserId,
        new: &NewAgentKey,
    ) -> Result<(IssuedKey, AgentKey), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        let made = crate::issue_agent_key(&mut work, &self.secret, owner, new).await?;
        work.commit().await?;
        Ok(made)
    }

    /// Makes a key that is nobody's, for one store and a day.
    pub async fn issue_sandbox_key(
        &self,
        store: MerchantId,
        from: ClientAddress,
    ) -> Result<(IssuedKey, AgentKey), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        let made = crate::issue_sandbox_key(&mut work, &self.secret, store, from).await?;
        work.commit().await?;
        Ok(made)
    }

    /// Makes a key in the place of another.
    pub async fn rotate_agent_key(
        &self,
        owner: UserId,
        old: KeyId,
    ) -> Result<(IssuedKey, AgentKey), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        let made = crate::rotate_agent_key(&mut work, &self.secret, owner, old).await?;
        work.commit().await?;
        Ok(made)
    }

    /// Ends a key of a person's agents.
    pub async fn revoke_agent_key(&self, owner: UserId, key: KeyId) -> Result<(), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        crate::revoke_agent_key(&mut work, owner, key).await?;
        Ok(work.commit().await?)
    }

    /// The keys of a person's agents, the newest first.
    pub async fn agent_keys_of(&self, owner: UserId) -> Result<Vec<AgentKey>, IdentityError> {
        crate::agent_keys(&self.database, owner).await
    }

    /// Makes a key for a store.
    pub async fn issue_store_key(
        &self,
        actor: Actor,
        merchant: MerchantId,
        name: &str,
        days: Option<u32>,
    ) -> Result<(IssuedKey, StoreKey), IdentityError> {
        let mut work = Work::for_platform(&self.database).await?;
        let end = days.map(|days| work.now().plus(Duration::from_hours(24 * u64::from(days))));
        let made =
            crate::issue_store_key(&mut work, &self.secret, actor, merchant, name, end).await?;
        work.commit().await?;
        Ok(made)
    }

    /// Ends a key of a store.
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

    /// The keys of a store, the newest first.
    pub async fn store_keys_of(
        &self,
        merchant: MerchantId,
    ) -> Result<Vec<StoreKey>, IdentityError> {
        crate::store_keys(&self.database, merchant).await
    }
}
