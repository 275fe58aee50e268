//! `create_checkout`: opens a checkout session without reserving stock.

use checkout::{NewSession, SessionRecord};
use payments::PaymentMethod;
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::checkout_context;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CreateCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
    /// `stripe`, `x402` or `paypal`, if known.
    payment_method: Option<PaymentMethod>,
}

impl Tool for CreateCheckout {
    const NAME: &'static str = "create_checkout";
    const TITLE: &'static str = "Open a checkout";
    const PURPOSE: &'static str = "Open a checkout session for a cart, to be edited with update_checkout. Reserves no stock and gives no page to pay on. Rarely needed: complete_checkout opens and completes the session in one call. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<SessionRecord, Failure> {
        let new = NewSession { payment_method: arguments.payment_method, ..NewSession::default() };
        let (checkout, owner) = (checkout_context(context), context.owner()?);
        let at =
            checkout::create(&checkout, &owner, arguments.cart_id, &new, context.idempotency())
                .await?;
        Ok(at.record())
    }
}
