//! `cancel_checkout`: cancels a checkout session.

use checkout::SessionRecord;
use primitives::{CheckoutId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::checkout_context;
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CancelCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `complete_checkout` or `create_checkout`.
    checkout_id: CheckoutId,
    /// Reason, such as price, `shipping_cost`, `changed_mind` or `found_elsewhere`. Sent to the merchant.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,49}$"))]
    reason_code: Option<String>,
}

impl Tool for CancelCheckout {
    const NAME: &'static str = "cancel_checkout";
    const TITLE: &'static str = "Cancel a checkout";
    const PURPOSE: &'static str = "Cancel an unpaid checkout session and its cart, and release the reserved stock. Repeating the call has no effect. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 10; // decisions §6
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<SessionRecord, Failure> {
        let (context, owner, id) = (checkout_context(call), call.owner()?, arguments.checkout_id);
        let reason = arguments.reason_code.as_deref();
        Ok(checkout::cancel(&context, &owner, id, reason).await?.record())
    }
}
