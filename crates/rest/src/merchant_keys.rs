//! Store keys, managed by the store's owners. A key cannot create keys: only a person can.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use identity::{Actor, NewStoreKey, StoreKey, StoreScope};
use primitives::{ErrorCode, KeyId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent_keys::RevokedKey;
use crate::idempotency::IdempotencyKeyHeader;
use crate::paging::PageParameters;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, OwnerCaller, PageEnvelope, Path, Query, Rest,
    RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let create = Endpoint::post("/merchant/keys", Access::Owner, create).credential_quota()
        .operation_id("createStoreKey")
        .tag("merchant")
        .summary("Create a store key")
        .description("A store key authenticates the merchant's own programs. `api_key` is returned only in this response. Without `scopes` the key has `catalog` and `orders`. An owner of several stores selects one with the header `X-Store: <slug>`.")
        .optional_body::<CreateStoreKeyRequest>()
        .idempotency_key()
        .response::<Envelope<NewStoreKeyRecord>>(201);
    let list = Endpoint::get("/merchant/keys", Access::Owner, list)
        .operation_id("listStoreKeys")
        .tag("merchant")
        .summary("List store keys")
        .description("Returns the keys of the store, newest first.")
        .query::<PageParameters>()
        .response::<PageEnvelope<StoreKeyRecord>>(200);
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
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateStoreKeyRequest {
    /// Display name.
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    /// Days until the key expires; omitted: it does not expire.
    #[schemars(range(min = 1, max = 3650))]
    expires_in_days: Option<u32>,
    /// Scopes of the key: `catalog`, `orders`, `webhooks`, `settings`; omitted: `catalog` and `orders`.
    #[schemars(length(min = 1, max = 4))]
    scopes: Option<Vec<String>>,
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
    /// Scopes of the key.
    scopes: Vec<&'static str>,
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
    /// The key itself, returned only once: null if the request repeats an earlier one with the same idempotency key.
    api_key: Option<String>,
    /// The key's other properties.
    #[serde(flatten)]
    record: StoreKeyRecord,
}

impl From<StoreKey> for StoreKeyRecord {
    fn from(key: StoreKey) -> Self {
        let StoreKey { key_id, prefix, name, scopes, created_at, expires_at, revoked_at } = key;
        let scopes = scopes.into_iter().map(StoreScope::as_str).collect();
        Self { key_id, prefix, name, scopes, created_at, expires_at, revoked_at }
    }
}

async fn create(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<CreateStoreKeyRequest>,
) -> Result<(StatusCode, Envelope<NewStoreKeyRecord>), ErrorResponse> {
    let idempotency_key = idempotency_key.key_of_owner(owner, &request)?;
    let actor = Actor::Person(owner.user);
    let mut new = NewStoreKey::new(request.name.as_deref().unwrap_or("store key"));
    if let Some(scopes) = &request.scopes {
        new.scopes = StoreScope::parse_list(scopes.iter().map(String::as_str))?;
    }
    let days = request.expires_in_days.filter(|days| (1..=3_650).contains(days));
    if days != request.expires_in_days {
        return Err(identity::IdentityError::InvalidLifetime.into());
    }
    let key = idempotency_key.as_ref();
    let issued = rest.credentials.issue_store_key(actor, owner.merchant, new, days, key).await?;
    let (api_key, record) = (issued.0.map(|issued| issued.key), issued.1.into());
    Ok((StatusCode::CREATED, Envelope::new(NewStoreKeyRecord { api_key, record })))
}

async fn list(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
    Query(page): Query<PageParameters>,
) -> Result<PageEnvelope<StoreKeyRecord>, ErrorResponse> {
    let keys = rest.credentials.store_keys_of(owner.merchant).await?;
    Ok(page.select(keys.into_iter().map(StoreKeyRecord::from).collect()))
}

async fn revoke(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
    Path(key): Path<KeyId>,
) -> Result<Envelope<RevokedKey>, ErrorResponse> {
    rest.credentials.revoke_store_key(Actor::Person(owner.user), owner.merchant, key).await?;
    Ok(Envelope::new(RevokedKey { key_id: key, revoked: true }))
}
