//! `onx_get_returns`: returns of the caller's orders.

use orders::{PartsFilter, ReturnOutcome, ReturnStatus};
use primitives::{Failure, OrderId, ReturnId, Scope, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::order::onx_return;
use crate::onx::{self, PAGE_SIZE_MAX, SKIP_MAX, TIME_PATTERN, VALUES_MAX};
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct OnxGetReturns;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    /// Return ids.
    #[schemars(length(max = VALUES_MAX))]
    #[schemars(extend("x-former-names" = ["return_ids"]))]
    ids: Option<Vec<ReturnId>>,
    /// Order ids. Without them, your 1,000 newest orders count.
    #[schemars(length(max = VALUES_MAX))]
    #[schemars(extend("x-former-names" = ["order_ids"]))]
    order_ids: Option<Vec<OrderId>>,
    /// Numbers of returns: returns here have none, so that these select nothing.
    #[schemars(length(max = VALUES_MAX), inner(length(max = 255)))]
    #[schemars(extend("x-unlisted" = true))]
    return_numbers: Option<Vec<String>>,
    /// Statuses.
    #[schemars(length(max = VALUES_MAX))]
    #[schemars(extend("x-unlisted" = true))]
    statuses: Option<Vec<ReturnStatus>>,
    /// Outcomes.
    #[schemars(length(max = VALUES_MAX))]
    #[schemars(extend("x-unlisted" = true))]
    outcomes: Option<Vec<ReturnOutcome>>,
    /// Earliest request, RFC 3339.
    #[schemars(regex(pattern = TIME_PATTERN))]
    #[schemars(extend("x-unlisted" = true))]
    created_at_min: Option<Timestamp>,
    /// Latest request.
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
    /// Returns, the newest first.
    returns: Vec<onx::Return>,
}

impl Tool for OnxGetReturns {
    const NAME: &'static str = "onx_get_returns";
    const TITLE: &'static str = "Get returns";
    const PURPOSE: &'static str = "List the returns of your orders at this store, newest first, in onX form: status, items, instructions, refund.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        if arguments.return_numbers.is_some_and(|numbers| !numbers.is_empty()) {
            return Ok(Output { success: true, returns: Vec::new() });
        }
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
        let statuses = arguments.statuses.unwrap_or_default();
        let outcomes = arguments.outcomes.unwrap_or_default();
        let (reading, merchant) = (context.reading()?, context.store.merchant);
        let keys = context.keys_of_orders().await?;
        let found =
            orders::returns_of_keys(&reading, merchant, &keys, &filter, &statuses, &outcomes)
                .await?;
        let returns = found.iter().map(|(details, it)| onx_return(context, details, it));
        Ok(Output { success: true, returns: returns.collect() })
    }
}
