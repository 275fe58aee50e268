//! The keys of a person's agents (spec §2.5, decisions §5).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use identity::{AgentKey, IdentityError, IssuedKey, NewAgentKey};
use primitives::{ErrorCode, KeyId, MerchantId, Scope, StoreSlug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::KeyPart;
use crate::{Access, Endpoint, Json, One, Opened, Path, PersonCaller, Refusal, Rest, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    let create = Endpoint::post("/agent-keys", Access::Person, create).of_credentials()
        .name("createAgentKey")
        .tag("account")
        .summary("Make a key for an agent")
        .explanation("`api_key` is shown in this answer and never again. Scopes: `agent:read`, `agent:cart`, `agent:checkout`, `agent:orders`; `search`, `checkout` and `orders` are taken as well.")
        .body::<Wanted>()
        .answer::<One<NewKeyRecord>>(201)
        .errors(&[ErrorCode::TierRequired]);
    let list = Endpoint::get("/agent-keys", Access::Person, list)
        .name("listAgentKeys")
        .tag("account")
        .summary("The keys of your agents, the newest first")
        .answer::<One<Vec<KeyRecord>>>(200);
    let revoke = Endpoint::delete("/agent-keys/{key_id}", Access::Person, revoke)
        .of_credentials()
        .name("revokeAgentKey")
        .tag("account")
        .summary("End a key; it stops working within five seconds")
        .path::<KeyPart>()
        .answer::<One<Ended>>(200)
        .errors(&[ErrorCode::NotFound]);
    let rotate = Endpoint::post("/agent-keys/{key_id}/rotate", Access::Person, rotate).of_credentials()
        .name("rotateAgentKey")
        .tag("account")
        .summary("Make a key in the place of another")
        .explanation("The new key has the same scopes, stores and length of life. The old one works for another hour, unless it is revoked.")
        .path::<KeyPart>()
        .answer::<One<NewKeyRecord>>(201)
        .errors(&[ErrorCode::NotFound, ErrorCode::InvalidStatusTransition]);
    Routes::new().with(create).with(list).with(revoke).with(rotate)
}

/// What is wanted of a key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// What it may do.
    #[schemars(length(min = 1, max = 10))]
    scopes: Vec<String>,
    /// What to call it.
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    /// Days until it ends; without this it does not end by itself.
    #[schemars(range(min = 1, max = 3650))]
    expires_in_days: Option<u32>,
    /// The only stores it may call, by slug.
    #[schemars(length(min = 1, max = 100))]
    stores: Option<Vec<String>>,
}

/// A key, as its owner sees it.
#[derive(Debug, Serialize, JsonSchema)]
struct KeyRecord {
    /// Its id.
    key_id: KeyId,
    /// The first characters of its text.
    prefix: String,
    /// What it is called.
    name: String,
    /// What it may do.
    scopes: Vec<&'static str>,
    /// The only stores it may call; null: all.
    stores: Option<Vec<String>>,
    /// When it was made.
    created_at: Timestamp,
    /// When it ends by itself.
    expires_at: Option<Timestamp>,
    /// When it was revoked.
    revoked_at: Option<Timestamp>,
}

/// A key that was just made. Not to be printed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NewKeyRecord {
    /// The key itself: shown now and never again.
    api_key: String,
    /// All else.
    #[serde(flatten)]
    record: KeyRecord,
}

/// What was ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Ended {
    /// The key.
    pub(crate) key_id: KeyId,
    /// Always true.
    pub(crate) revoked: bool,
}

async fn create(
    PersonCaller(person): PersonCaller,
    State(rest): State<Arc<Rest>>,
    Json(wanted): Json<Wanted>,
) -> Result<(StatusCode, One<NewKeyRecord>), Refusal> {
    let scopes = Scope::parse_list(wanted.scopes.iter().map(String::as_str));
    let scopes = scopes.map_err(|_| IdentityError::InvalidScope)?;
    let stores = match &wanted.stores {
        None => None,
        Some(slugs) => Some(merchants_of(&rest, slugs).await?),
    };
    let (name, expires_in_days) = (wanted.name, wanted.expires_in_days);
    let new = NewAgentKey { scopes, name, expires_in_days, stores };
    let made = rest.callers.issue_agent_key(person.user, &new).await?;
    shown(&rest, made).await
}

async fn list(
    PersonCaller(person): PersonCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<One<Vec<KeyRecord>>, Refusal> {
    let mut records = Vec::new();
    for key in rest.callers.agent_keys_of(person.user).await? {
        records.push(record(&rest, key).await);
    }
    Ok(One::new(records))
}

async fn revoke(
    PersonCaller(person): PersonCaller,
    State(rest): State<Arc<Rest>>,
    Path(KeyPart(key)): Path<KeyPart>,
) -> Result<One<Ended>, Refusal> {
    rest.callers.revoke_agent_key(person.user, key).await?;
    Ok(One::new(Ended { key_id: key, revoked: true }))
}

async fn rotate(
    PersonCaller(person): PersonCaller,
    State(rest): State<Arc<Rest>>,
    Path(KeyPart(key)): Path<KeyPart>,
) -> Result<(StatusCode, One<NewKeyRecord>), Refusal> {
    let made = rest.callers.rotate_agent_key(person.user, key).await?;
    shown(&rest, made).await
}

pub(crate) async fn shown(
    rest: &Rest,
    (issued, key): (IssuedKey, AgentKey),
) -> Result<(StatusCode, One<NewKeyRecord>), Refusal> {
    let record = record(rest, key).await;
    Ok((StatusCode::CREATED, One::new(NewKeyRecord { api_key: issued.key, record })))
}

async fn record(rest: &Rest, key: AgentKey) -> KeyRecord {
    let stores = match key.stores {
        None => None,
        Some(merchants) => {
            let mut slugs = Vec::new();
            for merchant in merchants {
                // A store that is gone has no name left.
                if let Ok(store) = rest.stores.find_merchant(merchant).await {
                    slugs.push(store.slug.to_string());
                }
            }
            Some(slugs)
        }
    };
    KeyRecord {
        key_id: key.key_id,
        prefix: key.prefix,
        name: key.name,
        scopes: key.scopes.into_iter().map(Scope::name).collect(),
        stores,
        created_at: key.created_at,
        expires_at: key.expires_at,
        revoked_at: key.revoked_at,
    }
}

async fn merchants_of(rest: &Rest, slugs: &[String]) -> Result<Vec<MerchantId>, IdentityError> {
    let mut merchants = Vec::new();
    for slug in slugs.iter().take(101) {
        let slug: StoreSlug = slug.parse().map_err(|_| IdentityError::InvalidStores)?;
        let store = rest.stores.find(&slug).await.map_err(|_| IdentityError::InvalidStores)?;
        merchants.push(store.merchant);
    }
    merchants.sort_unstable();
    merchants.dedup();
    Ok(merchants)
}
