//! `create_checkout`: beginning a checkout, without holding anything yet.

use checkout::{NewSession, SessionRecord};
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::{PaymentMethodName, counter};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CreateCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The cart, as `create_cart` returned it.
    cart_id: CartId,
    /// How it will be paid, if that is known.
    payment_method: Option<PaymentMethodName>,
}

impl Tool for CreateCheckout {
    const NAME: &'static str = "create_checkout";
    const TITLE: &'static str = "Begin a checkout";
    const PURPOSE: &'static str = "Begin the checkout of a cart: a session that can still be changed and holds nothing yet. complete_checkout does it at once; use this one to fill in data step by step. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 10; // decisions §6
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<SessionRecord, Failure> {
        let payment_method = arguments.payment_method.map(Into::into);
        let new = NewSession { payment_method, ..NewSession::default() };
        let (counter, owner) = (counter(call), call.owner()?);
        let at = checkout::create(&counter, &owner, arguments.cart_id, &new, call.once()).await?;
        Ok(at.record())
    }
}
