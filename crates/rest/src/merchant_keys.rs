//! The keys of a store, for its owners. A key cannot make keys: that takes a person.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use identity::{Actor, StoreKey};
use primitives::{ErrorCode, KeyId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent_keys::Ended;
use crate::request::KeyPart;
use crate::{Access, Endpoint, Json, One, Opened, OwnerCaller, Path, Refusal, Rest, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    let create = Endpoint::post("/merchant/keys", Access::Owner, create).of_credentials()
        .name("createStoreKey")
        .tag("merchant")
        .summary("Make a key for the store's own programs")
        .explanation("`api_key` is shown in this answer and never again. Who owns several stores names one with `X-Store: <slug>`.")
        .body::<Wanted>()
        .answer::<One<NewStoreKeyRecord>>(201);
    let list = Endpoint::get("/merchant/keys", Access::Owner, list)
        .name("listStoreKeys")
        .tag("merchant")
        .summary("The keys of the store, the newest first")
        .answer::<One<Vec<StoreKeyRecord>>>(200);
    let revoke = Endpoint::delete("/merchant/keys/{key_id}", Access::Owner, revoke)
        .of_credentials()
        .name("revokeStoreKey")
        .tag("merchant")
        .summary("End a key; it stops working within five seconds")
        .path::<KeyPart>()
        .answer::<One<Ended>>(200)
        .errors(&[ErrorCode::NotFound]);
    Routes::new().with(create).with(list).with(revoke)
}

/// What is wanted of a key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// What to call it.
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    /// Days until it ends; without this it does not end by itself.
    #[schemars(range(min = 1, max = 3650))]
    expires_in_days: Option<u32>,
}

/// A key of the store.
#[derive(Debug, Serialize, JsonSchema)]
struct StoreKeyRecord {
    /// Its id.
    key_id: KeyId,
    /// The first characters of its text.
    prefix: String,
    /// What it is called.
    name: String,
    /// When it was made.
    created_at: Timestamp,
    /// When it ends by itself.
    expires_at: Option<Timestamp>,
    /// When it was revoked.
    revoked_at: Option<Timestamp>,
}

/// A key that was just made. Not to be printed.
#[derive(Serialize, JsonSchema)]
struct NewStoreKeyRecord {
    /// The key itself: shown now and never again.
    api_key: String,
    /// All else.
    #[serde(flatten)]
    record: StoreKeyRecord,
}

impl From<StoreKey> for StoreKeyRecord {
    fn from(key: StoreKey) -> Self {
        let StoreKey { key_id, prefix, name, created_at, expires_at, revoked_at } = key;
        Self { key_id, prefix, name, created_at, expires_at, revoked_at }
    }
}

async fn create(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
    Json(wanted): Json<Wanted>,
) -> Result<(StatusCode, One<NewStoreKeyRecord>), Refusal> {
    let actor = Actor::Person(owner.user);
    let name = wanted.name.as_deref().unwrap_or("store key");
    let days = wanted.expires_in_days.filter(|days| (1..=3_650).contains(days));
    if days != wanted.expires_in_days {
        return Err(identity::IdentityError::InvalidLife.into());
    }
    let made = rest.callers.issue_store_key(actor, owner.merchant, name, days).await?;
    let (api_key, record) = (made.0.key, made.1.into());
    Ok((StatusCode::CREATED, One::new(NewStoreKeyRecord { api_key, record })))
}

async fn list(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<One<Vec<StoreKeyRecord>>, Refusal> {
    let keys = rest.callers.store_keys_of(owner.merchant).await?;
    Ok(One::new(keys.into_iter().map(StoreKeyRecord::from).collect()))
}

async fn revoke(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
    Path(KeyPart(key)): Path<KeyPart>,
) -> Result<One<Ended>, Refusal> {
    rest.callers.revoke_store_key(Actor::Person(owner.user), owner.merchant, key).await?;
    Ok(One::new(Ended { key_id: key, revoked: true }))
}
