//! `onx_get_orders`: the caller's orders.

use orders::{OrderParts, OrderStatus, OrdersFilter, Viewer};
use primitives::{Failure, OrderId, Scope, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::order::onx_order;
use crate::onx::{self, PAGE_SIZE_MAX, SKIP_MAX, TIME_PATTERN, VALUES_MAX};
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct OnxGetOrders;

/// The pattern of a number of an order.
const NUMBER_PATTERN: &str = "^[0-9A-Fa-f]{10}$";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// Order ids.
    #[schemars(length(max = VALUES_MAX))]
    #[schemars(extend("x-former-names" = ["order_ids", "orderIds"]))]
    ids: Option<Vec<OrderId>>,
    /// Ids of other systems: orders here have none, so that these select nothing.
    #[schemars(length(max = VALUES_MAX), inner(length(max = 255)))]
    #[schemars(extend("x-unlisted" = true))]
    external_ids: Option<Vec<String>>,
    /// Statuses.
    #[schemars(length(max = VALUES_MAX))]
    statuses: Option<Vec<OrderStatus>>,
    /// Order numbers.
    #[schemars(length(max = VALUES_MAX), inner(regex(pattern = NUMBER_PATTERN)))]
    #[schemars(extend("x-unlisted" = true))]
    names: Option<Vec<String>>,
    /// Whether to return the lines; default true.
    #[schemars(extend("x-unlisted" = true))]
    include_line_items: Option<bool>,
    /// Earliest creation, RFC 3339.
    #[schemars(regex(pattern = TIME_PATTERN))]
    created_at_min: Option<Timestamp>,
    /// Latest creation.
    #[schemars(regex(pattern = TIME_PATTERN))]
    #[schemars(extend("x-unlisted" = true))]
    created_at_max: Option<Timestamp>,
    /// Earliest change.
    #[schemars(regex(pattern = TIME_PATTERN))]
    updated_at_min: Option<Timestamp>,
    /// Latest change; only with `updatedAtMin`.
    #[schemars(regex(pattern = TIME_PATTERN))]
    #[schemars(extend("x-unlisted" = true))]
    updated_at_max: Option<Timestamp>,
    /// Results per page; default 10.
    #[schemars(range(min = 1, max = PAGE_SIZE_MAX))]
    page_size: Option<i64>,
    /// Results to skip.
    #[schemars(range(min = 0, max = SKIP_MAX))]
    skip: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Always true; errors have another form.
    success: bool,
    /// Orders, the newest first.
    orders: Vec<onx::Order>,
}

impl Tool for OnxGetOrders {
    const NAME: &'static str = "onx_get_orders";
    const TITLE: &'static str = "Get orders";
    const PURPOSE: &'static str = "List your orders at this store, newest first, in onX form. For the progress of one order, use get_order_status.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let orders = list(context, arguments).await?;
        Ok(Output { success: true, orders })
    }
}

async fn list(context: &RequestContext, arguments: Arguments) -> Result<Vec<onx::Order>, Failure> {
    if arguments.external_ids.is_some_and(|ids| !ids.is_empty()) {
        return Ok(Vec::new());
    }
    let (reading, merchant) = (context.reading()?, context.store.merchant);
    let keys = context.keys_of_orders().await?;
    let mut ids = arguments.ids.unwrap_or_default();
    let names = arguments.names.unwrap_or_default();
    if !names.is_empty() {
        let found = orders::orders_of_numbers(&reading, merchant, &keys, &names).await?;
        let is_wanted = |id: &OrderId| ids.is_empty() || ids.contains(id);
        ids = found.into_iter().filter(is_wanted).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
    }
    let (skip, limit) = onx::page(arguments.page_size, arguments.skip);
    let filter = OrdersFilter {
        ids,
        statuses: arguments.statuses.unwrap_or_default(),
        created_min: arguments.created_at_min,
        created_max: arguments.created_at_max,
        updated_min: arguments.updated_at_min,
        updated_max: arguments.updated_at_max,
        after: None,
        skip,
        limit,
    };
    let (viewer, parts) = (Viewer::Agent(keys), OrderParts::Items);
    let found = orders::orders(&reading, merchant, &viewer, &filter, parts).await;
    let found =
        found.map_err(|error| onx::with_names(error, &[("updated_min", "updatedAtMin")]))?;
    let with_lines = arguments.include_line_items.unwrap_or(true);
    let order = |details| {
        let order = onx_order(context, &details);
        if with_lines { order } else { order.without_line_items() }
    };
    Ok(found.orders.into_iter().map(|(_, details)| order(details)).collect())
}
