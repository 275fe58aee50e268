//! Metadata for clients before they connect: the server card of a store's endpoint (SEP-2127), and the entry of the
//! service for the MCP registry. Neither contains merchant text.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use primitives::{ClientAddress, RequestId, StoreSlug};
use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::error_response::{ErrorFormat, render};
use crate::gateway;
use crate::rmcp_adapter::VERSION_NAMES;

const CARD_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
const ENTRY_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
/// The registry allows at most 100 characters.
const DESCRIPTION: &str =
    "Find, compare and buy a merchant's products, with its trust score and a person's approval.";
/// Clients may cache the card for an hour.
const CACHE: &str = "public, max-age=3600";

/// Returns the server card of one store's endpoint. Tools, resources and prompts are listed by the endpoint itself.
pub(crate) async fn card(
    State(endpoint): State<Arc<Endpoint>>,
    Path(slug): Path<String>,
    axum::Extension(request_id): axum::Extension<RequestId>,
    axum::Extension(client_address): axum::Extension<ClientAddress>,
) -> Response {
    let permit = match gateway::admit_public(&endpoint.app, client_address).await {
        Ok(permit) => permit,
        Err(error) => {
            return render(&error.into(), &Value::Null, &request_id, ErrorFormat::Envelope);
        }
    };
    let slug: StoreSlug = match slug.parse() {
        Ok(slug) => slug,
        Err(error) => {
            let failure = primitives::Failure::from(error);
            return render(&failure, &Value::Null, &request_id, ErrorFormat::Envelope);
        }
    };
    if let Err(error) = endpoint.app.stores.admit(&slug).await {
        let failure = primitives::Failure::from(error);
        crate::error_response::log(&failure, &request_id);
        return render(&failure, &Value::Null, &request_id, ErrorFormat::Envelope);
    }
    let site_url = endpoint.app.site_url.as_ref();
    let card = json!({
        "$schema": CARD_SCHEMA,
        "name": format!("{}/{slug}", reverse_domain(site_url)),
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
    if let Some(decision) = permit.decision {
        decision.write_headers(headers);
    }
    let content_type = HeaderValue::from_static("application/mcp-server-card+json");
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// Returns the entry for the MCP registry: one for all stores.
#[must_use]
pub fn registry_entry(site_url: &str) -> Value {
    let key = json!({
        "name": "X-Agent-Api-Key",
        "description": "Agent API key, agnt_…; not required for public, read-only tools.",
        "isRequired": false,
        "isSecret": true,
    });
    json!({
        "$schema": ENTRY_SCHEMA,
        "name": format!("{}/souk", reverse_domain(site_url)),
        "title": "Souk",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "websiteUrl": site_url,
        "remotes": [{
            "type": "streamable-http",
            "url": format!("{site_url}/{{store_slug}}/mcp"),
            "variables": { "store_slug": {
                "description": "Store slug, from GET /api/v1/stores/directory.",
                "isRequired": true,
                "default": "demo-store",
            } },
            "headers": [key],
        }],
    })
}

/// Returns the host name in reverse domain notation: `example.souk` for `https://souk.example:443`.
fn reverse_domain(site_url: &str) -> String {
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
    fn a_host_is_written_in_reverse_domain_notation() {
        assert_eq!(reverse_domain("https://souk.example:443"), "example.souk");
        assert_eq!(reverse_domain("http://localhost/"), "localhost");
        assert!(DESCRIPTION.len() <= 100);
    }
}
