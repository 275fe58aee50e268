//! Well-known URIs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::IntoResponse;

use crate::{Access, Endpoint, ErrorResponse, Rest, RestState, Routes};

pub(crate) fn endpoints() -> Routes<RestState> {
    Routes::new().with(Endpoint::get("/.well-known/jwks.json", Access::Public, jwks).unmetered())
}

/// Returns the public keys that verify access tokens. Caches may keep them for less time than passes between the
/// publication of a new key and its first use.
async fn jwks(State(rest): State<Arc<Rest>>) -> Result<impl IntoResponse, ErrorResponse> {
    let keys = rest.credentials.tokens.jwks().await?;
    Ok(([(CACHE_CONTROL, "public, max-age=30")], axum::Json(keys)))
}
