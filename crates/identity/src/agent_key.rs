//! The keys of agents: making, listing, replacing and ending them.

use std::collections::BTreeSet;
use std::time::Duration;

use database::{Database, Reading, Work};
use primitives::{KeyId, MerchantId, Plan, Scope, Timestamp, UserId};
use serde_json::json;

use crate::audit::{self, Act, Actor};
use crate::key_text::{self, Kind};
use crate::store_key::checked_name;
use crate::{IdentityError, IssuedKey, Secret, table, tier};

/// The longest life that can be asked for.
const DAYS_MAX: u32 = 3_650;
/// How long a replaced key still works, so that nothing has to change in the same second.
const OVERLAP: Duration = Duration::from_hours(1);

/// What is wanted of a key.
#[derive(Debug, Clone, Default)]
pub struct NewAgentKey {
    /// What it may do; at least one.
    pub scopes: BTreeSet<Scope>,
    /// What its owner calls it.
    pub name: Option<String>,
    /// When it ends by itself.
    pub expires_in_days: Option<u32>,
    /// The only stores it may call.
    pub stores: Option<Vec<MerchantId>>,
}

/// A key as its owner sees it afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKey {
    /// Its id.
    pub key_id: KeyId,
    /// The beginning of its text.
    pub prefix: String,
    /// What its owner calls it.
    pub name: String,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// The only stores it may call; none named: all.
    pub stores: Option<Vec<MerchantId>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// An agent, as known on every call with its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The key it came with.
    pub key: KeyId,
    /// What its owner calls the key.
    pub name: String,
    /// Whose agent it is; nobody's in a sandbox.
    pub owner: Option<UserId>,
    /// What the owner pays for.
    pub plan: Plan,
    /// What the key may do.
    pub scopes: BTreeSet<Scope>,
    /// The only stores it may call.
    pub stores: Option<Vec<MerchantId>>,
}

impl Agent {
    /// Whether it may do what needs a scope. Who may check out may read the orders that came of it (decisions §5).
    pub fn require(&self, scope: Scope) -> Result<(), IdentityError> {
        let implied = scope == Scope::AgentOrders && self.scopes.contains(&Scope::AgentCheckout);
        if implied || self.scopes.contains(&scope) {
            Ok(())
        } else {
            Err(IdentityError::ScopeMissing(scope))
        }
    }

    /// Whether it plays in a sandbox: what it does is no sale.
    #[must_use]
    pub const fn is_sandbox(&self) -> bool {
        self.owner.is_none()
    }

    /// Whether it may call a store.
    pub fn require_store(&self, merchant: MerchantId) -> Result<(), IdentityError> {
        match &self.stores {
            Some(stores) if !stores.contains(&merchant) => Err(IdentityError::OtherStore),
            _ => Ok(()),
        }
    }
}

/// Makes a key for a person's agents, in a work for the platform.
pub async fn issue_agent_key(
    work: &mut Work,
    secret: &Secret,
    owner: UserId,
    new: &NewAgentKey,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    if new.scopes.is_empty() {
        return Err(IdentityError::NoScopes);
    }
    if new.stores.as_ref().is_some_and(|stores| stores.is_empty() || stores.len() > 100) {
        return Err(IdentityError::InvalidStores);
    }
    let name = checked_name(new.name.as_deref().unwrap_or("agent"))?;
    let now = work.now();
    let expires_at = match new.expires_in_days {
        None => None,
        Some(days @ 1..=DAYS_MAX) => Some(now.plus(Duration::from_hours(24 * u64::from(days)))),
        Some(_) => return Err(IdentityError::InvalidLife),
    };
    check_room(work, owner).await?;
    let stores = new.stores.clone();
    let wanted = AgentKeyFacts { name, scopes: new.scopes.clone(), stores, expires_at };
    let made = make(work, secret, Some(owner), wanted).await?;
    let scopes: Vec<&str> = made.1.scopes.iter().map(|scope| scope.name()).collect();
    let (actor, id) = (Actor::Person(owner), made.1.key_id);
    audit::record(work, actor, Act::AgentKeyIssued, &id, json!({ "scopes": scopes })).await?;
    Ok(made)
}

