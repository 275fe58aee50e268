//! From a presented credential to whose it is, on every call. What is known is a few seconds old at the most,
//! because ending a credential has to work within five (decisions §5).

use std::sync::Arc;
use std::time::Duration;

use database::{Database, Reading};
use moka::future::Cache;
use primitives::{ClientAddress, MerchantId, UserId};
use subtle::ConstantTimeEq;

use crate::attempts::{Attempts, PutOff, WRONG_MAX};
use crate::key_text::{self, Kind};
use crate::secret::Mac;
use crate::{Agent, IdentityError, Person, Secret, Tokens, table};

/// How old an answer may be.
pub const AGE_MAX: Duration = Duration::from_secs(2);
/// How many are kept, known or not. Those that are used often stay when many are tried.
const KEPT_MAX: u64 = 50_000;
/// How long a wrong key is remembered. It stays wrong: keys are drawn by us, and none comes back once it ended.
const WRONG_FOR: Duration = Duration::from_mins(1);
/// A key that was right so lately is looked up even if others from its address were wrong.
const LATELY: Duration = Duration::from_mins(10);

fn kept<K, V>(age_max: Duration) -> Cache<K, V>
where
    K: std::hash::Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Cache::builder().max_capacity(KEPT_MAX).time_to_live(age_max).build()
}

/// What is known of keys, by their MAC, so that a copy of the memory holds no keys.
#[derive(Clone)]
struct Known<V> {
    database: Database,
    right: Cache<Mac, V>,
    lately: Cache<Mac, ()>,
    wrong: Cache<Mac, ()>,
    attempts: Attempts,
}

impl<V: Clone + Send + Sync + 'static> Known<V> {
    fn new(database: Database, age_max: Duration) -> Self {
        let (right, attempts) = (kept(age_max.min(AGE_MAX)), Attempts::new());
        Self { database, right, lately: kept(LATELY), wrong: kept(WRONG_FOR), attempts }
    }

    /// Whose key it is: from memory, or looked up once however many ask.
    async fn find(
        &self,
        mac: Mac,
        from: ClientAddress,
        look_up: impl Future<Output = Result<Option<V>, IdentityError>> + Send + 'static,
    ) -> Result<V, IdentityError> {
        if let Some(found) = self.right.get(&mac).await {
            return Ok(found);
        }
        // As a task of its own: whoever goes away while it runs has still tried a key.
        let known = self.clone();
        let looked_up = tokio::spawn(async move {
            let once = known.look_up(mac, from, look_up);
            known.right.try_get_with_by_ref(&mac, once).await
        });
        let found = looked_up.await.map_err(|_| IdentityError::Unlooked)?;
        found.map_err(|error| IdentityError::clone(&error))
    }

    async fn look_up(
        &self,
        mac: Mac,
        from: ClientAddress,
        look_up: impl Future<Output = Result<Option<V>, IdentityError>> + Send,
    ) -> Result<V, IdentityError> {
        if self.wrong.contains_key(&mac) {
            return Err(IdentityError::Refused);
        }
        let attempt = if self.lately.contains_key(&mac) {
            None
        } else {
            let put_off = |PutOff { wait }| {
                let reset_at = self.database.local_now().plus(wait);
                IdentityError::TooManyWrongKeys { limit: WRONG_MAX, reset_at, wait }
            };
            Some(self.attempts.begin(from).await.map_err(put_off)?)
        };
        metrics::counter!("souk_key_lookups_total").increment(1);
        if let Some(found) = look_up.await? {
            self.lately.insert(mac, ()).await;
            return Ok(found);
        }
        if let Some(attempt) = attempt {
            attempt.was_wrong();
        }
        self.wrong.insert(mac, ()).await;
        Err(IdentityError::Refused)
    }
}

/// Merchants by the keys of their stores.
#[derive(Clone)]
pub struct StoreKeys {
    secret: Secret,
    known: Known<MerchantId>,
}

impl StoreKeys {
    /// An empty cache. A test gives a zero age to see its own writes.
    #[must_use]
    pub fn new(database: Database, secret: Secret, age_max: Duration) -> Self {
        Self { secret, known: Known::new(database, age_max) }
    }

    /// Wrong keys are counted together with those of others.
    pub(crate) fn counting(mut self, attempts: &Attempts) -> Self {
        self.known.attempts = attempts.clone();
        self
    }

    /// Whose key this is.
    pub async fn merchant_of(
        &self,
        presented: &str,
        from: ClientAddress,
    ) -> Result<MerchantId, IdentityError> {
        if !key_text::is_key(Kind::Store, presented) {
            return Err(IdentityError::Refused);
        }
        let mac = self.secret.mac(presented);
        let database = self.known.database.clone();
        let look_up = async move {
            let mut snapshot = Reading::for_platform(&database).open().await?;
            let now = snapshot.now().await?;
            let found = table::store_key::merchant_of(&mut snapshot, &mac, now).await?;
            snapshot.close().await?;
            Ok(found.filter(|(_, kept)| is_same(&mac, kept)).map(|(merchant, _)| merchant))
        };
        self.known.find(mac, from, look_up).await
    }
}

/// Agents by their keys.
#[derive(Clone)]
pub struct AgentKeys {
    secret: Secret,
    known: Known<Arc<Agent>>,
}

impl AgentKeys {
    /// An empty cache. A test gives a zero age to see its own writes.
    #[must_use]
    pub fn new(database: Database, secret: Secret, age_max: Duration) -> Self {
        Self { secret, known: Known::new(database, age_max) }
    }

    /// Wrong keys are counted together with those of others.
    pub(crate) fn counting(mut self, attempts: &Attempts) -> Self {
        self.known.attempts = attempts.clone();
        self
    }

    /// Whose key this is.
    pub async fn agent_of(
        &self,
        presented: &str,
        from: ClientAddress,
    ) -> Result<Arc<Agent>, IdentityError> {
        if !key_text::is_key(Kind::Agent, presented) {
            return Err(IdentityError::Refused);
        }
        let mac = self.secret.mac(presented);
        let database = self.known.database.clone();
        let look_up = async move {
            let mut snapshot = Reading::for_platform(&database).open().await?;
            let now = snapshot.now().await?;
            let found = table::agent_key::agent_of(&mut snapshot, &mac, now).await?;
            snapshot.close().await?;
            Ok(found.filter(|(_, kept)| is_same(&mac, kept)).map(|(agent, _)| Arc::new(agent)))
        };
        self.known.find(mac, from, look_up).await
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
        Self { database, tokens, known: kept(age_max.min(AGE_MAX)) }
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
        let person = self.known.try_get_with_by_ref(&session.user, load).await;
        match person.map_err(|error: Arc<IdentityError>| IdentityError::clone(&error))? {
            Some(person) if person.sessions_from == session.sessions_from => Ok(person),
            _ => Err(IdentityError::Refused),
        }
    }
}

/// The index found it by its bytes; how long that took says nothing about a MAC, and this says less.
fn is_same(presented: &Mac, kept: &[u8]) -> bool {
    presented.as_slice().ct_eq(kept).into()
}
