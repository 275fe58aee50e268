//! Store keys, managed by the store's owners. A key cannot create keys: only a person can.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use identity::{Actor, StoreKey};
use primitives::{ErrorCode, KeyId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent_keys::RevokedKey;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, OwnerCaller, Path, Rest, RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let create = Endpoint::post("/merchant/keys", Access::Owner, create).credential_quota()
        .operation_id("createStoreKey")
        .tag("merchant")
        .summary("Create a store key")
        .description("A store key authenticates the merchant's own programs. `api_key` is returned only in this response. An owner of several stores selects one with the header `X-Store: <slug>`.")
        .body::<CreateStoreKeyRequest>()
        .response::<Envelope<NewStoreKeyRecord>>(201);
    let list = Endpoint::get("/merchant/keys", Access::Owner, list)
        .operation_id("listStoreKeys")
        .tag("merchant")
        .summary("List store keys")
        .description("Returns the keys of the store, newest first.")
        .response::<Envelope<Vec<StoreKeyRecord>>>(200);
    let revoke = Endpoint::delete("/merchant/keys/{key_id}", Access::Owner, revoke)
        .credential_quota()
        .operation_id("revokeStoreKey")
        .tag("merchant")
        .summary("Revoke a store key")
        .description("The key stops working within five seconds.")
        .path::<KeyId>()
        .response::<Envelope<RevokedKey>>(200)
        .errors(&[ErrorCode::NotFound]);
    Routes::new().with(create).with(list).with(revoke)
}

/// A new store key.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateStoreKeyRequest {
    /// Display name.
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    /// Days until the key expires; omitted: it does not expire.
    #[schemars(range(min = 1, max = 3650))]
    expires_in_days: Option<u32>,
}

/// A store key, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
struct StoreKeyRecord {
    /// ID of the key.
    key_id: KeyId,
    /// First characters of the key.
    prefix: String,
    /// Display name.
    name: String,
    /// Time of creation.
    created_at: Timestamp,
    /// Time of expiry; null: it does not expire.
    expires_at: Option<Timestamp>,
    /// Time of revocation; null: not revoked.
    revoked_at: Option<Timestamp>,
}

/// A new store key with its secret. Has no `Debug`, so that it cannot be logged.
#[derive(Serialize, JsonSchema)]
struct NewStoreKeyRecord {
    /// The key itself, returned only once.
    api_key: String,
    /// The key's other properties.
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
    Json(request): Json<CreateStoreKeyRequest>,
) -> Result<(StatusCode, Envelope<NewStoreKeyRecord>), ErrorResponse> {
    let actor = Actor::Person(owner.user);
    let name = request.name.as_deref().unwrap_or("store key");
    let days = request.expires_in_days.filter(|days| (1..=3_650).contains(days));
    if days != request.expires_in_days {
        return Err(identity::IdentityError::InvalidLifetime.into());
    }
    let issued = rest.credentials.issue_store_key(actor, owner.merchant, name, days).await?;
    let (api_key, record) = (issued.0.key, issued.1.into());
    Ok((StatusCode::CREATED, Envelope::new(NewStoreKeyRecord { api_key, record })))
}

async fn list(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<Envelope<Vec<StoreKeyRecord>>, ErrorResponse> {
    let keys = rest.credentials.store_keys_of(owner.merchant).await?;
    Ok(Envelope::new(keys.into_iter().map(StoreKeyRecord::from).collect()))
}

async fn revoke(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
    Path(key): Path<KeyId>,
) -> Result<Envelope<RevokedKey>, ErrorResponse> {
    rest.credentials.revoke_store_key(Actor::Person(owner.user), owner.merchant, key).await?;
    Ok(Envelope::new(RevokedKey { key_id: key, revoked: true }))
}
