//! From a presented credential to whose it is, on every call. What is known is a few seconds old at the most,
//! because ending a credential has to work within five (decisions §5).

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use database::{Database, Reading};
use moka::future::Cache;
use primitives::{MerchantId, UserId};
use subtle::ConstantTimeEq;

use crate::key_text::{self, Kind};
use crate::secret::Mac;
use crate::{Agent, IdentityError, Person, Secret, Tokens, table};

/// How old an answer may be.
pub const AGE_MAX: Duration = Duration::from_secs(2);
/// How many are kept, known or not. Those that are used often stay when many are tried.
const KEPT_MAX: u64 = 50_000;

/// What was looked up in the last seconds. That something is unknown is remembered too: repeating a wrong key
/// costs no look-up.
fn remembered<K, V>(age_max: Duration) -> Cache<K, Option<V>>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Cache::builder().max_capacity(KEPT_MAX).time_to_live(age_max.min(AGE_MAX)).build()
}

/// Merchants by the keys of their stores. Kept by their MAC, so that a copy of the memory holds no keys.
#[derive(Clone)]
pub struct StoreKeys {
    database: Database,
    secret: Secret,
    merchants: Cache<Mac, Option<MerchantId>>,
}

impl StoreKeys {
    /// An empty cache. A test gives a zero age to see its own writes.
    #[must_use]
    pub fn new(database: Database, secret: Secret, age_max: Duration) -> Self {
        Self { database, secret, merchants: remembered(age_max) }
    }

    /// Whose key this is.
    pub async fn merchant_of(&self, presented: &str) -> Result<MerchantId, IdentityError> {
        if !key_text::is_key(Kind::Store, presented) {
            return Err(IdentityError::Refused);
        }
        let mac = self.secret.mac(presented);
        let load = async {
            let mut snapshot = Reading::for_platform(&self.database).open().await?;
            let now = snapshot.now().await?;
            let found = table::store_key::merchant_of(&mut snapshot, &mac, now).await?;
            snapshot.close().await?;
            Ok(found.filter(|(_, kept)| is_same(&mac, kept)).map(|(merchant, _)| merchant))
        };
        found(self.merchants.try_get_with_by_ref(&mac, load).await)
    }
}

/// Agents by their keys.
#[derive(Clone)]
pub struct AgentKeys {
    database: Database,
    secret: Secret,
    agents: Cache<Mac, Option<Arc<Agent>>>,
}

impl AgentKeys {
    /// An empty cache. A test gives a zero age to see its own writes.
    #[must_use]
    pub fn new(database: Database, secret: Secret, age_max: Duration) -> Self {
        Self { database, secret, agents: remembered(age_max) }
    }

    /// Whose key this is.
    pub async fn agent_of(&self, presented: &str) -> Result<Arc<Agent>, IdentityError> {
        if !key_text::is_key(Kind::Agent, presented) {
            return Err(IdentityError::Refused);
        }
        let mac = self.secret.mac(presented);
        let load = async {
            let mut snapshot = Reading::for_platform(&self.database).open().await?;
            let now = snapshot.now().await?;
            let found = table::agent_key::agent_of(&mut snapshot, &mac, now).await?;
            snapshot.close().await?;
            Ok(found.filter(|(_, kept)| is_same(&mac, kept)).map(|(agent, _)| Arc::new(agent)))
        };
        found(self.agents.try_get_with_by_ref(&mac, load).await)
    }
}

/// People by their tokens.
#[derive(Clone)]
pub struct People {
    database: Database,
    tokens: Tokens,
    known: Cache<UserId, Option<Arc<Person>>>,
}

impl People {
    /// An empty cache. A test gives a zero age to see its own writes.
    #[must_use]
    pub fn new(database: Database, tokens: Tokens, age_max: Duration) -> Self {
        Self { database, tokens, known: remembered(age_max) }
    }

    /// Whose token this is. One from before the last change of the password is refused.
    pub async fn person_of(&self, token: &str) -> Result<Arc<Person>, IdentityError> {
        let session = self.tokens.read(token).await?;
        let load = async {
            let mut snapshot = Reading::for_platform(&self.database).open().await?;
            let found = table::person::find(&mut snapshot, session.user).await?;
            snapshot.close().await?;
            Ok(found.map(Arc::new))
        };
        let person = found(self.known.try_get_with_by_ref(&session.user, load).await)?;
        if person.sessions_from == session.sessions_from {
            Ok(person)
        } else {
            Err(IdentityError::Refused)
        }
    }
}

/// The index found it by its bytes; how long that took says nothing about a MAC, and this says less.
fn is_same(presented: &Mac, kept: &[u8]) -> bool {
    presented.as_slice().ct_eq(kept).into()
}

fn found<V>(looked_up: Result<Option<V>, Arc<IdentityError>>) -> Result<V, IdentityError> {
    match looked_up {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(IdentityError::Refused),
        Err(error) => Err(IdentityError::clone(&error)),
    }
}
