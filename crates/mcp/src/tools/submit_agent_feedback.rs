//! `submit_agent_feedback`: what an agent says about an order.

use orders::FeedbackOutcome;
use primitives::{Failure, OrderId, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::order::{NOTE_LENGTH_MAX, order_context};
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct SubmitAgentFeedback;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id of the order.
    #[schemars(extend("x-former-names" = ["orderId"]))]
    order_id: OrderId,
    /// How it went.
    outcome: FeedbackOutcome,
    /// Remark.
    #[schemars(length(min = 1, max = NOTE_LENGTH_MAX))]
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Order identifier.
    order_id: OrderId,
    /// The recorded outcome.
    outcome: FeedbackOutcome,
}

impl Tool for SubmitAgentFeedback {
    const NAME: &'static str = "submit_agent_feedback";
    const TITLE: &'static str = "Submit feedback";
    const PURPOSE: &'static str = "Store how one of your orders went. Nobody is notified, and a later call replaces it. For a complaint to the merchant, use open_dispute. Ask the person first.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let Arguments { order_id, outcome, note } = arguments;
        orders::submit_feedback(&order_context(context).await?, order_id, outcome, note).await?;
        Ok(Output { order_id, outcome })
    }
}
