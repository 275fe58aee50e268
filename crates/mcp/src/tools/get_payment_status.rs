//! `get_payment_status`: what became of a payment with x402.

use checkout::AgentPaymentRecord;
use primitives::{CheckoutId, Failure, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checkout::checkout_context;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct GetPaymentStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Checkout id.
    checkout_id: CheckoutId,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Session.
    checkout_id: CheckoutId,
    /// The newest payment of the session with x402; absent if none was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment: Option<AgentPaymentRecord>,
}

impl Tool for GetPaymentStatus {
    const NAME: &'static str = "get_payment_status";
    const TITLE: &'static str = "Get the status of a payment";
    const PURPOSE: &'static str = "Get the payment that process_agent_payment began: pending, settled with the order, or failed.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let (checkout, owner) = (checkout_context(context), context.owner()?);
        let checkout_id = arguments.checkout_id;
        let found = checkout::agent_payment(&checkout, &owner, checkout_id).await?;
        let payment = found.map(|payment| payment.record(&context.app.site_url));
        Ok(Output { checkout_id, payment })
    }
}
