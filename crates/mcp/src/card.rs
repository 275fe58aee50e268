//! What a client learns before it connects: the card of a store's endpoint (SEP-2127), and the entry of
//! the whole service for the registry of MCP servers. Both are ours word for word: no merchant's text.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use primitives::{ClientAddress, RequestId, StoreSlug};
use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::refusal::{Speech, refuse};
use crate::wire::VERSION_NAMES;

const CARD_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
const ENTRY_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
/// At most a hundred characters, says the registry.
const DESCRIPTION: &str =
    "Find, compare and buy a merchant's products, with its trust score and a person's approval.";
/// The answer may be kept for an hour.
const CACHE: &str = "public, max-age=3600";

/// The card of one store's endpoint. What it offers is listed by the endpoint itself.
pub(crate) async fn card(
    State(endpoint): State<Arc<Endpoint>>,
    Path(slug): Path<String>,
    axum::Extension(request_id): axum::Extension<RequestId>,
    axum::Extension(from): axum::Extension<ClientAddress>,
) -> Response {
    let entered = match endpoint.admission.enter_public(from).await {
        Ok(entered) => entered,
        Err(limited) => return refuse(&limited.into(), &Value::Null, &request_id, Speech::Plain),
    };
    let slug: StoreSlug = match slug.parse() {
        Ok(slug) => slug,
        Err(error) => {
            let failure = primitives::Failure::from(error);
            return refuse(&failure, &Value::Null, &request_id, Speech::Plain);
        }
    };
    if let Err(error) = endpoint.stores.admit(&slug).await {
        let failure = primitives::Failure::from(error);
        crate::refusal::log(&failure, &request_id);
        return refuse(&failure, &Value::Null, &request_id, Speech::Plain);
    }
    let site_url = endpoint.wire.site_url.as_ref();
    let card = json!({
        "$schema": CARD_SCHEMA,
        "name": format!("{}/{slug}", reversed(site_url)),
        "title": format!("Souk: {slug}"),
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "websiteUrl": site_url,
        "remotes": [{
            "type": "streamable-http",
            "url": format!("{site_url}/{slug}/mcp"),
            "supportedProtocolVersions": VERSION_NAMES,
        }],
    });
    let mut response = Json(card).into_response();
    let headers = response.headers_mut();
    if let Some(verdict) = entered.verdict {
        verdict.write(headers);
    }
    let kind = HeaderValue::from_static("application/mcp-server-card+json");
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// The entry for the registry of MCP servers: one for all stores.
#[must_use]
pub fn registry_entry(site_url: &str) -> Value {
    let key = json!({
        "name": "X-Agent-Api-Key",
        "description": "An agent key, agnt_…; what only reads works without one.",
        "isRequired": false,
        "isSecret": true,
    });
    json!({
        "$schema": ENTRY_SCHEMA,
        "name": format!("{}/souk", reversed(site_url)),
        "title": "Souk",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "websiteUrl": site_url,
        "remotes": [{
            "type": "streamable-http",
            "url": format!("{site_url}/{{store_slug}}/mcp"),
            "variables": { "store_slug": {
                "description": "The store, as GET /api/v1/stores/directory lists it.",
                "isRequired": true,
                "default": "demo-store",
            } },
            "headers": [key],
        }],
    })
}

/// The name of a host from its end: `example.souk` of `https://souk.example:443`.
fn reversed(site_url: &str) -> String {
    let host = site_url.split("://").nth(1).unwrap_or(site_url);
    let host = host.split(['/', ':']).next().unwrap_or_default();
    let mut labels: Vec<&str> = host.split('.').collect();
    labels.reverse();
    labels.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_named_from_its_end() {
        assert_eq!(reversed("https://souk.example:443"), "example.souk");
        assert_eq!(reversed("http://localhost/"), "localhost");
        assert!(DESCRIPTION.len() <= 100);
    }
}
