//! The header `Idempotency-Key`: a write repeated with the same key is executed once
//! (docs/contract/envelopes.md#idempotency).

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use identity::Agent;
use jobs::{IdempotencyError, IdempotencyKey};
use primitives::{MerchantId, UserId};
use serde::Serialize;

use crate::{AdminCaller, ErrorResponse, OwnerCaller, StoreCaller};

/// Extracts the header `Idempotency-Key` and the method and path it applies to.
#[derive(Debug)]
pub(crate) struct IdempotencyKeyHeader {
    key: Option<String>,
    request: String,
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKeyHeader {
    type Rejection = ErrorResponse;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        let header = parts.headers.get("idempotency-key");
        // A value that is not text becomes the empty key, which every write rejects.
        let key = header.map(|key| key.to_str().unwrap_or_default().to_owned());
        Ok(Self { key, request: format!("{} {}", parts.method, parts.uri.path()) })
    }
}

impl IdempotencyKeyHeader {
    /// Returns the key of this request at a store, or `None` if the caller sent none.
    pub(crate) fn key(
        &self,
        merchant: MerchantId,
        agent: &Agent,
        body: &impl Serialize,
    ) -> Result<Option<IdempotencyKey>, IdempotencyError> {
        let Some(key) = &self.key else { return Ok(None) };
        IdempotencyKey::new(merchant, &agent.key, key, (&self.request, body)).map(Some)
    }

    /// Returns the key of a request for a store by one of its keys or members, or `None` if the caller sent none.
    pub(crate) fn key_of_store(
        &self,
        caller: &StoreCaller,
        request: &impl Serialize,
    ) -> Result<Option<IdempotencyKey>, IdempotencyError> {
        let Some(key) = &self.key else { return Ok(None) };
        let request = (self.request.as_str(), request);
        IdempotencyKey::new(caller.merchant, &caller.editor.actor, key, request).map(Some)
    }

    /// Returns the key of an owner's request at a store, or `None` if the caller sent none.
    pub(crate) fn key_of_owner(
        &self,
        owner: OwnerCaller,
        body: &impl Serialize,
    ) -> Result<Option<IdempotencyKey>, IdempotencyError> {
        let Some(key) = &self.key else { return Ok(None) };
        IdempotencyKey::new(owner.merchant, &owner.user, key, (&self.request, body)).map(Some)
    }

    /// Returns the key of an administrator's request about a store, or `None` if the caller sent none.
    pub(crate) fn key_of_admin(
        &self,
        merchant: MerchantId,
        admin: AdminCaller,
        body: &impl Serialize,
    ) -> Result<Option<IdempotencyKey>, IdempotencyError> {
        let Some(key) = &self.key else { return Ok(None) };
        IdempotencyKey::new(merchant, &admin.user, key, (&self.request, body)).map(Some)
    }

    /// Returns the key of a person's request that concerns no store, or `None` if the caller sent none.
    pub(crate) fn key_of_person(
        &self,
        person: UserId,
        body: &impl Serialize,
    ) -> Result<Option<IdempotencyKey>, IdempotencyError> {
        let Some(key) = &self.key else { return Ok(None) };
        IdempotencyKey::of_account(person, key, (&self.request, body)).map(Some)
    }
}
