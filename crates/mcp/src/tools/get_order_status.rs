//! `get_order_status`: an order, where it is and what comes next.

use orders::{ExpectedStatus, OrderRecord, OrderStatus};
use primitives::{Failure, FulfillmentId, OrderId, Scope, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::order::{find_order, page_url};
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct GetOrderStatus;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `get_checkout` or `onx_get_orders`.
    #[schemars(extend("x-former-names" = ["orderId", "id"]))]
    order_id: OrderId,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    #[serde(flatten)]
    order: OrderRecord,
    /// Shipments that are on their way.
    tracking: Vec<Tracking>,
    /// What happens next if all goes well; absent once the order has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_expected_event: Option<ExpectedEvent>,
}

/// A shipment that is on its way.
#[derive(Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "the names that agents see")]
pub(super) struct Tracking {
    /// Fulfillment identifier.
    fulfillment_id: FulfillmentId,
    /// Carrier, as the merchant names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    carrier: Option<String>,
    /// Tracking number.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracking_number: Option<String>,
    /// Page where the shipment can be tracked.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracking_url: Option<String>,
    /// Delivery that was announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_by: Option<Timestamp>,
}

/// The next status of an order.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExpectedEvent {
    /// Status that the order gets.
    event: OrderStatus,
    /// When it is expected; absent if nobody named a time.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<Timestamp>,
}

impl Tool for GetOrderStatus {
    const NAME: &'static str = "get_order_status";
    const TITLE: &'static str = "Get an order's status";
    const PURPOSE: &'static str = "Get one of your orders: status and history, items, shipments on their way (tracking), returns, refunds, disputes, and next_expected_event. Use it to answer where an order is.";
    const SET: ToolSet = ToolSet::Orders;
    const ACCESS: Access = Access::Scope(Scope::AgentOrders);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let details = find_order(context, arguments.order_id).await?;
        let page_url = page_url(context, arguments.order_id);
        let under_way = details.fulfillments.iter().filter(|it| it.delivered_at.is_none());
        let tracking = under_way.map(|it| Tracking {
            fulfillment_id: it.id,
            carrier: it.carrier.clone(),
            tracking_number: it.tracking_number.clone(),
            tracking_url: it.tracking_url.clone(),
            expected_by: it.expected_by,
        });
        Ok(Output {
            tracking: tracking.collect(),
            next_expected_event: details.expected_status().map(ExpectedEvent::from),
            order: details.record(context.store.slug.as_str(), Some(page_url)),
        })
    }
}

impl From<ExpectedStatus> for ExpectedEvent {
    fn from(expected: ExpectedStatus) -> Self {
        Self { event: expected.status, by: expected.by }
    }
}
