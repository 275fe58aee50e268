//! `request_human_confirmation`: putting a purchase to a person.

use checkout::ConfirmationRecord;
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::counter;
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct RequestHumanConfirmation;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The cart to be approved.
    cart_id: CartId,
}

impl Tool for RequestHumanConfirmation {
    const NAME: &'static str = "request_human_confirmation";
    const TITLE: &'static str = "Ask a person to approve";
    const PURPOSE: &'static str = "Ask a person to approve a cart: returns confirm_url, a page that shows everything and has a yes and a no. Give the address to the person, then look at get_confirmation_status, then complete_checkout with confirmation_id.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 10; // decisions §6
    type Arguments = Arguments;
    type Output = ConfirmationRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<ConfirmationRecord, Failure> {
        let (counter, owner) = (counter(call), call.owner()?);
        Ok(checkout::request(&counter, &owner, arguments.cart_id).await?.record())
    }
}
