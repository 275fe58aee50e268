//! `request_human_confirmation`: asks a person to approve a cart.

use checkout::ConfirmationRecord;
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::checkout_context;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct RequestHumanConfirmation;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
}

impl Tool for RequestHumanConfirmation {
    const NAME: &'static str = "request_human_confirmation";
    const TITLE: &'static str = "Request human confirmation";
    const PURPOSE: &'static str = "Create a web page where the person approves or rejects a cart. Returns its address (confirm_url) and confirmation_id. Needed only where the store does not accept the agent's word (error confirmation_required). Give the person the address, poll get_confirmation_status, then call complete_checkout with confirmation: {confirmation_id}.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const READ_ONLY: bool = false;
    type Arguments = Arguments;
    type Output = ConfirmationRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<ConfirmationRecord, Failure> {
        let (checkout, owner) = (checkout_context(context), context.owner()?);
        Ok(checkout::request(&checkout, &owner, arguments.cart_id).await?.record())
    }
}
