//! `update_checkout`: changes a checkout session.

use carts::{Buyer, CODE_LENGTH_MAX, CODES_MAX, CartUpdate, Destination};
use checkout::{NewSession, SessionRecord, Update};
use payments::PaymentMethod;
use primitives::{CheckoutId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::checkout_context;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct UpdateCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_checkout` or `complete_checkout`.
    checkout_id: CheckoutId,
    /// New delivery address.
    destination: Option<Destination>,
    /// Buyer's contact data.
    buyer: Option<Buyer>,
    /// Id of one of the cart's `shipping_options`.
    #[schemars(length(min = 1, max = 100))]
    #[schemars(extend("x-former-names" = ["option_id", "selected_shipping_option_id"]))]
    shipping_option_id: Option<String>,
    /// Replaces all discount codes.
    #[schemars(length(max = CODES_MAX), inner(length(min = 1, max = CODE_LENGTH_MAX)))]
    discount_codes: Option<Vec<String>>,
    /// `stripe`, `x402` or `paypal`.
    payment_method: Option<PaymentMethod>,
}

impl Tool for UpdateCheckout {
    const NAME: &'static str = "update_checkout";
    const TITLE: &'static str = "Update a checkout";
    const PURPOSE: &'static str = "Change the address, buyer, shipping option, discount codes or payment method of a checkout session. If it was awaiting payment, the reserved stock is released and complete_checkout must be called again. Before a checkout has started, use the cart tools. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<SessionRecord, Failure> {
        let data = CartUpdate {
            destination: arguments.destination,
            buyer: arguments.buyer,
            codes: arguments.discount_codes,
            shipping_option: arguments.shipping_option_id,
        };
        let session =
            NewSession { payment_method: arguments.payment_method, ..NewSession::default() };
        let change = Update { data, session };
        let (checkout, owner, id) =
            (checkout_context(context), context.owner()?, arguments.checkout_id);
        let at = checkout::update(&checkout, &owner, id, &change, context.idempotency()).await?;
        Ok(at.record())
    }
}
