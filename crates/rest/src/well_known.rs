//! Well-known URIs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Access, Endpoint, ErrorResponse, Rest, RestState, Routes};

pub(crate) fn endpoints() -> Routes<RestState> {
    Routes::new().with(Endpoint::get("/.well-known/jwks.json", Access::Public, jwks).unmetered())
}

/// Returns the routes of the payment discovery document, which is served at the root and under `/api/v1`
/// (docs/contract/payments.md#discovery-document).
pub(crate) fn payment_discovery() -> Routes<RestState> {
    let x402 = Endpoint::get("/.well-known/x402", Access::Public, x402)
        .operation_id("getPaymentDiscovery")
        .tag("service")
        .summary("Get the x402 discovery document")
        .description("Lists the resources that can be paid with x402. There are none yet. The same document is served at the site root.")
        .response::<PaymentDiscovery>(200);
    Routes::new().with(x402)
}

/// Returns the public keys that verify access tokens. Caches may keep them for less time than passes between the
/// publication of a new key and its first use.
async fn jwks(State(rest): State<Arc<Rest>>) -> Result<impl IntoResponse, ErrorResponse> {
    let keys = rest.credentials.tokens.jwks().await?;
    Ok(([(CACHE_CONTROL, "public, max-age=30")], axum::Json(keys)))
}

/// The x402 discovery document, in the form that indexers read.
#[derive(Debug, Serialize, JsonSchema)]
struct PaymentDiscovery {
    /// Version of the document.
    version: i64,
    /// Version of x402.
    #[serde(rename = "x402Version")]
    x402_version: i64,
    /// URLs of the resources that can be paid with x402.
    resources: Vec<String>,
}

async fn x402() -> axum::Json<PaymentDiscovery> {
    axum::Json(PaymentDiscovery { version: 1, x402_version: 2, resources: Vec::new() })
}
