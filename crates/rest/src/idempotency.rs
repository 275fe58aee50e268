//! Writes that are asked for with a key of the caller's: done once, however often they are asked for (decisions §8).

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use identity::Agent;
use jobs::{IdempotencyError, IdempotencyKey};
use primitives::MerchantId;
use serde::Serialize;

use crate::Refusal;

/// What the header `Idempotency-Key` says, and of which request.
#[derive(Debug)]
pub(crate) struct Once {
    key: Option<String>,
    request: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Once {
    type Rejection = Refusal;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refusal> {
        let header = parts.headers.get("idempotency-key");
        // What is no text becomes an empty one, which no write takes.
        let key = header.map(|key| key.to_str().unwrap_or_default().to_owned());
        Ok(Self { key, request: format!("{} {}", parts.method, parts.uri.path()) })
    }
}

impl Once {
    /// The same for a part of the request that is a write of its own.
    pub(crate) fn part(&self, name: &str) -> Self {
        let key = self.key.as_ref().map(|key| format!("{key}/{name}"));
        Self { key, request: format!("{} {name}", self.request) }
    }

    /// The key of this request at a store, if the caller sent one.
    pub(crate) fn key(
        &self,
        merchant: MerchantId,
        agent: &Agent,
        body: &impl Serialize,
    ) -> Result<Option<IdempotencyKey>, IdempotencyError> {
        let Some(key) = &self.key else { return Ok(None) };
        IdempotencyKey::new(merchant, &agent.key, key, (&self.request, body)).map(Some)
    }
}
