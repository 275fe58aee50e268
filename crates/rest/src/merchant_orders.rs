//! Orders of a store, for its merchant (docs/contract/merchant-api.md#orders).

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::ETAG;
use database::Reading;
use identity::StoreScope;
use orders::{
    CancelReason, Cancellation, Changed, FULFILLMENTS_MAX, OrderContext, OrderCursor, OrderError,
    OrderParts, OrderRecord, OrderStatus, OrdersFilter, PushedOrderRecord, Shipment, Viewer,
};
use primitives::{FulfillmentId, OrderId, PageRequest, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::envelope::CursorEnvelope;
use crate::idempotency::IdempotencyKeyHeader;
use crate::merchant_settings::version::{IfMatch, version};
use crate::order_access::{
    CURSOR_CHARACTERS_MAX, IF_MATCH, ITEMS_MAX, LineQuantity, NAME_CHARACTERS_MAX, READ_ERRORS,
    URL_CHARACTERS_MAX, WRITE_ERRORS, merchant_context, units,
};
use crate::request::InvalidField;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Path, Query, Rest, RestState, Routes,
    StoreCaller,
};

const ACCESS: Access = Access::Store(StoreScope::Orders);

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/merchant/orders", ACCESS, list)
        .operation_id("listOrders")
        .tag("merchant")
        .summary("List orders")
        .description("Returns the orders of the store, the newest first. `origin=pushed` lists those of your other channels that you pushed; the other filters are not for them. Send `meta.next_cursor` as `cursor` for the next page. The list is not counted: `meta.total` is the number of orders on the page.")
        .query::<ListParameters>()
        .response::<CursorEnvelope<MerchantOrderRecord>>(200);
    let read = Endpoint::get("/merchant/orders/{order_id}", ACCESS, read)
        .operation_id("getOrder")
        .tag("merchant")
        .summary("Get an order")
        .description("Returns an order of the store, or one that you pushed, which has an `external_id`. The header `ETag` is the version of an order of the store.")
        .path::<OrderId>()
        .response::<Envelope<MerchantOrderRecord>>(200)
        .errors(READ_ERRORS);
    let change = Endpoint::patch("/merchant/orders/{order_id}", ACCESS, change)
        .operation_id("changeOrder")
        .tag("merchant")
        .summary("Confirm, ship, deliver or cancel an order")
        .description("`confirm` accepts the order, `review` holds it until a person has decided, `process` starts to process it. `ship` ships everything that is left, or `items`, and confirms the order before if you have not. `deliver` reports all shipments as delivered, or those of `fulfillment_ids`; the return window begins with the last one. `cancel` cancels everything that is not shipped, or `items`, for a `reason`; refund the buyer with `POST /merchant/orders/{order_id}/refunds`. With `version` or `If-Match`, the call fails with 409 `invalid_status_transition` and `details.current_version` if the order has changed since that version.")
        .header(IfMatch::NAME, IF_MATCH)
        .idempotency_key()
        .path::<OrderId>()
        .body::<ChangeOrderRequest>()
        .response::<Envelope<OrderRecord>>(200)
        .errors(WRITE_ERRORS);
    Routes::new().with(list).with(read).with(change)
}

primitives::text_enum! {
    /// Where an order comes from.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    enum OrderOrigin {
        /// Bought here by an agent.
        Souk,
        /// Pushed by the merchant from another channel.
        Pushed,
    }
}

/// Which orders are listed.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListParameters {
    /// Where the orders come from.
    #[schemars(extend("default" = "souk"))]
    origin: Option<OrderOrigin>,
    /// Only orders with this status.
    status: Option<OrderStatus>,
    /// Only orders that were placed at this time or later, RFC 3339.
    created_min: Option<Timestamp>,
    /// Only orders that were placed at this time or earlier, RFC 3339.
    created_max: Option<Timestamp>,
    /// Only orders that changed at this time or later, RFC 3339.
    updated_min: Option<Timestamp>,
    /// Only orders that last changed at this time or earlier, RFC 3339; only with `updated_min`.
    updated_max: Option<Timestamp>,
    /// `meta.next_cursor` of the previous page.
    #[schemars(length(max = CURSOR_CHARACTERS_MAX))]
    cursor: Option<String>,
    /// Orders per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

