//! Authentication: from a presented credential to its owner. Results are cached for at most two seconds, because
//! revocation has to take effect within five (docs/contract/authentication.md#revocation).

use std::sync::Arc;
use std::time::Duration;

use database::{Database, Reading};
use moka::future::Cache;
use primitives::{ClientAddress, UserId};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use crate::attempts::{Attempts, INVALID_MAX, Rejection};
use crate::key_text::{self, Kind};
use crate::secret::Mac;
use crate::{Agent, IdentityError, Person, Secret, StoreProgram, Tokens, table};

/// Maximum age of a cached credential.
pub const CACHE_AGE_MAX: Duration = Duration::from_secs(2);
/// Maximum number of cache entries. Frequently used ones stay when many keys are tried.
const ENTRIES_MAX: u64 = 50_000;
/// How long an invalid key is cached. It stays invalid: the server generates keys, and expired ones are not reactivated.
const INVALID_FOR: Duration = Duration::from_mins(1);
/// Requests that may wait for the lookup of a key at the same time. More of them fail at once: a queue would only grow
/// while PostgreSQL is unavailable.
const WAITING_MAX: usize = 1_024;
/// A key that was valid within this time is looked up even if its network is throttled.
const RECENT_FOR: Duration = Duration::from_mins(10);

fn cache<K, V>(ttl: Duration) -> Cache<K, V>
where
    K: std::hash::Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    Cache::builder().max_capacity(ENTRIES_MAX).time_to_live(ttl).build()
}

/// Cached keys, by their MAC, so that a memory dump contains no keys.
#[derive(Clone)]
struct KeyCache<V> {
    database: Database,
    valid: Cache<Mac, V>,
    recent: Cache<Mac, ()>,
    invalid: Cache<Mac, ()>,
    attempts: Attempts,
    waiting: Arc<Semaphore>,
}

impl<V: Clone + Send + Sync + 'static> KeyCache<V> {
    fn new(database: Database, age_max: Duration) -> Self {
        Self {
            database,
            valid: cache(age_max.min(CACHE_AGE_MAX)),
            recent: cache(RECENT_FOR),
            invalid: cache(INVALID_FOR),
            attempts: Attempts::new(),
            waiting: Arc::new(Semaphore::new(WAITING_MAX)),
        }
    }

    /// Returns the owner of a key: from the cache, or by one lookup for all concurrent requests.
    async fn find(
        &self,
        mac: Mac,
        from: ClientAddress,
        look_up: impl Future<Output = Result<Option<V>, IdentityError>> + Send + 'static,
    ) -> Result<V, IdentityError> {
        if let Some(found) = self.valid.get(&mac).await {
            return Ok(found);
        }
        let permit = Arc::clone(&self.waiting).try_acquire_owned();
        let permit = permit.map_err(|_| IdentityError::LookupsBusy)?;
        // A separate task, so that the attempt counts even if the client disconnects.
        let cache = self.clone();
        let looked_up = tokio::spawn(async move {
            let _permit = permit;
            let found = cache.look_up(mac, from, look_up);
            cache.valid.try_get_with_by_ref(&mac, found).await
        });
        let found = looked_up.await.map_err(|_| IdentityError::LookupFailed)?;
        found.map_err(|error| IdentityError::clone(&error))
    }

    async fn look_up(
        &self,
        mac: Mac,
        from: ClientAddress,
        look_up: impl Future<Output = Result<Option<V>, IdentityError>> + Send,
    ) -> Result<V, IdentityError> {
        if self.invalid.contains_key(&mac) {
            return Err(IdentityError::InvalidCredential);
        }
        let attempt = if self.recent.contains_key(&mac) {
            None
        } else {
            let rejected = |rejection| match rejection {
                Rejection::Throttled { wait } => {
                    let reset_at = self.database.local_now().plus(wait);
                    IdentityError::TooManyInvalidKeys { limit: INVALID_MAX, reset_at, wait }
                }
                Rejection::Busy => IdentityError::LookupsBusy,
            };
            Some(self.attempts.begin(from).await.map_err(rejected)?)
        };
        metrics::counter!("souk_key_lookups_total").increment(1);
        if let Some(found) = look_up.await? {
            self.recent.insert(mac, ()).await;
            return Ok(found);
        }
        if let Some(attempt) = attempt {
            attempt.was_invalid();
        }
        self.invalid.insert(mac, ()).await;
        Err(IdentityError::InvalidCredential)
    }
}

/// Authenticates store keys.
#[derive(Clone)]
pub struct StoreKeys {
    secret: Secret,
    cache: KeyCache<Arc<StoreProgram>>,
}

