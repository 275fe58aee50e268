//! Payments that agents make themselves, with x402 (docs/contract/payments.md#agent-payment): the HTTP transport of the protocol.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use checkout::{
    AGENT_PAYMENT_ERRORS, AgentPayment, AgentPaymentError, AgentPaymentRecord, AgentPaymentRequest,
    AgentPaymentStatus,
};
use limits::QuotaClass;
use primitives::{CheckoutId, ClientAddress, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use x402::{Document, PaymentPayload, PaymentRequired, SettlementResponse};

use crate::agent_carts::owner;
use crate::agent_checkouts::context;
use crate::store_access::{Operation, STORE_ERRORS, StoreTarget, admit};
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

const ACCESS: Access = Access::Agent(Scope::AgentCheckout);

pub(crate) fn endpoints() -> Routes<RestState> {
    let mut pay = Endpoint::post("/agent/payment", ACCESS, pay)
        .tool("process_agent_payment", QuotaClass::CheckoutWrite)
        .operation_id("payCheckout")
        .tag("checkout")
        .summary("Pay a checkout session as an agent")
        .description("Pays with x402 version 2, in USDC. A request without payment gets 402 and the header `PAYMENT-REQUIRED` with the quote of the session. Sign it and repeat the request with the header `PAYMENT-SIGNATURE`. 200 is a settled payment with its order; 202 one whose outcome is not known yet, with `status_url`. Both have the header `PAYMENT-RESPONSE`. The same payment returns the same result and is settled once: repeat it after an unclear response, and sign no other one until the status is `failed`. Above the limit of the store, a person confirms the purchase first.")
        .header(SIGNATURE, "The payment: the Base64 of an x402 `PaymentPayload` in JSON.")
        .body::<PaymentRequest>()
        .response::<Envelope<AgentPaymentRecord>>(200)
        .response::<Envelope<AgentPaymentRecord>>(202)
        .errors(AGENT_PAYMENT_ERRORS)
        .errors(STORE_ERRORS);
    // It writes, and needs no idempotency key: the payment is one.
    pay.operation.policy.writes = true;
    let status = Endpoint::get("/agent/payment/{checkout_id}", ACCESS, status)
        .tool("get_payment_status", QuotaClass::Discovery)
        .operation_id("getPaymentStatus")
        .tag("checkout")
        .summary("Get the status of a payment by an agent")
        .description("Returns the newest payment with x402 of a session, also at a store that is suspended or closed. It begins nothing.")
        .path::<CheckoutId>()
        .response::<Envelope<PaymentStatusRecord>>(200)
        .errors(checkout::READ_ERRORS);
    Routes::new().with(pay).with(status)
}

/// The header of the payment, as HTTP specifications write it.
const SIGNATURE: &str = "PAYMENT-SIGNATURE";

/// A payment by an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "checkout_id": "chk_00000000000000000000000000000001" })))]
struct PaymentRequest {
    /// ID of the checkout session to pay.
    checkout_id: CheckoutId,
}

/// The payment of a session.
#[derive(Debug, Serialize, JsonSchema)]
struct PaymentStatusRecord {
    /// ID of the checkout session.
    checkout_id: CheckoutId,
    /// The newest payment of the session with x402; omitted if none was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment: Option<AgentPaymentRecord>,
}

async fn pay(
    agent: AgentCaller,
    Extension(from): Extension<ClientAddress>,
    State(rest): State<Arc<Rest>>,
    headers: HeaderMap,
    Json(request): Json<PaymentRequest>,
) -> Response {
    let checkout = request.checkout_id;
    let store = match admit(&rest, &agent, StoreTarget::Session(checkout), Operation::Settle).await
    {
        Ok(store) => store,
        Err(refused) => return refused.into_response(),
    };
    let sent = headers.get(PaymentPayload::HEADER);
    let payload = sent.map(|value| PaymentPayload::from_header(value.as_bytes())).transpose();
    let paid = match payload {
        Ok(payload) => {
            let context = context(&rest, &store, &agent, from);
            let request = AgentPaymentRequest { checkout, payload: payload.as_ref() };
            Box::pin(checkout::pay_by_agent(&context, &owner(&agent), request)).await
        }
        Err(malformed) => Err(malformed.into()),
    };
    match paid {
        Ok(payment) => respond(&payment, &rest.site_url),
        Err(error) => refuse(error),
    }
}

fn respond(payment: &AgentPayment, site_url: &str) -> Response {
    let status = match payment.status() {
        AgentPaymentStatus::Pending => StatusCode::ACCEPTED,
        AgentPaymentStatus::Settled | AgentPaymentStatus::Failed => StatusCode::OK,
    };
    let response = (status, Envelope::new(payment.record(site_url))).into_response();
    with_document(response, Some(&payment.response()))
}

/// Renders an error, with the documents of the protocol that a client needs to continue.
fn refuse(error: AgentPaymentError) -> Response {
    let (required, settled) = (error.required().cloned(), error.response().cloned());
    let response = ErrorResponse::from(error).into_response();
    let response = with_document::<PaymentRequired>(response, required.as_ref());
    with_document::<SettlementResponse>(response, settled.as_ref())
}

/// Adds the header of a document.
fn with_document<D: Document>(mut response: Response, document: Option<&D>) -> Response {
    let Some(document) = document else { return response };
    match document.to_header() {
        Ok(value) => {
            response.headers_mut().insert(HeaderName::from_static(D::HEADER), value);
            response
        }
        Err(error) => {
            tracing::error!(%error, "a document of x402 is too long for its header");
            ErrorResponse::from(AgentPaymentError::from(checkout::CheckoutError::Unreadable))
                .into_response()
        }
    }
}

async fn status(
    agent: AgentCaller,
    Extension(from): Extension<ClientAddress>,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
) -> Result<Envelope<PaymentStatusRecord>, ErrorResponse> {
    let store = admit(&rest, &agent, StoreTarget::Session(id), Operation::Settle).await?;
    let context = context(&rest, &store, &agent, from);
    let found = checkout::agent_payment(&context, &owner(&agent), id).await?;
    let payment = found.map(|payment| payment.record(&rest.site_url));
    Ok(Envelope::new(PaymentStatusRecord { checkout_id: id, payment }))
}