impl ListParameters {
    /// Returns a filter that pushed orders do not have.
    fn filter_of_placed(&self) -> Option<&'static str> {
        let sent = [
            ("status", self.status.is_some()),
            ("created_min", self.created_min.is_some()),
            ("created_max", self.created_max.is_some()),
            ("updated_min", self.updated_min.is_some()),
            ("updated_max", self.updated_max.is_some()),
        ];
        sent.into_iter().find(|(_, is_sent)| *is_sent).map(|(field, _)| field)
    }
}

/// An order of the store: bought here by an agent, or pushed by the merchant. Only the latter has an `external_id`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum MerchantOrderRecord {
    Placed(Box<OrderRecord>),
    Pushed(PushedOrderRecord),
}

primitives::text_enum! {
    /// What a merchant does with an order.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    enum OrderAction {
        /// Accept the order.
        Confirm,
        /// Hold the order until a person has decided.
        Review,
        /// Start to process the order.
        Process,
        /// Ship units.
        Ship,
        /// Report shipments as delivered.
        Deliver,
        /// Cancel units that are not shipped.
        Cancel,
    }
}

/// A change of an order.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "action": "ship", "carrier": "DHL", "tracking_number": "JD0146" })))]
struct ChangeOrderRequest {
    /// What is done.
    action: OrderAction,
    /// Units to ship or to cancel; omitted: all that are left.
    #[schemars(length(min = 1, max = ITEMS_MAX))]
    items: Option<Vec<LineQuantity>>,
    /// Carrier; only with `ship`.
    #[schemars(length(max = NAME_CHARACTERS_MAX))]
    carrier: Option<String>,
    /// Tracking number; only with `ship`.
    #[schemars(length(max = NAME_CHARACTERS_MAX))]
    tracking_number: Option<String>,
    /// URL of a page where the shipment can be tracked; only with `ship`.
    #[schemars(length(max = URL_CHARACTERS_MAX))]
    tracking_url: Option<String>,
    /// Expected delivery, RFC 3339, at most 365 days before or after now; only with `ship`.
    expected_by: Option<Timestamp>,
    /// Shipments that were delivered; only with `deliver`. Omitted: all.
    #[schemars(length(min = 1, max = FULFILLMENTS_MAX))]
    fulfillment_ids: Option<Vec<FulfillmentId>>,
    /// Why units are canceled; required with `cancel`.
    reason: Option<CancelReason>,
    /// Version that the change is based on.
    #[schemars(range(min = 1))]
    version: Option<i32>,
}

impl ChangeOrderRequest {
    /// Returns a field that does not belong to the action.
    fn unexpected(&self) -> Option<&'static str> {
        let (ships, delivers) =
            (self.action == OrderAction::Ship, self.action == OrderAction::Deliver);
        let cancels = self.action == OrderAction::Cancel;
        let fields = [
            ("items", self.items.is_some(), ships || cancels),
            ("carrier", self.carrier.is_some(), ships),
            ("tracking_number", self.tracking_number.is_some(), ships),
            ("tracking_url", self.tracking_url.is_some(), ships),
            ("expected_by", self.expected_by.is_some(), ships),
            ("fulfillment_ids", self.fulfillment_ids.is_some(), delivers),
            ("reason", self.reason.is_some(), cancels),
        ];
        let found = fields.into_iter().find(|(_, is_sent, belongs)| *is_sent && !*belongs);
        found.map(|(field, ..)| field)
    }
}

/// An order with its version as a header.
type Versioned<T> = ([(HeaderName, String); 1], Envelope<T>);

fn e_tag(version: i32) -> [(HeaderName, String); 1] {
    [(ETAG, format!("\"{version}\""))]
}