/// Whether the owner may have one more. The owner's row is held, so that two calls at once cannot both be the
/// hundredth.
async fn check_room(work: &mut Work, owner: UserId) -> Result<(), IdentityError> {
    let found = table::agent_key::working_of(work, owner).await?;
    let (plan, working) = found.ok_or(IdentityError::PersonNotFound)?;
    if working < tier::agent_keys_max(plan) {
        return Ok(());
    }
    Err(match tier::cheapest_above(plan, tier::agent_keys_max) {
        Some(needed) => IdentityError::TierRequired { needed, feature: "one more key" },
        None => IdentityError::TooManyKeys,
    })
}

pub(crate) struct AgentKeyFacts {
    pub(crate) name: String,
    pub(crate) scopes: BTreeSet<Scope>,
    pub(crate) stores: Option<Vec<MerchantId>>,
    pub(crate) expires_at: Option<Timestamp>,
}

pub(crate) async fn make(
    work: &mut Work,
    secret: &Secret,
    owner: Option<UserId>,
    facts: AgentKeyFacts,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let text = key_text::draw(Kind::Agent, work.random());
    let prefix = key_text::shown(&text).to_owned();
    let key = AgentKey {
        key_id: work.new_id(),
        prefix: prefix.clone(),
        name: facts.name,
        scopes: facts.scopes,
        stores: facts.stores,
        created_at: work.now(),
        expires_at: facts.expires_at,
        revoked_at: None,
    };
    table::agent_key::insert(work, owner, &secret.mac(&text), &key).await?;
    Ok((IssuedKey { key_id: key.key_id, key: text, prefix }, key))
}

/// Makes a key in the place of another, with the same rights, in a work for the platform. The old one works for
/// another hour. A key is replaced once: whoever asks again, perhaps because the answer was lost, revokes the key in its
/// place and makes another.
pub async fn rotate_agent_key(
    work: &mut Work,
    secret: &Secret,
    owner: UserId,
    old: KeyId,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let now = work.now();
    check_room(work, owner).await?;
    let found = table::agent_key::held(work, owner, old).await?;
    let (former, rotated_to) = found.ok_or(IdentityError::KeyNotFound)?;
    if let Some(by) = rotated_to {
        return Err(IdentityError::AlreadyReplaced { by });
    }
    if former.revoked_at.is_some() || former.expires_at.is_some_and(|end| end <= now) {
        return Err(IdentityError::KeyNotFound);
    }
    let life = former.expires_at.map(|end| end.since(former.created_at));
    let facts = AgentKeyFacts {
        name: former.name,
        scopes: former.scopes,
        stores: former.stores,
        expires_at: life.map(|life| now.plus(life)),
    };
    let made = make(work, secret, Some(owner), facts).await?;
    let until = now.plus(OVERLAP);
    table::agent_key::replace(work, old, made.1.key_id, until).await?;
    let details = json!({ "by": made.1.key_id, "until": until });
    audit::record(work, Actor::Person(owner), Act::AgentKeyRotated, &old, details).await?;
    Ok(made)
}

/// Ends a key, in a work for the platform. Ending it again changes nothing.
pub async fn revoke_agent_key(
    work: &mut Work,
    owner: UserId,
    key: KeyId,
) -> Result<(), IdentityError> {
    match table::agent_key::revoke(work, owner, key).await? {
        None => Err(IdentityError::KeyNotFound),
        Some(false) => Ok(()),
        Some(true) => {
            let actor = Actor::Person(owner);
            audit::record(work, actor, Act::AgentKeyRevoked, &key, json!({})).await
        }
    }
}

/// All keys of a person, the newest first, with those that ended.
pub async fn agent_keys(
    database: &Database,
    owner: UserId,
) -> Result<Vec<AgentKey>, IdentityError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let keys = table::agent_key::of_person(&mut snapshot, owner).await?;
    snapshot.close().await?;
    Ok(keys)
}
