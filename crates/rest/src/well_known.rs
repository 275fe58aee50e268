//! What lies where every client looks for it.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::IntoResponse;

use crate::{Access, Endpoint, Opened, Refusal, Rest, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    Routes::new().with(Endpoint::get("/.well-known/jwks.json", Access::Public, jwks).uncounted())
}

/// The keys that sign tokens. May be kept for less time than a new one is published before it signs.
async fn jwks(State(rest): State<Arc<Rest>>) -> Result<impl IntoResponse, Refusal> {
    let keys = rest.callers.tokens.jwks().await?;
    Ok(([(CACHE_CONTROL, "public, max-age=30")], axum::Json(keys)))
}
