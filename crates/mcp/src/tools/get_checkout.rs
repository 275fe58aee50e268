//! `get_checkout`: the state of a checkout session.

use checkout::SessionRecord;
use primitives::{CheckoutId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct GetCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `complete_checkout` or `create_checkout`.
    checkout_id: CheckoutId,
}

impl Tool for GetCheckout {
    const NAME: &'static str = "get_checkout";
    const TITLE: &'static str = "Get a checkout";
    const PURPOSE: &'static str = "Get a checkout session created with this API key: status, totals, checkout_url and, once paid, the order. Use it to see whether the person has paid.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<SessionRecord, Failure> {
        let (reading, key) = (context.reading()?, context.owner()?.key);
        let (merchant, id) = (context.store.merchant, arguments.checkout_id);
        Ok(checkout::session(&reading, merchant, id, Some(key)).await?.record())
    }
}
