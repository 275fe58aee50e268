//! `onx_get_fulfillments`: shipments of the caller's orders.

use orders::PartsFilter;
use primitives::{Failure, FulfillmentId, OrderId, Scope, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::onx::{self, PAGE_SIZE_MAX, SKIP_MAX, TIME_PATTERN, VALUES_MAX};
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct OnxGetFulfillments;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// Fulfillment ids.
    #[schemars(length(max = VALUES_MAX))]
    ids: Option<Vec<FulfillmentId>>,
    /// Order ids. Without them, your 1,000 newest orders count.
    #[schemars(length(max = VALUES_MAX))]
    #[schemars(extend("x-former-names" = ["order_ids"]))]
    order_ids: Option<Vec<OrderId>>,
    /// Earliest shipment, RFC 3339.
    #[schemars(regex(pattern = TIME_PATTERN))]
    #[schemars(extend("x-unlisted" = true))]
    created_at_min: Option<Timestamp>,
    /// Latest shipment.
    #[schemars(regex(pattern = TIME_PATTERN))]
    #[schemars(extend("x-unlisted" = true))]
    created_at_max: Option<Timestamp>,
    /// Earliest change.
    #[schemars(regex(pattern = TIME_PATTERN))]
    #[schemars(extend("x-unlisted" = true))]
    updated_at_min: Option<Timestamp>,
    /// Latest change.
    #[schemars(regex(pattern = TIME_PATTERN))]
    #[schemars(extend("x-unlisted" = true))]
    updated_at_max: Option<Timestamp>,
    /// Results per page; default 10.
    #[schemars(range(min = 1, max = PAGE_SIZE_MAX))]
    page_size: Option<i64>,
    /// Results to skip.
    #[schemars(range(min = 0, max = SKIP_MAX))]
    #[schemars(extend("x-unlisted" = true))]
    skip: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Always true; errors have another form.
    success: bool,
    /// Fulfillments, the newest first.
    fulfillments: Vec<onx::Fulfillment>,
}

impl Tool for OnxGetFulfillments {
    const NAME: &'static str = "onx_get_fulfillments";
    const TITLE: &'static str = "Get fulfillments";
    const PURPOSE: &'static str = "List the shipments of your orders at this store, newest first, in onX form: items, carrier, tracking numbers, status.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let (skip, limit) = onx::page(arguments.page_size, arguments.skip);
        let filter = PartsFilter {
            ids: arguments.ids.unwrap_or_default(),
            orders: arguments.order_ids.unwrap_or_default(),
            created_min: arguments.created_at_min,
            created_max: arguments.created_at_max,
            updated_min: arguments.updated_at_min,
            updated_max: arguments.updated_at_max,
            skip,
            limit,
        };
        let (reading, merchant) = (context.reading()?, context.store.merchant);
        let keys = context.keys_of_orders().await?;
        let found = orders::fulfillments_of_keys(&reading, merchant, &keys, &filter).await?;
        let slug = context.store.slug.as_str();
        let fulfillment = |(details, it)| onx::Fulfillment::of(&details, &it, slug);
        Ok(Output { success: true, fulfillments: found.into_iter().map(fulfillment).collect() })
    }
}
