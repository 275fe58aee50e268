//! `cancel_checkout`: calling a checkout off.

use checkout::SessionRecord;
use primitives::{CheckoutId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::counter;
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CancelCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The session.
    checkout_id: CheckoutId,
    /// Why: a short name such as price, `shipping_cost`, `changed_mind`, `found_elsewhere`. The merchant is told.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,49}$"))]
    reason_code: Option<String>,
}

impl Tool for CancelCheckout {
    const NAME: &'static str = "cancel_checkout";
    const TITLE: &'static str = "Call a checkout off";
    const PURPOSE: &'static str = "Call a checkout off that is not paid: what was held goes back to the store. Doing it again changes nothing. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 10; // decisions §6
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<SessionRecord, Failure> {
        let (counter, owner, id) = (counter(call), call.owner()?, arguments.checkout_id);
        let reason = arguments.reason_code.as_deref();
        Ok(checkout::cancel(&counter, &owner, id, reason).await?.record())
    }
}
