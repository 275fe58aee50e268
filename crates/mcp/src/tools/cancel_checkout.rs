//! `cancel_checkout`: cancels a checkout session.

use checkout::{ReasonCode, SessionRecord};
use primitives::{CheckoutId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::checkout_context;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct CancelCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `complete_checkout` or `create_checkout`.
    checkout_id: CheckoutId,
    /// Reason, such as price, `shipping_cost`, `changed_mind` or `found_elsewhere`. Sent to the merchant.
    #[schemars(regex(pattern = ReasonCode::PATTERN))]
    reason_code: Option<String>,
}

impl Tool for CancelCheckout {
    const NAME: &'static str = "cancel_checkout";
    const TITLE: &'static str = "Cancel a checkout";
    const PURPOSE: &'static str = "Cancel an unpaid checkout session and its cart, and release the reserved stock. Repeating the call has no effect. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    const DESTRUCTIVE: bool = true;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<SessionRecord, Failure> {
        let (checkout, owner, id) =
            (checkout_context(context), context.owner()?, arguments.checkout_id);
        let reason = arguments.reason_code.as_deref().map(ReasonCode::new).transpose()?;
        let key = context.idempotency();
        Ok(checkout::cancel(&checkout, &owner, id, reason.as_ref(), key).await?.record())
    }
}
