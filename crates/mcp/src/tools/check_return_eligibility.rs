//! `check_return_eligibility`: which items of an order can be returned.

use orders::EligibilityRecord;
use primitives::{Failure, OrderId, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct CheckReturnEligibility;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id of the order.
    #[schemars(extend("x-former-names" = ["orderId", "id"]))]
    order_id: OrderId,
}

impl Tool for CheckReturnEligibility {
    const NAME: &'static str = "check_return_eligibility";
    const TITLE: &'static str = "Check return eligibility";
    const PURPOSE: &'static str = "Check which items of an order can be returned, until when, and for which refund. The policy that the buyer agreed to decides. Then use onx_create_return.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = EligibilityRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<EligibilityRecord, Failure> {
        let (reading, viewer) = (context.reading()?, context.viewer().await?);
        let (merchant, id) = (context.store.merchant, arguments.order_id);
        let (details, found) = orders::eligibility(&reading, merchant, id, &viewer).await?;
        Ok(found.record(&details.order))
    }
}
