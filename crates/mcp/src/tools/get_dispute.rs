//! `get_dispute`: the state of a dispute.

use orders::DisputeRecord;
use primitives::{DisputeId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct GetDispute;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `open_dispute` or the adjustments of `get_order_status`.
    dispute_id: DisputeId,
}

impl Tool for GetDispute {
    const NAME: &'static str = "get_dispute";
    const TITLE: &'static str = "Get a dispute";
    const PURPOSE: &'static str = "Get a dispute about one of your orders: status, statements of the parties, the merchant's proposal, deadlines and decision.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = DisputeRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<DisputeRecord, Failure> {
        let (reading, viewer) = (context.reading()?, context.viewer().await?);
        let (merchant, id) = (context.store.merchant, arguments.dispute_id);
        let (details, dispute) = orders::dispute(&reading, merchant, id, &viewer).await?;
        Ok(dispute.record(&details.order, context.store.slug.as_str()))
    }
}
