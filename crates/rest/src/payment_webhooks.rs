//! Webhooks of payment processors (docs/contract/payments.md#processor-webhooks). They are no part of the API that clients use, and not in
//! its OpenAPI document.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use checkout::PaymentWebhook;
use payments::ProviderName;
use primitives::{Details, ErrorCode, Problem, StoreSlug};
use serde_json::{Value, json};

use crate::request::PathParameter;
use crate::{Access, Endpoint, ErrorResponse, Path, Rest, RestState, Routes};

/// Returns the URL to which a processor sends the webhooks of a store.
pub(crate) fn webhook_url(site_url: &str, provider: ProviderName, slug: &StoreSlug) -> String {
    format!("{site_url}/api/v1/webhooks/payments/{provider}/{slug}")
}

pub(crate) fn endpoints() -> Routes<RestState> {
    // A processor sends the webhooks of all stores from few addresses, and repeats what is refused. The bulkhead of the store limits them.
    let receive =
        Endpoint::post("/webhooks/payments/{provider}/{slug}", Access::Public, receive).unmetered();
    Routes::new().with(receive)
}

/// A payment processor that sends webhooks, as a path parameter.
struct WebhookProvider(ProviderName);

impl PathParameter for WebhookProvider {
    const NAME: &'static str = "provider";
    const DESCRIPTION: &'static str = "Payment processor.";
    const EXAMPLE: &'static str = "stripe";
    const ERROR_CODE: ErrorCode = ErrorCode::NotFound;
    type Error = UnknownProvider;

    fn parse(text: &str) -> Result<Self, UnknownProvider> {
        let name = ProviderName::parse(text).filter(|name| name.is_processor());
        name.map(Self).ok_or(UnknownProvider)
    }

    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

/// No payment processor with webhooks has this name.
#[derive(Debug, thiserror::Error)]
#[error("no payment processor with this name sends webhooks")]
struct UnknownProvider;

impl Problem for UnknownProvider {
    fn code(&self) -> ErrorCode {
        ErrorCode::NotFound
    }

    fn details(&self, details: &mut Details) {
        details.insert("hint", "use the webhook_url of GET /api/v1/merchant/payment-methods");
    }
}

/// Receives a webhook. The store may be closed or suspended: what was paid there has to become known.
async fn receive(
    State(rest): State<Arc<Rest>>,
    Path(WebhookProvider(provider)): Path<WebhookProvider>,
    Path(slug): Path<StoreSlug>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<axum::Json<Value>, ErrorResponse> {
    let store = rest.stores.find(&slug).await?;
    let webhook = PaymentWebhook { provider, headers: &headers, body: &body };
    let (database, gateway) = (&rest.database, &rest.payment_gateway);
    checkout::receive_webhook(database, gateway, store.merchant, webhook).await?;
    Ok(axum::Json(json!({ "received": true })))
}
