//! `update_checkout`: changes a checkout session.

use carts::{Buyer, Destination, Edit};
use checkout::{NewSession, SessionRecord, Update};
use primitives::{CheckoutId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::{PaymentMethodName, checkout_context};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct UpdateCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_checkout` or `complete_checkout`.
    checkout_id: CheckoutId,
    /// New delivery address.
    ship_to: Option<Destination>,
    /// Buyer's contact data.
    buyer: Option<Buyer>,
    /// Id of one of the cart's `shipping_options`.
    #[schemars(length(min = 1, max = 100))]
    shipping_option_id: Option<String>,
    /// Replaces all discount codes.
    #[schemars(length(max = 5), inner(length(min = 1, max = 100)))]
    discount_codes: Option<Vec<String>>,
    /// Payment method.
    payment_method: Option<PaymentMethodName>,
}

impl Tool for UpdateCheckout {
    const NAME: &'static str = "update_checkout";
    const TITLE: &'static str = "Update a checkout";
    const PURPOSE: &'static str = "Change the address, buyer, shipping option, discount codes or payment method of a checkout session. If it was awaiting payment, the reserved stock is released and complete_checkout must be called again. Before a checkout has started, use the cart tools. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 10; // decisions §6
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<SessionRecord, Failure> {
        let edits = [
            arguments.ship_to.map(Edit::Destination),
            arguments.buyer.map(Edit::Buyer),
            arguments.discount_codes.map(Edit::Codes),
            arguments.shipping_option_id.map(Edit::Shipping),
        ];
        let payment_method = arguments.payment_method.map(Into::into);
        let new = NewSession { payment_method, ..NewSession::default() };
        let change = Update { edits: edits.into_iter().flatten().collect(), new };
        let (context, owner, id) = (checkout_context(call), call.owner()?, arguments.checkout_id);
        let at = checkout::update(&context, &owner, id, &change, call.idempotency()).await?;
        Ok(at.record())
    }
}
