//! The rmcp server: it answers every request except the tool calls that the endpoint answers itself.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header, request};
use axum::response::{IntoResponse, Response};
use http_body_util::Full;
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};

#[cfg(debug_assertions)]
use crate::conformance::Conformance;
use crate::error_response::json_rpc_error;
use crate::message::{INVALID_REQUEST, Message, Route};
use crate::rmcp_adapter::{RmcpAdapter, VERSIONS};

/// rmcp over HTTP: one service for all stores and, in development builds, one for the conformance fixtures.
pub(crate) struct RmcpServer {
    stores: StreamableHttpService<RmcpAdapter, NeverSessionManager>,
    #[cfg(debug_assertions)]
    fixtures: StreamableHttpService<Conformance, NeverSessionManager>,
}

impl RmcpServer {
    /// Returns a stateless server with JSON responses.
    pub(crate) fn new() -> Self {
        // Hosts and origins are checked by the endpoint, for the fast path as well.
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_sse_keep_alive(None)
            .disable_allowed_hosts()
            .disable_allowed_origins();
        Self {
            #[cfg(debug_assertions)]
            fixtures: StreamableHttpService::new(
                || Ok(Conformance),
                Arc::default(),
                config.clone(),
            ),
            stores: StreamableHttpService::new(|| Ok(RmcpAdapter), Arc::default(), config),
        }
    }

    /// Answers a request to a store. The extensions of an admitted request contain its `RequestContext`.
    pub(crate) async fn handle(
        &self,
        parts: request::Parts,
        body: Bytes,
        message: &Message,
    ) -> Response {
        // rmcp takes a request without an id for a notification. One that is forwarded expects a response.
        let lacks_id = message.route == Route::Forward && message.id.is_null();
        let body = if lacks_id { with_id(&body, &json!(0)) } else { body };
        let response = self.stores.handle(rmcp_request(parts, body, message)).await;
        let response = ensure_json(response.map(Body::new), &message.id).await;
        if lacks_id { without_id(response).await } else { response }
    }

    /// Answers a request to the conformance fixtures.
    #[cfg(debug_assertions)]
    pub(crate) async fn handle_fixtures(
        &self,
        parts: request::Parts,
        body: Bytes,
        message: &Message,
    ) -> Response {
        let response = self.fixtures.handle(rmcp_request(parts, body, message)).await;
        ensure_json(response.map(Body::new), &message.id).await
    }
}

/// Returns a JSON-RPC message with another id.
fn with_id(body: &[u8], id: &Value) -> Bytes {
    let mut message: Value = serde_json::from_slice(body).unwrap_or_default();
    if message.is_object() {
        message["id"] = id.clone();
    }
    Bytes::from(message.to_string())
}

/// Replaces the id of a response by null.
async fn without_id(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    // The responses of rmcp are in memory.
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(with_id(&body, &Value::Null)))
}

/// Builds the request for rmcp, with the headers that rmcp requires.
fn rmcp_request(
    mut parts: request::Parts,
    body: Bytes,
    message: &Message,
) -> http::Request<Full<Bytes>> {
    // rmcp responds with 406 unless both are accepted; clients need not send them (docs/contract/mcp.md#accept-header).
    let both = HeaderValue::from_static("application/json, text/event-stream");
    parts.headers.insert(header::ACCEPT, both);
    // A plain HTTP caller states no version: it uses the first of docs/contract/mcp.md#protocol-versions. A client that
    // initializes has none yet: it is negotiated by this call.
    if message.method != "initialize" {
        let version = HeaderValue::from_static("2025-11-25");
        parts.headers.entry("mcp-protocol-version").or_insert(version);
    }
    http::Request::from_parts(parts, Full::new(body))
}

/// Converts plain-text errors of rmcp, such as that for an unknown protocol version, to JSON-RPC errors.
async fn ensure_json(response: Response, id: &Value) -> Response {
    let is_text = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_none_or(|value| value.as_bytes().starts_with(b"text/plain"));
    if !response.status().is_client_error() || !is_text {
        return response;
    }
    let status = response.status();
    let text = axum::body::to_bytes(response.into_body(), 1_024).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_version = text.to_ascii_lowercase().contains("protocol-version");
    let supported: Vec<&str> = VERSIONS.iter().map(ProtocolVersion::as_str).collect();
    let data = is_version.then(|| json!({ "supported": supported }));
    let body = json_rpc_error(id, INVALID_REQUEST, &text, data);
    // A body that rmcp cannot parse is a protocol error like any other.
    let is_invalid_body = status == StatusCode::UNSUPPORTED_MEDIA_TYPE;
    let status = if is_invalid_body { StatusCode::BAD_REQUEST } else { status };
    (status, axum::Json(body)).into_response()
}
