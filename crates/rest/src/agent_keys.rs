//! Agent keys of a person (docs/contract/authentication.md#agent-keys).

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use identity::{AgentKey, IdentityError, IssuedKey, NewAgentKey};
use primitives::{ErrorCode, KeyId, MerchantId, Scope, StoreSlug, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idempotency::IdempotencyKeyHeader;
use crate::paging::PageParameters;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, PageEnvelope, Path, PersonCaller, Query, Rest,
    RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let create = Endpoint::post("/agent-keys", Access::Person, create).credential_quota()
        .operation_id("createAgentKey")
        .tag("account")
        .summary("Create an agent key")
        .description("`api_key` is returned only in this response. Scopes: `agent:read`, `agent:cart`, `agent:checkout`, `agent:orders`; the aliases `search`, `checkout` and `orders` are accepted too.")
        .body::<CreateAgentKeyRequest>()
        .idempotency_key()
        .response::<Envelope<NewKeyRecord>>(201)
        .errors(&[ErrorCode::TierRequired]);
    let list = Endpoint::get("/agent-keys", Access::Person, list)
        .operation_id("listAgentKeys")
        .tag("account")
        .summary("List agent keys")
        .description("Returns your agent keys, newest first.")
        .query::<PageParameters>()
        .response::<PageEnvelope<KeyRecord>>(200);
    let revoke = Endpoint::delete("/agent-keys/{key_id}", Access::Person, revoke)
        .credential_quota()
        .operation_id("revokeAgentKey")
        .tag("account")
        .summary("Revoke an agent key")
        .description("The key stops working within five seconds.")
        .path::<KeyId>()
        .response::<Envelope<RevokedKey>>(200)
        .errors(&[ErrorCode::NotFound]);
    let rotate = Endpoint::post("/agent-keys/{key_id}/rotate", Access::Person, rotate).credential_quota()
        .operation_id("rotateAgentKey")
        .tag("account")
        .summary("Rotate an agent key")
        .description("Replaces the text of the key. Its id, and with it carts, checkouts and orders, its scopes and stores stay the same; its lifetime begins again. The former text works for another hour, unless the key is revoked. If the response was lost, rotate again: the former text keeps its hour.")
        .path::<KeyId>()
        .idempotency_key()
        .response::<Envelope<NewKeyRecord>>(201)
        .errors(&[ErrorCode::NotFound]);
    Routes::new().with(create).with(list).with(revoke).with(rotate)
}

/// A new agent key.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateAgentKeyRequest {
    /// Scopes of the key.
    #[schemars(length(min = 1, max = 10))]
    scopes: Vec<String>,
    /// Display name.
    #[schemars(length(min = 1, max = 100))]
    name: Option<String>,
    /// Days until the key expires; omitted: it does not expire.
    #[schemars(range(min = 1, max = 3650))]
    expires_in_days: Option<u32>,
    /// Slugs of the only stores that the key may access; omitted: all stores.
    #[schemars(length(min = 1, max = 100))]
    stores: Option<Vec<String>>,
}

/// An agent key, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
struct KeyRecord {
    /// ID of the key.
    key_id: KeyId,
    /// First characters of the key.
    prefix: String,
    /// Display name.
    name: String,
    /// Scopes of the key.
    scopes: Vec<&'static str>,
    /// Slugs of the only stores that the key may access; null: all stores.
    stores: Option<Vec<String>>,
    /// Time of creation.
    created_at: Timestamp,
    /// When the text of the key was last replaced; null: never.
    rotated_at: Option<Timestamp>,
    /// Time of expiry; null: it does not expire.
    expires_at: Option<Timestamp>,
    /// Time of revocation; null: not revoked.
    revoked_at: Option<Timestamp>,
}

/// A new agent key with its secret. Has no `Debug`, so that it cannot be logged.
#[derive(Serialize, JsonSchema)]
pub(crate) struct NewKeyRecord {
    /// The key itself, returned only once: null if the request repeats an earlier one with the same idempotency key.
    api_key: Option<String>,
    /// The key's other properties.
    #[serde(flatten)]
    record: KeyRecord,
}

/// A revoked key.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RevokedKey {
    /// ID of the key.
    pub(crate) key_id: KeyId,
    /// Always true.
    pub(crate) revoked: bool,
}

async fn create(
    PersonCaller(person): PersonCaller,
    State(rest): State<Arc<Rest>>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<CreateAgentKeyRequest>,
) -> Result<(StatusCode, Envelope<NewKeyRecord>), ErrorResponse> {
    let idempotency_key = idempotency_key.key_of_person(person.user, &request)?;
    let scopes = Scope::parse_list(request.scopes.iter().map(String::as_str));
    let scopes = scopes.map_err(|_| IdentityError::InvalidScope)?;
    let stores = match &request.stores {
        None => None,
        Some(slugs) => Some(merchants_of(&rest, slugs).await?),
    };
    let (name, expires_in_days) = (request.name, request.expires_in_days);
    let new = NewAgentKey { scopes, name, expires_in_days, stores };
    let issued = rest.credentials.issue_agent_key(person.user, &new, idempotency_key.as_ref());
    created(&rest, issued.await?).await
}

async fn list(
    PersonCaller(person): PersonCaller,
    State(rest): State<Arc<Rest>>,
    Query(page): Query<PageParameters>,
) -> Result<PageEnvelope<KeyRecord>, ErrorResponse> {
    let mut records = Vec::new();
    for key in rest.credentials.agent_keys_of(person.user).await? {
        records.push(record(&rest, key).await);
    }
    Ok(page.select(records))
}

async fn revoke(
    PersonCaller(person): PersonCaller,
    State(rest): State<Arc<Rest>>,
    Path(key): Path<KeyId>,
) -> Result<Envelope<RevokedKey>, ErrorResponse> {
    rest.credentials.revoke_agent_key(person.user, key).await?;
    Ok(Envelope::new(RevokedKey { key_id: key, revoked: true }))
}

async fn rotate(
    PersonCaller(person): PersonCaller,
    State(rest): State<Arc<Rest>>,
    Path(key): Path<KeyId>,
    idempotency_key: IdempotencyKeyHeader,
) -> Result<(StatusCode, Envelope<NewKeyRecord>), ErrorResponse> {
    let idempotency_key = idempotency_key.key_of_person(person.user, &())?;
    let rotated = rest.credentials.rotate_agent_key(person.user, key, idempotency_key.as_ref());
    created(&rest, rotated.await?).await
}

/// Returns the response to the creation of a key.
pub(crate) async fn created(
    rest: &Rest,
    (issued, key): (Option<IssuedKey>, AgentKey),
) -> Result<(StatusCode, Envelope<NewKeyRecord>), ErrorResponse> {
    let (api_key, record) = (issued.map(|issued| issued.key), record(rest, key).await);
    Ok((StatusCode::CREATED, Envelope::new(NewKeyRecord { api_key, record })))
}

async fn record(rest: &Rest, key: AgentKey) -> KeyRecord {
    let stores = match key.stores {
        None => None,
        Some(merchants) => {
            let mut slugs = Vec::new();
            for merchant in merchants {
                // A deleted store has no slug.
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
        scopes: key.scopes.into_iter().map(Scope::as_str).collect(),
        stores,
        created_at: key.created_at,
        rotated_at: key.rotated_at,
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