impl StoreKeys {
    /// Creates the authenticator with an empty cache. Tests use an `age_max` of zero to see their own writes.
    #[must_use]
    pub fn new(database: Database, secret: Secret, age_max: Duration) -> Self {
        Self { secret, cache: KeyCache::new(database, age_max) }
    }

    /// Shares the count of invalid keys with other authenticators.
    pub(crate) fn counting(mut self, attempts: &Attempts) -> Self {
        self.cache.attempts = attempts.clone();
        self
    }

    /// Returns the program of a store key.
    pub async fn program_of(
        &self,
        presented: &str,
        from: ClientAddress,
    ) -> Result<Arc<StoreProgram>, IdentityError> {
        if !key_text::is_key(Kind::Store, presented) {
            return Err(IdentityError::InvalidCredential);
        }
        let mac = self.secret.mac(presented);
        let database = self.cache.database.clone();
        let look_up = async move {
            let reading = Reading::for_platform(&database);
            let found = reading
                .run(async |sql| {
                    let now = sql.now().await?;
                    let found = table::store_key::program_of(sql, &mac, now).await?;
                    Ok::<_, IdentityError>(found)
                })
                .await?;
            let found = found.filter(|(_, stored)| is_equal(&mac, stored));
            Ok(found.map(|(program, _)| Arc::new(program)))
        };
        self.cache.find(mac, from, look_up).await
    }
}

/// Authenticates agent keys.
#[derive(Clone)]
pub struct AgentKeys {
    secret: Secret,
    cache: KeyCache<Arc<Agent>>,
}

impl AgentKeys {
    /// Creates the authenticator with an empty cache. Tests use an `age_max` of zero to see their own writes.
    #[must_use]
    pub fn new(database: Database, secret: Secret, age_max: Duration) -> Self {
        Self { secret, cache: KeyCache::new(database, age_max) }
    }

    /// Shares the count of invalid keys with other authenticators.
    pub(crate) fn counting(mut self, attempts: &Attempts) -> Self {
        self.cache.attempts = attempts.clone();
        self
    }

    /// Returns the agent of an agent key.
    pub async fn agent_of(
        &self,
        presented: &str,
        from: ClientAddress,
    ) -> Result<Arc<Agent>, IdentityError> {
        if !key_text::is_key(Kind::Agent, presented) {
            return Err(IdentityError::InvalidCredential);
        }
        let mac = self.secret.mac(presented);
        let database = self.cache.database.clone();
        let look_up = async move {
            let reading = Reading::for_platform(&database);
            let found = reading
                .run(async |sql| {
                    let now = sql.now().await?;
                    let found = table::agent_key::agent_of(sql, &mac, now).await?;
                    Ok::<_, IdentityError>(found)
                })
                .await?;
            Ok(found.filter(|(_, stored)| is_equal(&mac, stored)).map(|(agent, _)| Arc::new(agent)))
        };
        self.cache.find(mac, from, look_up).await
    }
}

/// Authenticates access tokens.
#[derive(Clone)]
pub struct People {
    database: Database,
    tokens: Tokens,
    cache: Cache<UserId, Option<Arc<Person>>>,
}

impl People {
    /// Creates the authenticator with an empty cache. Tests use an `age_max` of zero to see their own writes.
    #[must_use]
    pub fn new(database: Database, tokens: Tokens, age_max: Duration) -> Self {
        Self { database, tokens, cache: cache(age_max.min(CACHE_AGE_MAX)) }
    }

    /// Returns the person of an access token. Tokens from before the last change of the password are rejected.
    pub async fn person_of(&self, token: &str) -> Result<Arc<Person>, IdentityError> {
        let session = self.tokens.verify(token).await?;
        let load = async {
            let reading = Reading::for_platform(&self.database);
            reading
                .run(async |sql| {
                    let found = table::person::find(sql, session.user).await?;
                    Ok::<_, IdentityError>(found.map(Arc::new))
                })
                .await
        };
        let person = self.cache.try_get_with_by_ref(&session.user, load).await;
        match person.map_err(|error: Arc<IdentityError>| IdentityError::clone(&error))? {
            Some(person) if person.sessions_from == session.sessions_from => Ok(person),
            _ => Err(IdentityError::InvalidCredential),
        }
    }
}

/// Compares MACs in constant time, in addition to the comparison by the index.
fn is_equal(presented: &Mac, stored: &[u8]) -> bool {
    presented.as_slice().ct_eq(stored).into()
}
