//! `process_agent_payment`: pays a checkout session with x402, the one tool that pays (docs/contract/payments.md#process-agent-payment).
//! It follows the MCP transport of x402: what is required, what is sent and the outcome are documents of the protocol.

use std::borrow::Cow;

use checkout::{AgentPaymentError, AgentPaymentRequest};
use primitives::{CheckoutId, Failure, Scope};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use x402::mcp::PAYMENT_RESPONSE_KEY;
use x402::{Document, PaymentPayload, SettlementResponse};

use super::checkout::checkout_context;
use crate::error::UnserializableOutput;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, ResultAttributes, Stores, Tool, ToolSet};

pub(super) struct ProcessAgentPayment;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Checkout id.
    checkout_id: CheckoutId,
}

/// A document of x402, or the payment.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Output {
    document: Value,
    #[serde(skip)]
    is_required: bool,
    #[serde(skip)]
    response: Option<Value>,
}

impl JsonSchema for Output {
    fn schema_name() -> Cow<'static, str> {
        "AgentPaymentResult".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

impl Output {
    fn new(
        document: &impl Serialize,
        is_required: bool,
        response: Option<&SettlementResponse>,
    ) -> Result<Self, Failure> {
        let document = serde_json::to_value(document).map_err(UnserializableOutput)?;
        let response = response.map(serde_json::to_value).transpose();
        Ok(Self { document, is_required, response: response.map_err(UnserializableOutput)? })
    }
}

impl Tool for ProcessAgentPayment {
    const NAME: &'static str = "process_agent_payment";
    const TITLE: &'static str = "Pay a checkout with x402";
    const PURPOSE: &'static str = "Pay a checkout session from your wallet with x402 (USDC). Without _meta[\"x402/payment\"] returns the PaymentRequired to sign; with it, the payment: settled, or pending (see get_payment_status). If the response is unclear, repeat the same payment: it settles once. Never sign another. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    const STORES: Stores = Stores::Any;
    const HAS_OUTPUT_SCHEMA: bool = false;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let payload = context.payment.as_ref().map(PaymentPayload::from_value).transpose();
        let payload = payload.map_err(AgentPaymentError::from)?;
        let request =
            AgentPaymentRequest { checkout: arguments.checkout_id, payload: payload.as_ref() };
        let (checkout, owner) = (checkout_context(context), context.owner()?);
        match Box::pin(checkout::pay_by_agent(&checkout, &owner, request)).await {
            Ok(payment) => {
                let record = payment.record(&context.app.site_url);
                Output::new(&record, false, Some(&payment.response()))
            }
            Err(error) => match error.required() {
                Some(required) => Output::new(required, true, error.response()),
                None => Err(error.into()),
            },
        }
    }

    fn attributes(output: &Output) -> ResultAttributes {
        let response = output.response.clone();
        let meta = response.map(|response| (PAYMENT_RESPONSE_KEY.to_owned(), response));
        ResultAttributes {
            is_error: output.is_required,
            meta: meta.into_iter().collect::<Map<_, _>>(),
        }
    }
}