async fn list(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<ListParameters>,
) -> Result<CursorEnvelope<MerchantOrderRecord>, ErrorResponse> {
    let after = parameters.cursor.as_deref().map(str::parse::<OrderCursor>).transpose();
    let after = after.map_err(|_| InvalidField { field: "cursor" })?;
    let request = PageRequest::new(None, parameters.limit);
    let (merchant, slug) = (caller.merchant, caller.store.slug.as_str());
    let reading = Reading::for_store(&rest.database, merchant)?;
    if parameters.origin == Some(OrderOrigin::Pushed) {
        if let Some(field) = parameters.filter_of_placed() {
            return Err(InvalidField { field }.into());
        }
        let page = orders::pushed_orders(&reading, merchant, after, request.limit()).await?;
        let records = page.orders.iter().map(|it| MerchantOrderRecord::Pushed(it.record()));
        let records = records.collect();
        return Ok(CursorEnvelope::uncounted(records, request, after.is_none(), page.next));
    }
    let filter = OrdersFilter {
        statuses: parameters.status.into_iter().collect(),
        created_min: parameters.created_min,
        created_max: parameters.created_max,
        updated_min: parameters.updated_min,
        updated_max: parameters.updated_max,
        after,
        limit: request.limit(),
        ..OrdersFilter::default()
    };
    let page =
        orders::orders(&reading, merchant, &Viewer::Merchant, &filter, OrderParts::All).await?;
    let record = |it: &orders::OrderDetails| Box::new(it.record_for_merchant(slug));
    let records = page.orders.iter().map(|(_, it)| MerchantOrderRecord::Placed(record(it)));
    Ok(CursorEnvelope::uncounted(records.collect(), request, after.is_none(), page.next))
}

async fn read(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
) -> Result<(Option<[(HeaderName, String); 1]>, Envelope<MerchantOrderRecord>), ErrorResponse> {
    let merchant = caller.merchant;
    let reading = Reading::for_store(&rest.database, merchant)?;
    match orders::details(&reading, merchant, id, &Viewer::Merchant).await {
        Ok(details) => {
            let record = details.record_for_merchant(caller.store.slug.as_str());
            let record = MerchantOrderRecord::Placed(Box::new(record));
            Ok((Some(e_tag(details.order.version)), Envelope::new(record)))
        }
        Err(OrderError::NotFound) => {
            let pushed = orders::pushed_order(&reading, merchant, id).await?;
            Ok((None, Envelope::new(MerchantOrderRecord::Pushed(pushed.record()))))
        }
        Err(error) => Err(error.into()),
    }
}

async fn change(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<OrderId>,
    if_match: IfMatch,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<ChangeOrderRequest>,
) -> Result<Versioned<OrderRecord>, ErrorResponse> {
    let version = version(if_match, request.version)?;
    if let Some(field) = request.unexpected() {
        return Err(InvalidField { field }.into());
    }
    let key = idempotency_key.key_of_store(&caller, &(&request, version))?;
    let context = merchant_context(&rest, &caller, key.as_ref());
    let changed = apply(&context, id, version, request).await?;
    let record = changed.details.record_for_merchant(caller.store.slug.as_str());
    Ok((e_tag(changed.details.order.version), Envelope::new(record)))
}

async fn apply(
    context: &OrderContext<'_>,
    id: OrderId,
    version: Option<i32>,
    request: ChangeOrderRequest,
) -> Result<Changed, ErrorResponse> {
    let changed = match request.action {
        OrderAction::Confirm => orders::confirm(context, id, version).await,
        OrderAction::Review => orders::hold_for_review(context, id, version).await,
        OrderAction::Process => orders::start_processing(context, id, version).await,
        OrderAction::Ship => {
            let shipment = Shipment {
                items: units(request.items),
                carrier: request.carrier,
                tracking_number: request.tracking_number,
                tracking_url: request.tracking_url,
                expected_by: request.expected_by,
            };
            orders::ship(context, id, version, shipment).await
        }
        OrderAction::Deliver => {
            let fulfillments = request.fulfillment_ids.unwrap_or_default();
            orders::deliver(context, id, version, fulfillments).await
        }
        OrderAction::Cancel => {
            let reason = request.reason.ok_or(InvalidField { field: "reason" })?;
            let cancellation = Cancellation { items: units(request.items), reason, note: None };
            orders::cancel(context, id, version, cancellation).await
        }
    };
    Ok(changed?)
}
