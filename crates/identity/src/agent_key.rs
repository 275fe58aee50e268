//! Agent keys: issuing, listing, rotating and revoking.

use std::collections::BTreeSet;
use std::time::Duration;

use database::{Database, DatabaseError, Reading, Work};
use primitives::{KeyId, MerchantId, Plan, Scope, Timestamp, UserId};
use serde_json::json;

use crate::audit::{self, Actor, AuditAction};
use crate::key_text::{self, Kind};
use crate::store_key::parse_key_name;
use crate::{IdentityError, IssuedKey, Secret, table, tier};

/// Maximum lifetime in days.
const DAYS_MAX: u32 = 3_650;
/// How long the former text of a rotated key remains valid beside the new one.
const OVERLAP: Duration = Duration::from_hours(1);

/// Keys of an account whose orders are visible to its other keys, the newest (docs/contract/orders.md#visibility). Each costs a
/// listing one look into an index, and the number of revoked keys is not limited.
const KEYS_OF_ORDERS_MAX: i64 = 500;

/// The properties of a key to issue.
#[derive(Debug, Clone, Default)]
pub struct NewAgentKey {
    /// At least one.
    pub scopes: BTreeSet<Scope>,
    /// `agent` if `None`.
    pub name: Option<String>,
    /// `None` for a key that does not expire.
    pub expires_in_days: Option<u32>,
    /// The stores the key is valid for; `None` for all.
    pub stores: Option<Vec<MerchantId>>,
}

/// An agent key, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKey {
    pub key_id: KeyId,
    /// The first characters of the text.
    pub prefix: String,
    pub name: String,
    pub scopes: BTreeSet<Scope>,
    /// The stores the key is valid for; `None` for all.
    pub stores: Option<Vec<MerchantId>>,
    pub created_at: Timestamp,
    /// When the text was last replaced; `None` if never.
    pub rotated_at: Option<Timestamp>,
    /// `None` for a key that does not expire.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// The agent authenticated by a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub key: KeyId,
    /// Name of the key.
    pub name: String,
    /// `None` for a sandbox key.
    pub owner: Option<UserId>,
    /// Plan of the owner; `Free` for a sandbox key.
    pub plan: Plan,
    pub scopes: BTreeSet<Scope>,
    /// The stores the key is valid for; `None` for all.
    pub stores: Option<Vec<MerchantId>>,
}

impl Agent {
    /// Returns `ScopeMissing` if the key lacks a scope. `AgentCheckout` implies `AgentOrders`
    /// (docs/contract/authentication.md#checkout-implies-orders).
    pub fn require(&self, scope: Scope) -> Result<(), IdentityError> {
        let implied = scope == Scope::AgentOrders && self.scopes.contains(&Scope::AgentCheckout);
        if implied || self.scopes.contains(&scope) {
            Ok(())
        } else {
            Err(IdentityError::ScopeMissing(scope))
        }
    }

    /// Returns whether the key is a sandbox key, whose purchases are not sales.
    #[must_use]
    pub const fn is_sandbox(&self) -> bool {
        self.owner.is_none()
    }

    /// Returns the keys whose orders the agent sees: its own or, with the scope `AgentOrders`, also the newest of its account,
    /// valid or not (docs/contract/orders.md#visibility).
    pub async fn keys_of_orders(&self, database: &Database) -> Result<Vec<KeyId>, IdentityError> {
        match self.owner {
            // Not by `require`: the scope that `AgentCheckout` implies is for the orders of the key.
            Some(owner) if self.scopes.contains(&Scope::AgentOrders) => {
                let reading = Reading::for_platform(database);
                let mut keys: Vec<KeyId> = reading
                    .run(async |sql| -> Result<_, IdentityError> {
                        let limit = KEYS_OF_ORDERS_MAX;
                        Ok(table::agent_key::newest_ids_of_person(sql, owner, limit).await?)
                    })
                    .await?;
                if !keys.contains(&self.key) {
                    keys.push(self.key);
                }
                Ok(keys)
            }
            _ => Ok(vec![self.key]),
        }
    }

    /// Returns `StoreNotAllowed` if the key is not valid for a store.
    pub fn require_store(&self, merchant: MerchantId) -> Result<(), IdentityError> {
        match &self.stores {
            Some(stores) if !stores.contains(&merchant) => Err(IdentityError::StoreNotAllowed),
            _ => Ok(()),
        }
    }
}

/// Returns the agent keys of an account, also those that are no longer valid: what they hold remains. Works in the
/// transaction of a store, whose role may not read keys.
pub async fn keys_of_account(
    work: &mut Work,
    account: UserId,
) -> Result<Vec<KeyId>, DatabaseError> {
    work.as_platform(async |work| Ok(table::agent_key::ids_of_person(work.sql(), account).await?))
        .await
}

