//! `update_checkout`: where a session goes, how, for whom, with which codes.

use carts::{Buyer, Destination, Edit};
use checkout::{NewSession, SessionRecord, Update};
use primitives::{CheckoutId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::{PaymentMethodName, counter};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct UpdateCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The session.
    checkout_id: CheckoutId,
    /// Where it goes.
    ship_to: Option<Destination>,
    /// Who buys.
    buyer: Option<Buyer>,
    /// How it goes there: the id of one of the cart's `shipping_options`.
    #[schemars(length(min = 1, max = 100))]
    shipping_option_id: Option<String>,
    /// Codes for discounts, in the place of all others.
    #[schemars(length(max = 5), inner(length(min = 1, max = 100)))]
    discount_codes: Option<Vec<String>>,
    /// How it will be paid.
    payment_method: Option<PaymentMethodName>,
}

impl Tool for UpdateCheckout {
    const NAME: &'static str = "update_checkout";
    const TITLE: &'static str = "Change a checkout";
    const PURPOSE: &'static str = "Change where a checkout goes, how, for whom and with which codes. If the person was about to pay, what was held is given back and complete_checkout is needed again. Ask the person first.";
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
        let (counter, owner, id) = (counter(call), call.owner()?, arguments.checkout_id);
        let at = checkout::update(&counter, &owner, id, &change, call.once()).await?;
        Ok(at.record())
    }
}
