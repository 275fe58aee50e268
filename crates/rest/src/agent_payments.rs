//! Payments that agents make themselves (docs/contract/payments.md#agent-payment). No store accepts them yet: the endpoint
//! says so.

use std::sync::Arc;

use axum::extract::State;
use limits::QuotaClass;
use payments::PaymentMethod;
use primitives::{CheckoutId, Details, ErrorCode, Problem, Scope};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::store_access::{Operation, STORE_ERRORS, StoreTarget, admit};
use crate::{Access, AgentCaller, Endpoint, ErrorResponse, Json, Rest, RestState, Routes};

pub(crate) fn endpoints() -> Routes<RestState> {
    let pay = Endpoint::post("/agent/payment", Access::Agent(Scope::AgentCheckout), pay)
        .tool("process_agent_payment", QuotaClass::CheckoutWrite)
        .writes()
        .operation_id("payCheckout")
        .tag("checkout")
        .summary("Pay a checkout session as an agent")
        .description("For x402 micropayments. No store accepts them yet, so every call returns 422 `unsupported_payment_method`; a person pays at the session's `checkout_url`.")
        .body::<PaymentRequest>()
        .errors(&[ErrorCode::UnsupportedPaymentMethod])
        .errors(checkout::READ_ERRORS)
        .errors(STORE_ERRORS);
    Routes::new().with(pay)
}

/// A payment by an agent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "checkout_id": "chk_00000000000000000000000000000001" })))]
struct PaymentRequest {
    /// ID of the checkout session to pay.
    checkout_id: CheckoutId,
}

/// No store accepts payments by agents.
#[derive(Debug, thiserror::Error)]
#[error("this store accepts no {} payments by agents", PaymentMethod::X402)]
struct AgentPaymentNotAccepted;

impl Problem for AgentPaymentNotAccepted {
    fn code(&self) -> ErrorCode {
        ErrorCode::UnsupportedPaymentMethod
    }

    fn details(&self, details: &mut Details) {
        details.insert("reason", "no_agent_payment");
        let hint = "ask the person to pay at the checkout_url of the session: GET /api/v1/agent/checkout/{checkout_id}";
        details.insert("hint", hint);
    }
}

async fn pay(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<PaymentRequest>,
) -> Result<(), ErrorResponse> {
    let target = StoreTarget::Session(request.checkout_id);
    admit(&rest, &agent, target, Operation::Write).await?;
    Err(AgentPaymentNotAccepted.into())
}