/// Issues an agent key to a person, in a platform transaction.
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
    let name = parse_key_name(new.name.as_deref().unwrap_or("agent"))?;
    let now = work.now();
    let expires_at = match new.expires_in_days {
        None => None,
        Some(days @ 1..=DAYS_MAX) => Some(now.plus(Duration::from_hours(24 * u64::from(days)))),
        Some(_) => return Err(IdentityError::InvalidLifetime),
    };
    check_key_limit(work, owner).await?;
    let stores = new.stores.clone();
    let properties = KeyProperties { name, scopes: new.scopes.clone(), stores, expires_at };
    let issued = create(work, secret, Some(owner), properties).await?;
    let scopes: Vec<&str> = issued.1.scopes.iter().map(|scope| scope.as_str()).collect();
    let (actor, id) = (Actor::Person(owner), issued.1.key_id);
    audit::record(work, actor, AuditAction::AgentKeyIssued, &id, json!({ "scopes": scopes }))
        .await?;
    Ok(issued)
}

/// Returns an error if the owner has the maximum number of active keys. Locks the row of the owner, so that concurrent
/// requests cannot exceed the limit.
async fn check_key_limit(work: &mut Work, owner: UserId) -> Result<(), IdentityError> {
    let found = table::agent_key::count_active(work, owner).await?;
    let (plan, active) = found.ok_or(IdentityError::PersonNotFound)?;
    if active < tier::agent_keys_max(plan) {
        return Ok(());
    }
    Err(match tier::cheapest_above(plan, tier::agent_keys_max) {
        Some(needed) => IdentityError::TierRequired { needed, feature: "another agent key" },
        None => IdentityError::TooManyKeys,
    })
}

/// The properties of a new key.
pub(crate) struct KeyProperties {
    pub(crate) name: String,
    pub(crate) scopes: BTreeSet<Scope>,
    pub(crate) stores: Option<Vec<MerchantId>>,
    pub(crate) expires_at: Option<Timestamp>,
}

/// Generates and stores a key.
pub(crate) async fn create(
    work: &mut Work,
    secret: &Secret,
    owner: Option<UserId>,
    properties: KeyProperties,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let text = key_text::generate(Kind::Agent, work.random());
    let prefix = key_text::visible_prefix(&text).to_owned();
    let key = AgentKey {
        key_id: work.new_id(),
        prefix: prefix.clone(),
        name: properties.name,
        scopes: properties.scopes,
        stores: properties.stores,
        created_at: work.now(),
        rotated_at: None,
        expires_at: properties.expires_at,
        revoked_at: None,
    };
    table::agent_key::insert(work, owner, &secret.mac(&text), &key).await?;
    Ok((IssuedKey { key_id: key.key_id, key: text, prefix }, key))
}

/// Replaces the text of a key, in a platform transaction. The key keeps its id, and with it everything it owns; its lifetime
/// begins again. The former text remains valid for another hour. If the key is rotated again within that hour, because a
/// response was lost, the text of the lost response becomes invalid and the former text keeps its hour.
pub async fn rotate_agent_key(
    work: &mut Work,
    secret: &Secret,
    owner: UserId,
    key: KeyId,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let now = work.now();
    let former = table::agent_key::lock(work, owner, key).await?;
    let former = former.ok_or(IdentityError::KeyNotFound)?;
    if former.revoked_at.is_some() || former.expires_at.is_some_and(|end| end <= now) {
        return Err(IdentityError::KeyNotFound);
    }
    let text = key_text::generate(Kind::Agent, work.random());
    let prefix = key_text::visible_prefix(&text).to_owned();
    let issued_at = former.rotated_at.unwrap_or(former.created_at);
    let lifetime = former.expires_at.map(|end| end.since(issued_at));
    let expires_at = lifetime.map(|lifetime| now.plus(lifetime));
    let rotated = AgentKey { prefix: prefix.clone(), rotated_at: Some(now), expires_at, ..former };
    let until = now.plus(OVERLAP);
    table::agent_key::rotate(work, &rotated, &secret.mac(&text), until).await?;
    let (actor, details) = (Actor::Person(owner), json!({ "former_until": until }));
    audit::record(work, actor, AuditAction::AgentKeyRotated, &key, details).await?;
    Ok((IssuedKey { key_id: key, key: text, prefix }, rotated))
}

/// Revokes a key, in a platform transaction. Revoking it again changes nothing.
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
            audit::record(work, actor, AuditAction::AgentKeyRevoked, &key, json!({})).await
        }
    }
}

/// Returns all agent keys of a person, newest first, expired and revoked ones included.
pub async fn agent_keys(
    database: &Database,
    owner: UserId,
) -> Result<Vec<AgentKey>, IdentityError> {
    let reading = Reading::for_platform(database);
    reading.run(async |sql| Ok(table::agent_key::of_person(sql, owner).await?)).await
}
